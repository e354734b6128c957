/** Equality and order of values, as Python has them. */

import type { FeatureValue } from "../value.ts";

/** Negative, zero or positive, in the order of code points. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    const [isHighX, isHighY] = [x >= 0xd800 && x < 0xe000, y >= 0xd800 && y < 0xe000];
    return isHighX === isHighY ? x - y : isHighX ? 1 : -1;
  }
  return a.length - b.length;
}

/**
 * Negative, zero or positive for two values of one type that has an order; integers and floats are
 * compared exactly. NaN is after all numbers.
 */
export function compareValues(a: FeatureValue, b: FeatureValue): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  const [x, y] = [a as number | bigint, b as number | bigint];
  if (x < y) return -1;
  if (x > y) return 1;
  return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
}

/**
 * Whether two values are equal, part by part; NaN equals nothing, and null parts equal each other.
 */
export function equalValues(a: FeatureValue, b: FeatureValue): boolean {
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object")
    return typeof a === typeof b ? a === b : looselyEqual(a, b);
  if (a instanceof Uint8Array || b instanceof Uint8Array)
    return a instanceof Uint8Array && b instanceof Uint8Array && a.length === b.length && a.every((byte, index) => byte === b[index]);
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => equalValues(item, b[index] as FeatureValue))
    );
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalValues(a[name] as FeatureValue, b[name] as FeatureValue))
  );
}

function looselyEqual(a: FeatureValue, b: FeatureValue): boolean {
  const areNumbers = [a, b].every((value) => typeof value === "number" || typeof value === "bigint");
  const [x, y] = [a as number | bigint, b as number | bigint];
  return areNumbers && x <= y && x >= y;
}

/** A text that is the same for equal values and differs for others. */
export function identity(value: FeatureValue): string {
  switch (typeof value) {
    case "number":
    case "bigint":
      return `#${Object.is(value, -0) ? 0 : value}`;
    case "string":
      return JSON.stringify(value);
    case "object":
      if (value === null) return "null";
      if (value instanceof Uint8Array) return `b${[...value].join(",")}`;
      if (Array.isArray(value)) return `[${value.map(identity).join(",")}]`;
      return `{${Object.keys(value)
        .sort()
        .map((name) => `${JSON.stringify(name)}:${identity(value[name] as FeatureValue)}`)
        .join(",")}}`;
    default:
      return String(value);
  }
}
