/** What was recorded of a series in a period, while it grows. */

import { ExponentialHistogram } from "../../../domain/metrics/exponential-histogram.ts";
import type { MetricBucket } from "./store.ts";

/** The sum of records, and of buckets. */
export class BucketSum {
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  /** Undefined until a histogram is merged, or for ever of a sum of numbers. */
  histogram: ExponentialHistogram | undefined;

  /** @param isHistogram whether values are counted by buckets too */
  constructor(isHistogram = false) {
    if (isHistogram) this.histogram = new ExponentialHistogram();
  }

  /** Adds a record. */
  record(value: number): void {
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.histogram?.record(value);
  }

  /** Adds the records of another sum. */
  merge(other: BucketSum): void {
    if (other.count === 0) return;
    this.#widen(other.count, other.sum, other.min, other.max);
    if (!other.histogram) return;
    this.histogram ??= new ExponentialHistogram();
    this.histogram.merge(other.histogram);
  }

  /** Adds the records of a bucket. Throws RangeError when its histogram cannot be read. */
  add(count: number, sum: number, min: number, max: number, histogram: Uint8Array | null | undefined): void {
    this.#widen(count, sum, min, max);
    if (!histogram) return;
    this.histogram ??= new ExponentialHistogram();
    this.histogram.mergeEncoded(histogram);
  }

  /** Begins anew. */
  clear(): void {
    this.count = 0;
    this.sum = 0;
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
    this.histogram?.clear();
  }

  /** The bucket of a period that begins at a time, epoch milliseconds. */
  bucketAt(at: number): MetricBucket {
    const { count, sum, min, max, histogram } = this;
    return { at, count, sum, min, max, ...(histogram && { histogram: histogram.encode() }) };
  }

  #widen(count: number, sum: number, min: number, max: number): void {
    this.count += count;
    this.sum += sum;
    if (min < this.min) this.min = min;
    if (max > this.max) this.max = max;
  }
}
