/** The search for a Python interpreter. None is ever downloaded. */

import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { withoutCredentials } from "../domain/credential-variables.ts";
import { finding } from "../domain/finding.ts";
import { NO_INTERPRETER } from "../domain/rules/project.ts";
import { searchFolders } from "../domain/search-path.ts";
import { RUNTIME_NAMES, runtimeMinor, SUPPORTED_MINORS } from "./runtime.ts";
import { runProgram } from "./subprocess.ts";
import type { Interpreter, InterpreterSearch } from "./toolchain.ts";

/** The parts of the machine that the search uses. */
export interface SearchContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string;
}

/** Time limit for an interpreter to print its version. */
const PROBE_TIMEOUT_MS = 10_000;

const PROBE =
  "import sys, json; print(json.dumps([sys.executable, '%d.%d.%d' % sys.version_info[:3], sys.implementation.name, sys.version_info[1]]))";

/** A candidate's description of itself, or the reason why it is not usable. */
type Probe = { readonly interpreter: Interpreter; readonly minor: number } | { readonly reason: string };

/** A candidate: its description for messages, and the command that starts it. */
interface Candidate {
  readonly description: string;
  readonly argv: readonly string[];
}

/**
 * Searches an interpreter for a runtime (`python311`), or of the newest supported version. Order:
 * `uv python find`, `python3.X` on PATH, pyenv's versions, `python3` and `python` on PATH when
 * their version fits, the `py` launcher on Windows. Each candidate is started to see that it works.
 */
export async function searchInterpreter(runtime: string | undefined, context: SearchContext): Promise<InterpreterSearch> {
  const minors = runtime === undefined ? SUPPORTED_MINORS : [runtimeMinor(runtime)];
  const searched: string[] = [];
  const probed = new Map<string, Promise<Probe>>();
  const uv = whichAll("uv", context)[0];
  if (!uv) searched.push("uv: not installed");
  for (const minor of minors) {
    if (minor === undefined) return { found: undefined, searched: [`'${runtime}' is not one of ${RUNTIME_NAMES}`] };
    for await (const candidate of candidatesOf(minor, uv, context, (text) => note(searched, text))) {
      const key = candidate.argv.join("\0");
      const probing = probed.get(key) ?? probe(candidate.argv, context);
      probed.set(key, probing);
      const result = await probing;
      if ("reason" in result) note(searched, `${candidate.description}: ${result.reason}`);
      else if (result.minor !== minor) note(searched, `${candidate.description}: ${result.interpreter.version}`);
      else return { found: result.interpreter, searched };
    }
  }
  return { found: undefined, searched };
}

function note(searched: string[], text: string): void {
  if (!searched.includes(text)) searched.push(text);
}

async function* candidatesOf(
  minor: number,
  uv: string | undefined,
  context: SearchContext,
  say: (text: string) => void,
): AsyncGenerator<Candidate> {
  const name = `python3.${minor}`;
  if (uv) {
    const path = await uvFind(uv, minor, context);
    if (path) yield { description: `uv python find 3.${minor} (${path})`, argv: [path] };
    else say(`uv python find 3.${minor}: none`);
  }
  const named = whichAll(name, context);
  if (named.length === 0) say(`${name} on PATH: none`);
  for (const path of named) yield { description: path, argv: [path] };
  yield* pyenvCandidates(minor, context, say);
  for (const generic of ["python3", "python"]) {
    const paths = whichAll(generic, context);
    if (paths.length === 0) say(`${generic} on PATH: none`);
    for (const path of paths) yield { description: path, argv: [path] };
  }
  if (context.platform === "win32") {
    const launcher = whichAll("py", context)[0];
    if (launcher) yield { description: `py -3.${minor}`, argv: [launcher, `-3.${minor}`] };
    else say("py launcher: not installed");
  }
}

function* pyenvCandidates(minor: number, context: SearchContext, say: (text: string) => void): Generator<Candidate> {
  const versions = join(pyenvRoot(context), "versions");
  if (!existsSync(versions)) return say("pyenv: not installed");
  const patches = namesIn(versions)
    .filter((version) => new RegExp(`^3\\.${minor}\\.\\d+$`).test(version))
    .sort((a, b) => Number(b.split(".")[2]) - Number(a.split(".")[2]));
  if (patches.length === 0) say(`pyenv: no 3.${minor} in ${versions}`);
  const program = context.platform === "win32" ? "python.exe" : "bin/python";
  for (const version of patches) yield { description: `pyenv ${version}`, argv: [join(versions, version, program)] };
}

