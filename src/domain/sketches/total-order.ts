/** A total order of the values of one type, for choosing one of several in the same way always. */

import { compareText, compareValues } from "../expressions/compare.ts";
import type { FeatureValue } from "../value.ts";

/**
 * Negative, zero or positive. Null comes first, false before true, -0 before 0, NaN after all
 * numbers; lists and bytes go by their first difference, objects by that of their fields in the
 * order of their names. Zero for the same values alone.
 */
export function compareAny(a: FeatureValue, b: FeatureValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (isNumber(a) && isNumber(b)) return compareValues(a, b) || Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return comparedParts(a, b, (x, y) => x - y);
  if (Array.isArray(a) && Array.isArray(b)) return comparedParts(a, b, compareAny);
  if (isObject(a) && isObject(b)) return comparedParts(fieldsOf(a), fieldsOf(b), compareAny);
  return rankOf(a) - rankOf(b);
}

function comparedParts<T>(a: ArrayLike<T>, b: ArrayLike<T>, compare: (x: T, y: T) => number): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const order = compare(a[at] as T, b[at] as T);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function fieldsOf(value: { [field: string]: FeatureValue }): FeatureValue[] {
  return Object.keys(value)
    .sort(compareText)
    .flatMap((name) => [name, value[name] as FeatureValue]);
}

function isNumber(value: FeatureValue): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function isObject(value: FeatureValue): value is { [field: string]: FeatureValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** The place of a kind of value among the others, which json has side by side. */
function rankOf(value: FeatureValue): number {
  if (typeof value === "boolean") return 1;
  if (isNumber(value)) return 2;
  if (typeof value === "string") return 3;
  return value instanceof Uint8Array ? 4 : Array.isArray(value) ? 5 : 6;
}
