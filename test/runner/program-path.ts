/** Where a run finds programs. */

import { delimiter, dirname, join } from "node:path";

const ASKED = "import sys; print(sys.executable)";

/**
 * PATH of a run in a folder: tools of the dependencies first, which are found although no `bun run`
 * started it. A version manager's folder of scripts gives way to that of the interpreter which its
 * `python3` starts: each of its scripts computes longer than Python does, in every home that is
 * new.
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
