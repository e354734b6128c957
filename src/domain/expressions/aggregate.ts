/** Putting many values together: what aggregations and functions of lists have in common. */

import type { FeatureValue } from "../value.ts";
import { compareValues } from "./compare.ts";
import type { Int } from "./definition.ts";
import { checkedInt } from "./integer.ts";

/** The exact sum of ints; the compensated sum of floats. Nothing sums up to 0. */
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

/** Sum of floats with the lost low digits kept apart (Neumaier), as Python's `sum` has it from 3.12 on. */
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
      return Number(values.reduce<bigint>((sum, item) => sum + BigInt(item as Int), 0n)) / values.length;
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
