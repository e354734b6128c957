/**
 * A macro that runs when the program is bundled or its sources are loaded, and is replaced by the
 * text of a script for browsers.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The JavaScript of a TypeScript file in `browser/`. */
export function browserScript(name: string): string {
  const source = readFileSync(join(import.meta.dir, "browser", `${name}.ts`), "utf8");
  return new Bun.Transpiler({ loader: "ts", target: "browser" }).transformSync(source);
}
