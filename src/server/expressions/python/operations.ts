/**
 * The functions of translated Python, by name: operators, builtins, methods of str and datetime,
 * and the exact functions of `math`.
 */

import { compareText } from "../../../domain/expressions/compare.ts";
import { divInt } from "../../../domain/expressions/integer.ts";
import { normalizeInt } from "../../../domain/value.ts";
import {
  abs,
  add,
  copysign,
  floatOf,
  floordiv,
  fmod,
  mod,
  mul,
  neg,
  numberOf,
  pow,
  roundTo,
  roundToInt,
  sqrt,
  sub,
  truediv,
  whole,
} from "./numbers.ts";
import { Delta, Instant, type PythonValue, unsure } from "./python-value.ts";
import { contains, endswith, floatOfText, intOfText, item, length, lower, replace, slice, startswith, str, strip, upper } from "./texts.ts";

/** Computes a result from the values of its arguments; throws Unsure. */
export type Operation = (...values: readonly PythonValue[]) => PythonValue;

const DAY = 86_400_000_000n;
const SECOND = 1_000_000n;

/** The truth value of a value in a condition. */
export function isTrue(value: PythonValue): boolean {
  switch (typeof value) {
    case "boolean":
      return value;
    case "bigint":
      return value !== 0n;
    case "number":
      return value !== 0;
    case "string":
      return value !== "";
    default:
      return value instanceof Delta ? value.micros !== 0n : value !== null;
  }
}

function isNumeric(value: PythonValue): value is boolean | bigint | number {
  return typeof value === "boolean" || typeof value === "bigint" || typeof value === "number";
}

function isEqual(a: PythonValue, b: PythonValue): boolean {
  if (isNumeric(a) && isNumeric(b)) {
    const [x, y] = [numberOf(a), numberOf(b)];
    return x <= y && x >= y;
  }
  if (a instanceof Instant) return b instanceof Instant && a.micros === b.micros;
  if (a instanceof Delta) return b instanceof Delta && a.micros === b.micros;
  return a === b;
}

/**
 * The comparison of two values: negative, zero or positive; NaN for unordered floats. Values that
 * cannot be compared are left to Python, which raises.
 */
function order(a: PythonValue, b: PythonValue): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if ((a instanceof Instant && b instanceof Instant) || (a instanceof Delta && b instanceof Delta))
    return Number(a.micros > b.micros) - Number(a.micros < b.micros);
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x < y) return -1;
  if (x > y) return 1;
  return x <= y ? 0 : Number.NaN;
}

/** The first extreme value by the rule, as in `min` and `max`. */
function extreme(comes: (order: number) => boolean): Operation {
  return (first = unsure(), ...others) => {
    let found = first;
    for (const other of others) if (comes(order(other, found))) found = other;
    return found;
  };
}

function among(a: PythonValue, ...items: readonly PythonValue[]): PythonValue {
  return Number.isNaN(a) ? unsure() : items.some((one) => isEqual(a, one));
}

function instant(read: (date: Date, micros: bigint) => number): Operation {
  return (a) => {
    if (!(a instanceof Instant)) return unsure();
    const below = ((a.micros % SECOND) + SECOND) % SECOND;
    return BigInt(read(new Date(Number((a.micros - below) / 1000n)), below));
  };
}

function delta(read: (days: bigint, within: bigint) => bigint): Operation {
  return (a) => {
    if (!(a instanceof Delta)) return unsure();
    const within = ((a.micros % DAY) + DAY) % DAY;
    return read((a.micros - within) / DAY, within);
  };
}

function totalSeconds(a: PythonValue): PythonValue {
  return a instanceof Delta ? divInt(normalizeInt(a.micros), Number(SECOND)) : unsure();
}

const ANY = Number.POSITIVE_INFINITY;

