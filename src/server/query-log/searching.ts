/** Searches of query runs and errors on somebody's behalf: what they wrote, as a condition. */

import type { FieldSet } from "../../domain/search/fields.ts";
import { SearchError } from "../../domain/search/search-error.ts";
import { parseSearch, type Search } from "../../domain/search/tree.ts";
import { Failure } from "../failure.ts";
import type { RecordedBounds } from "../stores/telemetry/store.ts";

/** A search as somebody typed it. Throws Failure invalid_argument that names the place. */
export function searchOf(written: string, fields: FieldSet): Search {
  try {
    return parseSearch(written, fields);
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    throw new Failure("invalid_argument", `The search is not understood at column ${error.columnIn(written)}: ${error.message}.`);
  }
}

/** The condition that a field is equal to a value; every record fits an empty one. */
export function isEqual(field: string, value: string): Search {
  return value === "" ? { is: "all", of: [] } : { is: "equal", field, value };
}

/** The condition that a field has a part; every record fits an empty one. */
export function hasPart(field: string, part: string): Search {
  return part === "" ? { is: "all", of: [] } : { is: "like", field, parts: ["", part, ""], anyCase: true };
}

/** Bounds of times. Throws Failure invalid_argument when nothing lies between them. */
export function checkBounds(bounds: RecordedBounds): RecordedBounds {
  if (bounds.from !== undefined && bounds.before !== undefined && bounds.from >= bounds.before)
    throw new Failure("invalid_argument", "The end of the time range is not after its start.");
  return bounds;
}
