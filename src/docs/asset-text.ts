/**
 * Macros that run when the program is bundled or its sources are loaded, and are replaced by the
 * text of a file.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The JavaScript of the search field. */
export function searchScript(): string {
  const source = readFileSync(join(import.meta.dir, "browser/search.ts"), "utf8");
  return new Bun.Transpiler({ loader: "ts", target: "browser" }).transformSync(source);
}

/** The style of all pages. */
export function styleText(): string {
  return readFileSync(join(import.meta.dir, "style.css"), "utf8");
}
