/** Python interpreters of this machine, for the tests of the SDK: on PATH, else those that pyenv or uv have installed. */

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

function isVersion(path: string, version: string): boolean {
  if (!existsSync(path)) return false;
  const asked = Bun.spawnSync([path, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], { stderr: "ignore" });
  return asked.exitCode === 0 && asked.stdout.toString().trim() === version;
}

/** One interpreter per supported version that is installed, newest last. */
export const INTERPRETERS: readonly TestInterpreter[] = SUPPORTED.flatMap((version) => {
  const path = candidates(version).find((candidate) => isVersion(candidate, version));
  return path === undefined ? [] : [{ version, path }];
});

/** Folder that holds the package `svc`. */
export const SDK_ROOT = join(import.meta.dir, "../../src/sdk");
