/** Searches of records as they are typed, in the grammar of `domain/search`. */

import type { FieldSet } from "../../../domain/search/fields.ts";
import { SearchError } from "../../../domain/search/search-error.ts";
import { parseSearch } from "../../../domain/search/tree.ts";

/** What is wrong with a search, and the offset where; undefined when nothing is. */
export function searchProblem(search: string, fields: FieldSet): { readonly at: number; readonly message: string } | undefined {
  try {
    parseSearch(search, fields);
    return undefined;
  } catch (error) {
    if (error instanceof SearchError) return { at: error.start, message: error.message };
    throw error;
  }
}

/** A search with a condition in place of those on the same field. */
export function withCondition(search: string, field: string, condition: string): string {
  const rest = search
    .split(/\s+/)
    .filter((word) => word !== "" && !new RegExp(`^-?${field}[:<>=]`, "i").test(word))
    .join(" ");
  return [rest, condition].filter(Boolean).join(" ");
}
