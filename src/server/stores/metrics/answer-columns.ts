/**
 * An answer as columns, in which it goes from thread to thread: to copy tens of thousands of
 * buckets one by one takes longer than to read them.
 */

import type { MetricAnswer, MetricBucket } from "./store.ts";

/** Numbers of a bucket: its time, count, sum, min and max. */
const FIGURES = 5;
/** Of a bucket without a histogram, where that ends. */
const NONE = -1;

/** The columns of an answer. */
export interface AnswerColumns {
  readonly groups: readonly { readonly labels: Readonly<Record<string, string>>; readonly buckets: number }[];
  readonly omitted: number;
  /** `FIGURES` for each bucket, one group after the other. */
  readonly figures: Float64Array;
  /** Histograms one after another, and where that of each bucket ends. */
  readonly histograms: Uint8Array;
  readonly ends: Int32Array;
}

/** The columns of an answer. */
export function toColumns({ groups, omitted }: MetricAnswer): AnswerColumns {
  const buckets = groups.flatMap((group) => group.buckets);
  const figures = new Float64Array(buckets.length * FIGURES);
  const ends = new Int32Array(buckets.length);
  const histograms = new Uint8Array(buckets.reduce((sum, { histogram }) => sum + (histogram?.length ?? 0), 0));
  let end = 0;
  for (let index = 0; index < buckets.length; index++) {
    const { at, count, sum, min, max, histogram } = buckets[index] as MetricBucket;
    const place = index * FIGURES;
    figures[place] = at;
    figures[place + 1] = count;
    figures[place + 2] = sum;
    figures[place + 3] = min;
    figures[place + 4] = max;
    if (histogram) {
      histograms.set(histogram, end);
      end += histogram.length;
    }
    ends[index] = histogram ? end : NONE;
  }
  return { groups: groups.map(({ labels, buckets: { length } }) => ({ labels, buckets: length })), omitted, figures, histograms, ends };
}

/** The answer of columns. */
export function fromColumns({ groups, omitted, figures, histograms, ends }: AnswerColumns): MetricAnswer {
  let index = 0;
  let begin = 0;
  const next = (): MetricBucket => {
    const place = index * FIGURES;
    const bucket = {
      at: figures[place] as number,
      count: figures[place + 1] as number,
      sum: figures[place + 2] as number,
      min: figures[place + 3] as number,
      max: figures[place + 4] as number,
    };
    const end = ends[index++] as number;
    if (end === NONE) return bucket;
    const histogram = histograms.subarray(begin, end);
    begin = end;
    return { ...bucket, histogram };
  };
  return { groups: groups.map(({ labels, buckets }) => ({ labels, buckets: Array.from({ length: buckets }, next) })), omitted };
}
