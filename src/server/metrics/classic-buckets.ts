/**
 * Histograms with fixed upper bounds, as Prometheus has them. The bounds are powers of two, which
 * are bounds of exponential histograms too, so that counts are exact.
 */

import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";

const powers = (from: number, to: number, step = 1): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, at) => 2 ** (from + at * step));

/** Bounds of latencies in seconds: a quarter of a millisecond to a minute. */
export const LATENCY_BOUNDS = powers(-12, 6);
/** Bounds of ages in seconds: a second to half a year. */
export const AGE_BOUNDS = powers(0, 24, 2);

/** A bucket: the values that a bound is not exceeded by. */
export interface ClassicBucket {
  /** The last one's is infinite. */
  readonly bound: number;
  /** Number of values up to the bound. */
  readonly count: number;
}

/** The buckets of a histogram; undefined = it has no values. */
export function classicBuckets(histogram: ExponentialHistogram | undefined, bounds: readonly number[]): ClassicBucket[] {
  const buckets = histogram?.buckets() ?? [];
  let count = histogram?.zeros ?? 0;
  let at = 0;
  return [...bounds, Number.POSITIVE_INFINITY].map((bound) => {
    for (let bucket = buckets[at]; bucket && ExponentialHistogram.upperBound(bucket[0]) <= bound; bucket = buckets[++at])
      count += bucket[1];
    return { bound, count };
  });
}
