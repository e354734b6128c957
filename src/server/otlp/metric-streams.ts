/**
 * What applications count, as increments of the series of this node. A sum since the sender began
 * is compared with its last one, so all points of a sender have to come to one node.
 */

import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";
import type { Counter, Gauge, Histogram, MetricRecorder } from "../metrics/recorder.ts";
import { BucketSum } from "../stores/metrics/bucket-sum.ts";
import type { PointBuckets, PointHistogram, ReceivedPoint } from "./received-metrics.ts";

/** What is remembered of a sender's series. */
interface Stream {
  /** Time of its last point, epoch nanoseconds. */
  readonly at: bigint;
  /** Its sum until then: of a counter, or of a sum that goes up and down. */
  readonly sum: number;
  readonly histogram?: PointHistogram | undefined;
}

/** Most senders' series that are remembered; the one that was used longest ago goes first. */
const MAX_STREAMS = 10_000;
/** Values into which the values of a bucket are spread at most. */
const MAX_PARTS = 16;

/** The streams of this node. */
export class MetricStreams {
  readonly #streams = new Map<string, Stream>();
  /**
   * A sum whose sender began after this is not known to have been counted before, epoch
   * nanoseconds.
   */
  #unknownSince: bigint;

  /**
   * @param since when this node began, epoch milliseconds
   * @param now epoch milliseconds
   */
  constructor(
    private readonly metrics: MetricRecorder,
    since: number,
    private readonly now: () => number,
  ) {
    this.#unknownSince = nanoseconds(since);
  }

  /** Records points, in the order in which they were received. */
  record(points: readonly ReceivedPoint[]): void {
    for (const point of points) this.#record(point);
  }

  #record(point: ReceivedPoint): void {
    const { exemplars, value } = point;
    if (value.kind === "gauge") this.#gauge(point).set(value.number);
    else if (!point.isCumulative && value.kind === "counter") this.#counter(point).add(value.number);
    else if (!point.isCumulative && value.kind === "histogram") this.#histogram(point).merge(sumOf(value.histogram), exemplars);
    else {
      const key = streamKey(point);
      const last = this.#streams.get(key);
      if (last && point.at <= last.at) return;
      this.#remember(key, point, last);
      // What a sender counted before this node heard of it may have been counted by then.
      const isKnown = last !== undefined || point.startedAt > this.#unknownSince;
      if (value.kind === "change") this.#gauge(point).set((last?.sum ?? 0) + value.number);
      else if (isKnown && value.kind === "counter")
        this.#counter(point).add(last && last.sum <= value.number ? value.number - last.sum : value.number);
      else if (isKnown && value.kind === "histogram") {
        const grown = last?.histogram && difference(value.histogram, last.histogram);
        const values = grown ? sumOf(grown, true) : sumOf(value.histogram);
        if (values.count > 0) this.#histogram(point).merge(values, exemplars);
      }
    }
  }

  #remember(key: string, { at, value }: ReceivedPoint, last: Stream | undefined): void {
    this.#streams.delete(key);
    if (value.kind === "histogram") this.#streams.set(key, { at, sum: 0, histogram: value.histogram });
    else this.#streams.set(key, { at, sum: value.kind === "change" ? (last?.sum ?? 0) + value.number : value.number });
    if (this.#streams.size <= MAX_STREAMS) return;
    this.#streams.delete(this.#streams.keys().next().value as string);
    this.#unknownSince = nanoseconds(this.now());
  }

  #counter({ environmentId, labels }: ReceivedPoint): Counter {
    return this.metrics.counter("app.counter", environmentId, labels);
  }

  #gauge({ environmentId, labels }: ReceivedPoint): Gauge {
    return this.metrics.gauge("app.gauge", environmentId, labels);
  }

  #histogram({ environmentId, labels }: ReceivedPoint): Histogram {
    return this.metrics.histogram("app.histogram", environmentId, labels);
  }
}

/** The key of a stream; a sender that began anew has another, and counts from zero. */
function streamKey({ environmentId, startedAt, stream }: ReceivedPoint): string {
  return new Bun.CryptoHasher("sha256").update(`${environmentId} ${startedAt} ${stream}`).digest("base64");
}

