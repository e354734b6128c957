/** The test run of a build before it becomes current. */

import { errorText } from "../domain/error-text.ts";
import { ReleaseError } from "./release-error.ts";

/** Time limit for a build to print its version. */
const LIMIT_MS = 30_000;

/** The facts that a build prints with `svc version --json`. */
export interface BuildFacts {
  readonly version: string;
  readonly platform: string;
  readonly hash: string;
  readonly build_time: string;
}

/**
 * Runs the build at `path`; resolves with the facts that it prints. Throws release_does_not_run
 * when it does not run, or is of another version.
 */
export async function tryBuild(
  path: string,
  version: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<BuildFacts> {
  signal.throwIfAborted();
  const result = await run(path, env, signal);
  signal.throwIfAborted();
  const facts = result.exitCode === 0 ? factsOf(result.stdout) : undefined;
  if (facts?.version === version) return facts;
  const why = facts ? `it says that it is ${facts.version}` : result.stderr.trim().split("\n")[0] || `exit code ${result.exitCode}`;
  throw new ReleaseError(`svc ${version} does not run here: ${why}`, "release_does_not_run", {
    hint: "The svc that was current still is.",
    details: { stderr: result.stderr.slice(0, 2000) },
  });
}

async function run(path: string, env: Readonly<Record<string, string | undefined>>, signal: AbortSignal) {
  try {
    const child = Bun.spawn([path, "version", "--json"], {
      env: { ...env, SVC_NO_UPDATE_CHECK: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
      signal,
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exitCode, stdout, stderr };
  } catch (error) {
    return { exitCode: -1, stdout: "", stderr: errorText(error) };
  }
}

function factsOf(text: string): BuildFacts | undefined {
  try {
    const { version, platform, hash, build_time } = JSON.parse(text) as Partial<BuildFacts>;
    if (version === undefined || platform === undefined || hash === undefined || build_time === undefined) return undefined;
    return { version, platform, hash, build_time };
  } catch {
    return undefined;
  }
}
