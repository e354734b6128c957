/** Where the project of a folder is, without reading it: settings are kept per project root. */

import { realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The nearest folder at or above `dir` that holds `svc.yaml` or `svc.yml`, with links resolved; undefined when there is none. */
export async function findProjectRoot(dir: string): Promise<string | undefined> {
  for (let folder = dir; ; folder = dirname(folder)) {
    for (const name of ["svc.yaml", "svc.yml"]) {
      const found = await stat(join(folder, name)).catch(() => undefined);
      if (found?.isFile()) return realpath(folder);
    }
    if (dirname(folder) === folder) return undefined;
  }
}