const TABLE: readonly (readonly [name: string, run: Operation, least: number, most?: number])[] = [
  ["add", add, 2],
  ["sub", sub, 2],
  ["mul", mul, 2],
  ["truediv", truediv, 2],
  ["floordiv", floordiv, 2],
  ["mod", mod, 2],
  ["pow", pow, 2],
  ["neg", neg, 1],
  ["pos", numberOf, 1],
  ["not", (a) => !isTrue(a), 1],
  ["eq", isEqual, 2],
  ["ne", (a, b) => !isEqual(a, b), 2],
  ["lt", (a, b) => order(a, b) < 0, 2],
  ["le", (a, b) => order(a, b) <= 0, 2],
  ["gt", (a, b) => order(a, b) > 0, 2],
  ["ge", (a, b) => order(a, b) >= 0, 2],
  ["is", (a, b) => a === b, 2],
  ["among", among, 1, ANY],
  ["contains", contains, 2],
  ["item", item, 2],
  ["slice", slice, 3],
  ["text", (...values) => values.map(str).join(""), 0, ANY],
  ["after", (_, result) => result, 2],
  ["python", unsure, 0],
  ["abs", abs, 1],
  ["bool", isTrue, 1],
  ["float", (a) => (typeof a === "string" ? floatOfText(a) : floatOf(a)), 1],
  ["int", (a) => (typeof a === "string" ? intOfText(a) : whole(Math.trunc)(a)), 1],
  ["len", length, 1],
  ["max", extreme((found) => found > 0), 2, ANY],
  ["min", extreme((found) => found < 0), 2, ANY],
  ["round", (a, digits) => (digits === undefined ? roundToInt(a) : roundTo(a, digits)), 1, 2],
  ["str", str, 1],
  ["lower", lower, 1],
  ["upper", upper, 1],
  ["strip", strip(true, true), 1, 2],
  ["lstrip", strip(true, false), 1, 2],
  ["rstrip", strip(false, true), 1, 2],
  ["startswith", startswith, 2],
  ["endswith", endswith, 2],
  ["replace", replace, 3],
  ["year", instant((date) => date.getUTCFullYear()), 1],
  ["month", instant((date) => date.getUTCMonth() + 1), 1],
  ["day", instant((date) => date.getUTCDate()), 1],
  ["hour", instant((date) => date.getUTCHours()), 1],
  ["minute", instant((date) => date.getUTCMinutes()), 1],
  ["second", instant((date) => date.getUTCSeconds()), 1],
  ["microsecond", instant((_, below) => Number(below)), 1],
  ["weekday", instant((date) => (date.getUTCDay() + 6) % 7), 1],
  ["isoweekday", instant((date) => date.getUTCDay() || 7), 1],
  ["days", delta((days) => days), 1],
  ["seconds", delta((_, within) => within / SECOND), 1],
  ["microseconds", delta((_, within) => within % SECOND), 1],
  ["total_seconds", totalSeconds, 1],
  ["math.ceil", whole(Math.ceil), 1],
  ["math.floor", whole(Math.floor), 1],
  ["math.trunc", whole(Math.trunc), 1],
  ["math.fabs", (a) => Math.abs(floatOf(a)), 1],
  ["math.sqrt", sqrt, 1],
  ["math.fmod", fmod, 2],
  ["math.copysign", copysign, 2],
  ["math.degrees", (a) => floatOf(a) * (180 / Math.PI), 1],
  ["math.radians", (a) => floatOf(a) * (Math.PI / 180), 1],
  ["math.isfinite", (a) => Number.isFinite(floatOf(a)), 1],
  ["math.isinf", (a) => Math.abs(floatOf(a)) === Number.POSITIVE_INFINITY, 1],
  ["math.isnan", (a) => Number.isNaN(floatOf(a)), 1],
];

/**
 * The operations whose arguments are all computed, by name, with their least and greatest number of
 * arguments.
 */
export const OPERATIONS: ReadonlyMap<string, { readonly run: Operation; readonly least: number; readonly most: number }> = new Map(
  TABLE.map(([name, run, least, most = least]) => [name, { run, least, most }]),
);
