/** What callers wrote to find records: a search, and times. */

import type { FieldSet } from "../domain/search/fields.ts";
import { SearchError } from "../domain/search/search-error.ts";
import { parseSearch, type Search } from "../domain/search/tree.ts";
import { Failure } from "./failure.ts";

/** A search as somebody typed it. Throws Failure invalid_argument that names the place. */
export function searchOf(written: string, fields: FieldSet): Search {
  try {
    return parseSearch(written, fields);
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    throw new Failure("invalid_argument", `The search is not understood at column ${error.columnIn(written)}: ${error.message}.`);
  }
}

/** Bounds of times: the earliest one, and the one before which all lie. */
interface Bounds {
  readonly from?: number | undefined;
  readonly before?: number | undefined;
}

/** Bounds of times. Throws Failure invalid_argument when nothing lies between them. */
export function checkBounds<B extends Bounds>(bounds: B): B {
  if (bounds.from !== undefined && bounds.before !== undefined && bounds.from >= bounds.before)
    throw new Failure("invalid_argument", "The end of the time range is not after its start.");
  return bounds;
}
