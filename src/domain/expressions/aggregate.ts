/** Computations over many values, shared by aggregations and functions of lists. */

import type { FeatureValue } from "../value.ts";
import { compareValues } from "./compare.ts";
import type { Int } from "./definition.ts";
import { checkedInt, divInt } from "./integer.ts";

/** The exact sum of ints, or the compensated sum of floats; 0 of no values. */
export function total(values: readonly FeatureValue[], operation: string, isFloat = false): Int {
  if (isFloat) return totalOfFloats(values as readonly number[]);
  let fast = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as Int;
    if (typeof value === "bigint" || !Number.isSafeInteger(fast + value)) return exactTotal(values, operation);
    fast += value;
  }
  return fast;
}

function exactTotal(values: readonly FeatureValue[], operation: string): Int {
  return checkedInt(
    values.reduce<bigint>((sum, value) => sum + BigInt(value as Int), 0n),
    operation,
  );
}

/**
 * Sum of floats with the lost low digits kept apart (Neumaier), as Python's `sum` has it from 3.12
 * on.
 */
function totalOfFloats(values: readonly number[]): number {
  let [sum, lost] = [0, 0];
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return Number.isFinite(lost) ? sum + lost : sum;
}

/** The arithmetic mean; null of nothing. */
export function average(values: readonly FeatureValue[]): number | null {
  if (values.length === 0) return null;
  const isFloat = values.some((value) => typeof value === "number" && !Number.isSafeInteger(value));
  if (isFloat) return totalOfFloats(values.map(Number)) / values.length;
  let fast = 0;
  for (const value of values) {
    if (typeof value === "bigint" || !Number.isSafeInteger(fast + (value as number)))
      return divInt(
        values.reduce<bigint>((sum, item) => sum + BigInt(item as Int), 0n),
        BigInt(values.length),
      );
    fast += value as number;
  }
  return fast / values.length;
}

/** The greatest (`sign` 1) or least (-1) value; NaN when there is a NaN, null of nothing. */
export function extremeOf(values: readonly FeatureValue[], sign: 1 | -1): FeatureValue {
  let best: FeatureValue = null;
  for (const value of values) {
    if (Number.isNaN(value)) return value;
    if (best === null || compareValues(value, best) * sign > 0) best = value;
  }
  return best;
}

/** The variance of a sample (divided by n - 1), in two passes; null of fewer than two values. */
export function variance(values: readonly FeatureValue[]): number | null {
  const mean = average(values);
  if (mean === null || values.length < 2) return null;
  const squares = values.map((value) => (Number(value) - mean) ** 2);
  return totalOfFloats(squares) / (values.length - 1);
}

/**
 * The variance of a sample of ints, correctly rounded from the exact one, as Python's
 * `statistics.variance`; null of fewer than two values.
 */
export function varianceOfInts(values: readonly Int[]): number | null {
  const ratio = exactVariance(values);
  return ratio && divInt(ratio.top, ratio.bottom);
}

/**
 * The standard deviation of a sample of ints: the root of the exact variance, correctly rounded;
 * null of fewer than two values.
 */
export function deviationOfInts(values: readonly Int[]): number | null {
  const ratio = exactVariance(values);
  return ratio && ratioRoot(ratio.top, ratio.bottom);
}

/**
 * The variance of a sample of ints as a ratio, from their number, sum and sum of squares:
 * `(n * sum of squares - square of the sum) / (n * (n - 1))`; null of fewer than two values.
 */
export function varianceRatio(count: number, sum: bigint, squares: bigint): { readonly top: bigint; readonly bottom: bigint } | null {
  const exact = BigInt(count);
  return count < 2 ? null : { top: exact * squares - sum * sum, bottom: exact * (exact - 1n) };
}

function exactVariance(values: readonly Int[]): { readonly top: bigint; readonly bottom: bigint } | null {
  let [sum, squares] = [0n, 0n];
  let [fastSum, fastSquares] = [0, 0];
  for (const value of values) {
    const [nextSum, nextSquares] = typeof value === "number" ? [fastSum + value, fastSquares + value * value] : [Number.NaN, 0];
    if (Number.isSafeInteger(nextSum) && Number.isSafeInteger(nextSquares)) {
      fastSum = nextSum;
      fastSquares = nextSquares;
    } else {
      const exact = BigInt(value);
      sum += exact;
      squares += exact * exact;
    }
  }
  sum += BigInt(fastSum);
  squares += BigInt(fastSquares);
  return varianceRatio(values.length, sum, squares);
}

/**
 * Bits of which a root is taken: twice a float's and some more, so that rounding to odd and then to
 * a float is rounding once.
 */
const ROOT_BITS = 109;

/** The correctly rounded root of a ratio of integers that are not negative, the second positive. */
export function ratioRoot(top: bigint, bottom: bigint): number {
  const shift = Math.floor((bitsOf(top) - bitsOf(bottom) - ROOT_BITS) / 2);
  if (shift >= 0) return divInt(oddRoot(top, bottom << BigInt(2 * shift)) << BigInt(shift), 1n);
  return divInt(oddRoot(top << BigInt(-2 * shift), bottom), 1n << BigInt(-shift));
}

/** The integer root of a ratio, made odd when it is not exact. */
function oddRoot(top: bigint, bottom: bigint): bigint {
  const root = integerRoot(top / bottom);
  return root * root * bottom === top ? root : root | 1n;
}

function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((bitsOf(value) + 1) >> 1);
  for (let next = (root + value / root) >> 1n; next < root; next = (root + value / root) >> 1n) root = next;
  return root;
}

function bitsOf(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}
