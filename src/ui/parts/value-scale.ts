/** The scale of a chart's values. */

/**
 * The ends of the scale of values that are all the same: zero is at the foot of a scale to one, any
 * other in the middle of one that begins at zero. Undefined when `low` and `high` differ.
 */
export function flatScale(low: number | null, high: number | null): [low: number, high: number] | undefined {
  if (low === null || high === null || (low === 0 && high === 0)) return [0, 1];
  if (low !== high) return undefined;
  return low > 0 ? [0, 2 * low] : [2 * low, 0];
}

/** The places of values with none on either side, which no line shows. */
export function loneValues(values: readonly (number | null)[]): number[] {
  return values.flatMap((value, at) => (value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : []));
}
