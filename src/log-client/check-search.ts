/** A search as somebody typed it, checked before the server is asked. */

import { escapeControls } from "../domain/name.ts";
import type { FieldSet } from "../domain/search/fields.ts";
import { SearchError } from "../domain/search/search-error.ts";
import { parseSearch } from "../domain/search/tree.ts";
import { UsageError } from "../errors/cli-error.ts";
import { caretText } from "../output/caret.ts";
import { displayWidth } from "../output/table.ts";

/** Why a search is not understood; undefined = it is. */
export function searchProblem(search: string, fields: FieldSet): SearchError | undefined {
  try {
    parseSearch(search, fields);
    return undefined;
  } catch (error) {
    if (error instanceof SearchError) return error;
    throw error;
  }
}

/** A line that points at what is wrong in the line above it, where controls are shown. */
export function caretLine(search: string, { start, end }: SearchError): string {
  const widthOf = (text: string): number => displayWidth(escapeControls(text));
  return `${" ".repeat(widthOf(search.slice(0, start)))}${"^".repeat(Math.max(1, widthOf(search.slice(start, end))))}`;
}

/** Throws UsageError for a search that is not understood; the hint points at the place. */
export function checkSearch(search: string, fields: FieldSet): void {
  const problem = searchProblem(search, fields);
  if (!problem) return;
  const hint = caretText(search, problem.start, problem.end).replaceAll(/^/gm, "  ");
  throw new UsageError(`--query, column ${problem.columnIn(search)}: ${problem.message}`, { hint });
}
