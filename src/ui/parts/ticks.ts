/** Round marks of a scale. */

/**
 * At most `most` round numbers from `low` to `high`, by steps of 1, 2 or 5 times a power of ten.
 */
export function ticks(low: number, high: number, most = 5): number[] {
  if (!(high > low) || most < 1) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, at) => Number(((first + at) * step).toPrecision(15)));
}