function nanoseconds(milliseconds: number): bigint {
  return BigInt(Math.floor(milliseconds)) * 1_000_000n;
}

/** What a histogram counted since an earlier state of it; undefined = it began anew. */
function difference(now: PointHistogram, before: PointHistogram): PointHistogram | undefined {
  const buckets = bucketDifference(now.buckets, before.buckets);
  if (!buckets || now.count < before.count) return undefined;
  const sum = now.sum === undefined || before.sum === undefined ? undefined : now.sum - before.sum;
  return { count: now.count - before.count, sum, min: now.min, max: now.max, buckets };
}

function bucketDifference(now: PointBuckets, before: PointBuckets): PointBuckets | undefined {
  if (now.kind === "explicit") {
    if (before.kind !== "explicit" || now.bounds.length !== before.bounds.length) return undefined;
    if (now.bounds.some((bound, at) => bound !== before.bounds[at])) return undefined;
    const counts = now.counts.map((count, at) => count - (before.counts[at] ?? 0));
    return counts.some((count) => count < 0) ? undefined : { ...now, counts };
  }
  if (before.kind !== "exponential") return undefined;
  const scale = Math.min(now.scale, before.scale);
  const counts = coarser(now.counts, now.scale - scale);
  const zeros = now.zeros - before.zeros;
  for (const [index, count] of coarser(before.counts, before.scale - scale)) counts.set(index, (counts.get(index) ?? 0) - count);
  return zeros < 0 || counts.values().some((count) => count < 0) ? undefined : { kind: "exponential", scale, zeros, counts };
}

/** Counts at a scale that is less by a number of steps, each of which joins two buckets. */
function coarser(counts: ReadonlyMap<number, number>, steps: number): Map<number, number> {
  const joined = new Map<number, number>();
  for (const [index, count] of counts) {
    const at = Math.floor(index / 2 ** steps);
    joined.set(at, (joined.get(at) ?? 0) + count);
  }
  return joined;
}

/**
 * The values of a histogram by the buckets of this platform. Where its own are wider, its values
 * are spread evenly over them.
 * @param isPart whether its least and its greatest value are those of more than it counts
 */
export function sumOf({ count, sum, min, max, buckets }: PointHistogram, isPart = false): BucketSum {
  const histogram = new ExponentialHistogram();
  let [estimate, least, greatest] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const add = (value: number, times: number): void => {
    histogram.record(value, times);
    estimate += value * times;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  };
  if (buckets.kind === "exponential") {
    if (buckets.zeros > 0) add(0, buckets.zeros);
    for (const [index, times] of buckets.counts) spread(times, (share) => 2 ** ((index + share) / 2 ** buckets.scale), add);
  } else {
    const { bounds, counts } = buckets;
    const mean = sum === undefined || count === 0 ? 0 : sum / count;
    for (const [at, times] of counts.entries()) {
      const [below, above] = [bounds[at - 1], bounds[at]];
      const from = Math.max(below ?? Math.min(min ?? 0, above ?? mean), min ?? Number.NEGATIVE_INFINITY);
      const to = Math.min(above ?? max ?? below ?? mean, max ?? Number.POSITIVE_INFINITY);
      if (bounds.length === 0) add(mean, times);
      else if (times > 0) spread(times, (share) => from + Math.max(to - from, 0) * share, add);
    }
  }
  const values = new BucketSum(true);
  const [from, to] = isPart ? [least, greatest] : [min ?? least, max ?? greatest];
  if (count > 0) values.add(count, sum ?? estimate, from, to, histogram.encode());
  return values;
}

/** Calls for values at even shares of a bucket, and how many times each is there. */
function spread(times: number, valueAt: (share: number) => number, add: (value: number, times: number) => void): void {
  const parts = Math.min(times, MAX_PARTS);
  for (let part = 0; part < parts; part++) {
    const own = Math.floor((times * (part + 1)) / parts) - Math.floor((times * part) / parts);
    add(valueAt((part + 0.5) / parts), own);
  }
}
