/** A series as it is recorded on this node. */

import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";
import type { MetricKind } from "../../domain/metrics/metric.ts";
import { BucketSum } from "../stores/metrics/bucket-sum.ts";
import type { Exemplar, MetricRow, MetricSeries } from "../stores/metrics/store.ts";

/**
 * The sums of a series: of this period of ten seconds, of the minute before it, and of all time.
 */
export class RecordedSeries implements MetricSeries {
  /** This period's records. */
  readonly current: BucketSum;
  /** Those of the minute's periods that are over. */
  readonly minute: BucketSum;
  /** Those of all periods that are over, since the series began on this node. */
  readonly total: BucketSum;
  /** The last sample of a gauge. */
  last = 0;
  /** Whether anything was recorded in this period. */
  isActive = false;
  /** Beginning of the last period with records, epoch milliseconds. */
  activeAt = 0;
  /** The last traced value of each bucket, by the bucket's index; undefined = there is none. */
  exemplars: Map<number, Exemplar> | undefined;
  /** The buckets that had one in this minute. */
  readonly #exemplified = new Set<number>();

  constructor(
    readonly kind: MetricKind,
    readonly environmentId: string,
    readonly metric: string,
    readonly labels: Readonly<Record<string, string>>,
  ) {
    const isHistogram = kind === "histogram";
    this.current = new BucketSum(isHistogram);
    this.minute = new BucketSum(isHistogram);
    this.total = new BucketSum(isHistogram);
  }

  /** Keeps the trace of a value as the one that leads to its bucket. */
  exemplify(exemplar: Exemplar): void {
    this.exemplars ??= new Map();
    const bucket = ExponentialHistogram.indexOf(exemplar.value) ?? Number.NEGATIVE_INFINITY;
    this.exemplars.set(bucket, exemplar);
    this.#exemplified.add(bucket);
  }

  /** Ends the period of ten seconds. */
  endPeriod(): void {
    this.minute.merge(this.current);
    this.total.merge(this.current);
    this.current.clear();
    this.isActive = false;
  }

  /** Ends the minute, whose row was taken. */
  endMinute(): void {
    this.minute.clear();
    this.#exemplified.clear();
  }

  /** What was recorded in the minute so far, as a row; undefined = nothing. */
  rowAt(at: number): MetricRow | undefined {
    const { environmentId, metric, labels, minute, current } = this;
    if (minute.count + current.count === 0) return undefined;
    const sum = new BucketSum();
    sum.merge(minute);
    sum.merge(current);
    const exemplars = [...this.#exemplified].flatMap((bucket) => this.exemplars?.get(bucket) ?? []);
    return { environmentId, metric, labels, bucket: sum.bucketAt(at), ...(exemplars.length > 0 && { exemplars }) };
  }

  /** What was recorded since the series began on this node. */
  sinceStart(): BucketSum {
    const sum = new BucketSum(this.kind === "histogram");
    sum.merge(this.total);
    sum.merge(this.current);
    return sum;
  }
}
