/**
 * Lengths of time in microseconds, exact: a number where that is safe, else a bigint, as ints are.
 */

import { LONGEST_MICROS, normalizeInt } from "../value.ts";
import type { Int } from "./definition.ts";
import { EvaluationError } from "./evaluation-error.ts";
import { divInt } from "./integer.ts";

const SECOND = 1_000_000;
const DAY = 86_400_000_000n;

/** The length in memory; throws when it is longer than 10,000 years. */
export function checkedLength(micros: bigint): Int {
  if (micros > LONGEST_MICROS || micros < -LONGEST_MICROS) throw new EvaluationError("the length of time is longer than 10,000 years");
  return normalizeInt(micros);
}

/** The sum of two lengths. */
export function addLength(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return checkedLength(BigInt(a) + BigInt(b));
}

/** The length with the other sign. */
export function negLength(a: Int): Int {
  return typeof a === "number" ? 0 - a : -a;
}

/** A length so many times. */
export function timesLength(a: Int, count: Int): Int {
  return checkedLength(BigInt(a) * BigInt(count));
}

/**
 * A length times a float, or divided by one: computed exactly and rounded to the microsecond,
 * halves to the even one, as in Python.
 */
export function scaleLength(a: Int, factor: number, operation: "mul" | "div"): Int {
  if (operation === "div" && factor === 0) throw new EvaluationError("division by zero");
  if (!Number.isFinite(factor)) throw new EvaluationError(`${operation} of a length of time and ${factor}`);
  const [top, bottom] = ratioOf(factor);
  return checkedLength(operation === "mul" ? divideHalfEven(BigInt(a) * top, bottom) : divideHalfEven(BigInt(a) * bottom, top));
}

/** The mean of some lengths, to the microsecond. */
export function meanLength(values: readonly Int[]): Int {
  return meanOfLengths(totalLength(values), values.length);
}

/** The mean of lengths from their sum and number, to the microsecond. */
export function meanOfLengths(sum: bigint, count: number): Int {
  return checkedLength(divideHalfEven(sum, BigInt(count)));
}

/** The sum of some lengths, unchecked. */
export function totalLength(values: readonly Int[]): bigint {
  return values.reduce<bigint>((sum, value) => sum + BigInt(value), 0n);
}

/** Seconds of a length, correctly rounded. */
export function secondsOf(micros: Int): number {
  return divInt(micros, SECOND);
}

/**
 * The length of so many seconds, to the microsecond, halves to the even one. Throws for NaN, the
 * infinities and more than 10,000 years.
 */
export function lengthOfSeconds(seconds: number): Int {
  if (!Number.isFinite(seconds)) throw new EvaluationError(`a length of time of ${seconds} seconds`);
  const whole = Math.trunc(seconds);
  const [top, bottom] = ratioOf(seconds - whole);
  return checkedLength(BigInt(whole) * BigInt(SECOND) + divideHalfEven(top * BigInt(SECOND), bottom));
}

/** Days of a length, rounded down. */
export function daysOf(micros: Int): number {
  const exact = BigInt(micros);
  return Number(exact / DAY) - (exact % DAY < 0n ? 1 : 0);
}

/** The length of so many days. */
export function lengthOfDays(days: number): Int {
  return checkedLength(BigInt(days) * DAY);
}

/** A finite float as a ratio of integers; the second is positive. */
function ratioOf(value: number): readonly [top: bigint, bottom: bigint] {
  let scaled = value;
  let shift = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    shift++;
  }
  return [BigInt(scaled), 1n << BigInt(shift)];
}

/** The quotient rounded to the nearest integer, halves to the even one. */
function divideHalfEven(a: bigint, b: bigint): bigint {
  const [top, bottom] = b < 0n ? [-a, -b] : [a, b];
  let floor = top / bottom;
  let rest = top % bottom;
  if (rest < 0n) {
    floor -= 1n;
    rest += bottom;
  }
  const twice = rest * 2n;
  return twice > bottom || (twice === bottom && floor % 2n !== 0n) ? floor + 1n : floor;
}
