/**
 * Python interpreters of this machine, for the tests of the SDK: on PATH, else those that pyenv or
 * uv have installed.
 */

import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

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

const installed: readonly TestInterpreter[] = SUPPORTED.flatMap((version) => {
  for (const candidate of candidates(version)) {
    const path = programOf(candidate, version);
    if (path !== undefined) return [{ version, path }];
  }
  return [];
});

/**
 * One interpreter per supported version that is installed, newest last; in a quick run the oldest
 * and the newest alone.
 */
export const INTERPRETERS =
  process.env.SVC_TEST_QUICK === "1" ? installed.filter((_, at) => at === 0 || at === installed.length - 1) : installed;

/** Libraries whose DataFrames the SDK takes; nothing of it needs them. */
export const LIBRARIES = ["pandas", "polars", "pyarrow"] as const;

const IMPORTABLE = `import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ${JSON.stringify(LIBRARIES)})))`;

/**
 * Of the interpreters that are installed, in a quick run too, the newest that has the libraries;
 * undefined when they are not installed in one.
 */
export function interpreterWithLibraries(): TestInterpreter | undefined {
  return installed.findLast(({ path }) => Bun.spawnSync([path, "-c", IMPORTABLE]).success);
}

/** Folder that holds the package `svc`. */
export const SDK_ROOT = join(import.meta.dir, "../../src/sdk");
