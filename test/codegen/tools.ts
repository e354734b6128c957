/** Programs of other languages that check and run what was generated. */

import { join } from "node:path";
import { lacks, programPath } from "../harness/needs.ts";

/** Runs a program to its end; throws with what it said when it fails. */
export async function run(
  argv: readonly string[],
  options: { readonly cwd: string; readonly env?: Record<string, string | undefined> },
): Promise<string> {
  const child = Bun.spawn([...argv], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${exitCode}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** Whether Python here has not all of these packages. */
export function lacksPackages(...names: readonly string[]): boolean {
  const found = (name: string) => Bun.spawnSync(["python3", "-c", `import ${name}`], { stderr: "ignore" }).success;
  return names.filter((name) => lacks(`${name} of PyPI`, found(name))).length > 0;
}

/** Whether there is no Go that has what generated code uses. */
export function lacksGo(): boolean {
  const path = programPath("go");
  const version =
    path === undefined
      ? ""
      : Bun.spawnSync([path, "env", "GOVERSION"], { env: { ...process.env, GOTOOLCHAIN: "local" } }).stdout.toString();
  const [, minor = "0"] = /^go1\.(\d+)/.exec(version) ?? [];
  return lacks("Go 1.22", Number(minor) >= 22);
}

const BIN = join(import.meta.dir, "../../node_modules/.bin");

/** Programs of this project's own dependencies. */
export const TOOLS = { tsc: join(BIN, "tsc"), biome: join(BIN, "biome"), pyright: join(BIN, "pyright") } as const;
