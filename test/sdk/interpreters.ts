/**
 * Python interpreters of this machine, for the tests of the SDK: on PATH, else those that pyenv or
 * uv have installed.
 */

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Minor versions that the SDK supports. */
export const SUPPORTED = ["3.10", "3.11", "3.12", "3.13"] as const;

/** An interpreter. */
export interface TestInterpreter {
  /** Minor version, for example "3.11". */
  readonly version: string;
  readonly path: string;
}

function candidates(version: string): string[] {
  const found = [Bun.which(`python${version}`), Bun.which("python3")].filter((path) => path !== null);
  const roots = [
    join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions"),
    process.env.UV_PYTHON_INSTALL_DIR ?? join(homedir(), ".local/share/uv/python"),
  ];
  for (const root of roots)
    if (existsSync(root))
      for (const name of readdirSync(root).sort())
        if (name.includes(`${version}.`)) found.push(join(root, name, "bin", `python${version}`));
  return found;
}

/**
 * The program that a path starts, when it has that version: what pyenv puts on PATH is a script
 * that takes longer than Python.
 */
function programOf(path: string, version: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const says = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)";
  const asked = Bun.spawnSync([path, "-I", "-c", says], { stderr: "ignore" }).stdout.toString().trim();
  return asked.startsWith(`${version} /`) ? asked.slice(version.length + 1) : undefined;
}

/** Every interpreter with a supported version, newest version first; of a folder's only one each. */
const all: readonly TestInterpreter[] = SUPPORTED.toReversed().flatMap((version) => {
  const byFolder = new Map<string, TestInterpreter>();
  for (const candidate of candidates(version)) {
    const path = programOf(candidate, version);
    const folder = path && realpathSync(dirname(path));
    if (folder && !byFolder.has(folder)) byFolder.set(folder, { version, path });
  }
  return [...byFolder.values()];
});

const installed = SUPPORTED.flatMap((version) => all.find((item) => item.version === version) ?? []);

/**
 * One interpreter per supported version that is installed, newest last; in a quick run the oldest
 * and the newest alone.
 */
export const INTERPRETERS =
  process.env.SVC_TEST_QUICK === "1" ? installed.filter((_, at) => at === 0 || at === installed.length - 1) : installed;

/** Libraries whose DataFrames the SDK takes; nothing of it needs them. */
export const LIBRARIES = ["pandas", "polars", "pyarrow"] as const;

const MISSING = `import sys, importlib.util as u; sys.exit(" ".join(name for name in ${JSON.stringify(LIBRARIES)} if not u.find_spec(name)) or 0)`;

/**
 * The newest interpreter that has the libraries, in a quick run too; undefined when none has them,
 * and then what each of them lacks is printed.
 */
export function interpreterWithLibraries(): TestInterpreter | undefined {
  const lacking: string[] = [];
  for (const item of all) {
    const { success, exitCode, signalCode, stderr } = Bun.spawnSync([item.path, "-c", MISSING]);
    if (success) return item;
    lacking.push(`${item.path} (${signalCode ?? exitCode}): ${stderr.toString().trim()}`);
  }
  console.log(`Libraries that interpreters lack:\n${lacking.join("\n") || "no supported interpreter was found"}`);
  return undefined;
}

/** Folder that holds the package `svc`. */
export const SDK_ROOT = join(import.meta.dir, "../../src/sdk");
