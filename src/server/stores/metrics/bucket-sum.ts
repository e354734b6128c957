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
  #histogram: ExponentialHistogram | undefined;
  /** The only histogram that was added so far: most buckets that are read have no other. */
  #encoded: Uint8Array | undefined;

  /** @param isHistogram whether values are counted by buckets too */
  constructor(isHistogram = false) {
    if (isHistogram) this.#histogram = new ExponentialHistogram();
  }

  /** The histogram of the records; undefined = of a sum of numbers. */
  get histogram(): ExponentialHistogram | undefined {
    if (this.#encoded) {
      this.#histogram = ExponentialHistogram.decode(this.#encoded);
      this.#encoded = undefined;
    }
    return this.#histogram;
  }

  /** Adds a record. */
  record(value: number): void {
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    if (this.#histogram || this.#encoded) this.histogram?.record(value);
  }

  /** Adds the records of another sum. */
  merge(other: BucketSum): void {
    if (other.count === 0) return;
    this.#widen(other.count, other.sum, other.min, other.max);
    const { histogram } = other;
    if (histogram) this.#own().merge(histogram);
  }

  /**
   * Adds the records of a bucket. Throws RangeError when its histogram cannot be read.
   * @param begin, end where the histogram is among the bytes; default: it is all of them
   */
  add(count: number, sum: number, min: number, max: number, histogram: Uint8Array | null | undefined, begin = 0, end?: number): void {
    this.#widen(count, sum, min, max);
    if (!histogram) return;
    if (this.#histogram || this.#encoded) this.#own().mergeEncoded(histogram, begin, end);
    else {
      const own = histogram.subarray(begin, end);
      ExponentialHistogram.check(own);
      this.#encoded = own;
    }
  }

  /** Begins anew. */
  clear(): void {
    this.count = 0;
    this.sum = 0;
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
    this.#encoded = undefined;
    this.#histogram?.clear();
  }

  /** The bucket of a period that begins at a time, epoch milliseconds. */
  bucketAt(at: number): MetricBucket {
    const { count, sum, min, max } = this;
    const histogram = this.#encoded ?? this.#histogram?.encode();
    return { at, count, sum, min, max, ...(histogram && { histogram }) };
  }

  /** The histogram, which is made when there is none. */
  #own(): ExponentialHistogram {
    const known = this.histogram;
    if (known) return known;
    const made = new ExponentialHistogram();
    this.#histogram = made;
    return made;
  }

  #widen(count: number, sum: number, min: number, max: number): void {
    this.count += count;
    this.sum += sum;
    if (min < this.min) this.min = min;
    if (max > this.max) this.max = max;
  }
}
