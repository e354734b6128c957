/** Whether a record fits a search. */

import { fits } from "./pattern.ts";
import type { Comparison, Search } from "./tree.ts";

/** The value of a record's field by name; undefined, and an empty text, = it has none. */
export type Values = (field: string) => string | number | undefined;

const COMPARISONS: Readonly<Record<Comparison, (one: number, other: number) => boolean>> = {
  "=": (one, other) => one === other,
  ">": (one, other) => one > other,
  ">=": (one, other) => one >= other,
  "<": (one, other) => one < other,
  "<=": (one, other) => one <= other,
};

/** Whether a record fits. */
export function matches(search: Search, values: Values): boolean {
  if (search.is === "all") return search.of.every((part) => matches(part, values));
  if (search.is === "any") return search.of.some((part) => matches(part, values));
  if (search.is === "not") return !matches(search.of, values);
  const value = values(search.field);
  if (search.is === "number") return typeof value === "number" && COMPARISONS[search.operator](value, search.value);
  const text = String(value ?? "");
  if (search.is === "equal") return text === search.value;
  if (search.is === "present") return text !== "";
  if (search.is === "among") return search.values.includes(text);
  return fits(text, search.parts, search.anyCase);
}
