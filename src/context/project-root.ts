/**
 * The root of the project that contains a folder, without reading the project: settings are kept
 * per project root.
 */

import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRegularFile } from "../disk/regular-file.ts";

/**
 * The nearest folder at or above `dir` that contains `svc.yaml` or `svc.yml`, with links resolved;
 * undefined when there is none.
 */
export function findProjectRoot(dir: string): string | undefined {
  for (let folder = dir; ; folder = dirname(folder)) {
    for (const name of ["svc.yaml", "svc.yml"]) {
      if (isRegularFile(join(folder, name))) return realpathSync(folder);
    }
    if (dirname(folder) === folder) return undefined;
  }
}
