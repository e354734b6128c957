/** The licence of the project. */

import { readFileSync } from "node:fs";

/** Its text. */
export function licenceText(): string {
  return readFileSync(`${import.meta.dir}/../../LICENSE`, "utf8");
}
