/** The fields of a command's JSON that `--json=id,name` chooses. */

import { didYouMean } from "../domain/closest.ts";
import { UsageError } from "../errors/cli-error.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * The document with the fields alone, in their order: of an object those of its own, of a list
 * those of each element, and of an object with a list of objects, such as `{"branches": [...]}`,
 * those of each element, as a list. `a.b` is a field of a field. Throws a UsageError that names the
 * fields that there are.
 */
export function selectFields(document: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(document)) return document.map((row) => pick(row, fields));
  if (!isMembers(document)) throw noField(fields[0] as string, []);
  if (fields.every((field) => valueAt(document, field) !== undefined)) return pick(document, fields);
  const lists = Object.values(document).filter((value): value is readonly unknown[] => Array.isArray(value));
  const rows = lists.filter((list) => list.length > 0 && list.every(isMembers));
  const chosen = rows.find((list) => fields.every((field) => valueAt(list[0] as Members, field) !== undefined)) ?? rows[0];
  if (chosen) return chosen.map((row) => pick(row, fields));
  if (lists.some((list) => list.length === 0)) return [];
  return pick(document, fields);
}

function pick(row: unknown, fields: readonly string[]): Members {
  if (!isMembers(row)) throw noField(fields[0] as string, []);
  return Object.fromEntries(
    fields.map((field) => {
      const value = valueAt(row, field);
      if (value === undefined) throw noField(field, Object.keys(row));
      return [field, value];
    }),
  );
}

function valueAt(row: Members, field: string): unknown {
  if (Object.hasOwn(row, field)) return row[field];
  let value: unknown = row;
  for (const name of field.split(".")) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function isMembers(value: unknown): value is Members {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function noField(field: string, names: readonly string[]): UsageError {
  const close = didYouMean(field, names);
  return new UsageError(`the JSON has no field '${field}'${close && `; ${close}`}`, {
    hint: names.length > 0 ? `The fields are: ${names.join(", ")}.` : "Use --json alone to see what there is.",
  });
}