/** Names in a folder; empty when it cannot be read, for example another user's. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Files and folders that a search for a runtime looks at: when none of them changed, its result is
 * the same, unless `uv` got another interpreter.
 */
export function searchedPaths(runtime: string | undefined, context: SearchContext): string[] {
  const minors = runtime === undefined ? SUPPORTED_MINORS : [runtimeMinor(runtime)];
  const names = ["uv", ...minors.map((minor) => `python3.${minor}`), "python3", "python", "py"];
  const pyenv = pyenvRoot(context);
  return [...names.flatMap((name) => whichAll(name, context)), join(pyenv, "versions"), join(pyenv, "version")];
}

function pyenvRoot({ env, homeDir, platform }: SearchContext): string {
  return env.PYENV_ROOT || join(homeDir, ".pyenv", platform === "win32" ? "pyenv-win" : "");
}

async function uvFind(uv: string, minor: number, context: SearchContext): Promise<string | undefined> {
  try {
    const result = await runProgram([uv, "python", "find", "--system", `3.${minor}`], {
      env: { ...withoutCredentials(context.env), UV_PYTHON_DOWNLOADS: "never" },
      timeoutMs: PROBE_TIMEOUT_MS,
    });
    return result.exitCode === 0 ? result.stdout.trim() || undefined : undefined;
  } catch {
    return undefined;
  }
}

async function probe(argv: readonly string[], context: SearchContext): Promise<Probe> {
  try {
    const result = await runProgram([...argv, "-I", "-S", "-c", PROBE], {
      env: withoutCredentials(context.env),
      timeoutMs: PROBE_TIMEOUT_MS,
    });
    if (result.timedOut) return { reason: "does not answer" };
    if (result.exitCode !== 0) return { reason: "does not run" };
    const [path, version, implementation, minor] = JSON.parse(result.stdout) as [string, string, string, number];
    if (!path || !version.startsWith("3.")) return { reason: `is Python ${version}` };
    return implementation === "cpython" ? { interpreter: { path, version }, minor } : { reason: `is ${implementation}, not CPython` };
  } catch {
    return { reason: "does not run" };
  }
}

/** Every executable with a name in the absolute folders of PATH, in order. */
function whichAll(name: string, context: SearchContext): string[] {
  const windows = context.platform === "win32";
  const found: string[] = [];
  for (const folder of searchFolders(context.env.PATH ?? context.env.Path, delimiter)) {
    const path = Bun.which(name, { PATH: folder });
    if (path && !found.includes(path) && !(windows && /[\\/]WindowsApps[\\/]/.test(path))) found.push(path);
  }
  return found;
}

/**
 * Finding 191: no interpreter for the runtime. One line with the places that were searched and the
 * command that installs one on this machine.
 */
export function interpreterFinding(runtime: string | undefined, search: InterpreterSearch, context: SearchContext): Diagnostic {
  const minor = runtime === undefined ? undefined : runtimeMinor(runtime);
  const wanted = minor === undefined ? "no Python 3.10 to 3.13" : `no Python 3.${minor}`;
  const problem =
    runtime !== undefined && minor === undefined
      ? NO_INTERPRETER.notSupported({ runtime, runtimes: RUNTIME_NAMES })
      : NO_INTERPRETER.notFound({ wanted, searched: search.searched.join("; "), command: installCommand(minor ?? 12, context) });
  return finding(problem, undefined);
}

/** The shortest command that installs that minor version of Python here. */
function installCommand(minor: number, context: SearchContext): string {
  if (whichAll("uv", context).length > 0) return `\`uv python install 3.${minor}\``;
  if (whichAll("pyenv", context).length > 0) return `\`pyenv install 3.${minor}\``;
  switch (context.platform) {
    case "darwin":
      return `\`brew install python@3.${minor}\``;
    case "win32":
      return `\`winget install Python.Python.3.${minor}\``;
    default: {
      if (whichAll("apt-get", context).length > 0) return `\`sudo apt-get install python3.${minor} python3.${minor}-venv\``;
      if (whichAll("dnf", context).length > 0) return `\`sudo dnf install python3.${minor}\``;
      if (whichAll("apk", context).length > 0) return "`apk add python3`";
      return `uv (https://docs.astral.sh/uv): \`uv python install 3.${minor}\``;
    }
  }
}
