/** The changes between two documents, value by value. */

import { equalsJson, isJsonObject, type Json, member } from "./json-value.ts";

/** A changed value. */
export interface JsonChange {
  /** Names and indexes from the document's top to the value. */
  readonly path: readonly (string | number)[];
  /** Undefined when there was none. */
  readonly before: Json | undefined;
  /** Undefined when there is none any more. */
  readonly after: Json | undefined;
}

/**
 * The changes from one document to another, in the order of the documents: of objects and lists of
 * equal length member by member, of everything else as a whole.
 */
export function jsonChanges(before: Json | undefined, after: Json | undefined, path: JsonChange["path"] = []): JsonChange[] {
  if (before !== undefined && after !== undefined) {
    if (equalsJson(before, after)) return [];
    if (isJsonObject(before) && isJsonObject(after)) {
      const names = new Set([...Object.keys(before), ...Object.keys(after)]);
      return [...names].flatMap((name) => jsonChanges(member(before, name), member(after, name), [...path, name]));
    }
    if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
      return before.flatMap((item, index) => jsonChanges(item, after[index], [...path, index]));
  }
  return before === after ? [] : [{ path, before, after }];
}

/**
 * Changes as text: for each `@ [path]`, then `- ` and the value before, `+ ` and the value after,
 * as JSON on one line. Names of a path are parted by dots; one that is no plain word is quoted.
 */
export function changesText(changes: readonly JsonChange[]): string {
  return changes
    .map(({ path, before, after }) =>
      [
        `@ [${path.map((step) => (typeof step === "number" || /^[\w-]+$/.test(step) ? step : JSON.stringify(step))).join(".")}]`,
        ...(before === undefined ? [] : [`- ${JSON.stringify(before)}`]),
        ...(after === undefined ? [] : [`+ ${JSON.stringify(after)}`]),
      ].join("\n"),
    )
    .join("\n");
}
