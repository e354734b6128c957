/** The search path of a run's programs. */

import { delimiter, dirname, join } from "node:path";

const ASKED = "import sys; print(sys.executable)";

/**
 * PATH of a run in a folder: tools of the dependencies first, so that they are found without `bun
 * run`. A version manager's folder of shims is replaced by that of the interpreter that its
 * `python3` starts: in every new home, each shim takes longer than Python itself.
 */
export function programPath(root: string, path = process.env.PATH ?? ""): string {
  const python = Bun.which("python3", { PATH: path });
  const folders = path.split(delimiter);
  const shims = python === null ? "" : dirname(python);
  if (python === null || !shims.endsWith("shims")) return [join(root, "node_modules/.bin"), ...folders].join(delimiter);
  const started = Bun.spawnSync([python, "-I", "-c", ASKED], { stderr: "ignore" }).stdout.toString().trim();
  const real = folders.map((folder) => (folder === shims ? dirname(started) : folder));
  return [join(root, "node_modules/.bin"), ...(started === "" ? folders : real)].join(delimiter);
}
