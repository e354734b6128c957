/** Searches in the grammar of logs, as pages check and extend them. */

import type { FieldSet } from "../../../domain/search/fields.ts";
import { SearchError } from "../../../domain/search/search-error.ts";
import { tokenize } from "../../../domain/search/tokens.ts";
import { parseSearch } from "../../../domain/search/tree.ts";

/** What is wrong with a search, as a search box shows it; undefined when nothing is. */
export function searchProblem(search: string, fields: FieldSet): { readonly at: number; readonly message: string } | undefined {
  try {
    parseSearch(search, fields);
    return undefined;
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    return { at: error.start, message: `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.` };
  }
}

/** The search that finds, of what `search` finds, what has this value of a field, or has not. */
export function withTerm(search: string, field: string, value: string, isExcluded = false): string {
  const term = `${isExcluded ? "-" : ""}${field}:${valueText(value)}`;
  const given = search.trim();
  if (given === "") return term;
  const isChoice = tokenize(given).some(({ is }) => is === "or");
  return `${isChoice ? `(${given})` : given} ${term}`;
}

/** A value as the grammar reads it back. */
function valueText(value: string): string {
  return /^[\w./@-]+$/.test(value) && !/^(OR|AND|NOT)$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}
