/** Conditions on query runs and errors, of the flags that people give. */

import type { Search } from "../../domain/search/tree.ts";

/** The condition that a field is equal to a value; every record fits an empty one. */
export function isEqual(field: string, value: string): Search {
  return value === "" ? { is: "all", of: [] } : { is: "equal", field, value };
}

/** The condition that a field has a part; every record fits an empty one. */
export function hasPart(field: string, part: string): Search {
  return part === "" ? { is: "all", of: [] } : { is: "like", field, parts: ["", part, ""], anyCase: true };
}
