/** How long calls took, as metrics tell it: in seconds, by buckets, with traces of some calls. */

import type { MetricBucketJson, MetricExemplarJson } from "../../../../gen/svc/v1/metric_pb.ts";
import type { Bucket } from "../../parts/histogram.tsx";

/** Milliseconds of a value in seconds; not finite ones are 0. */
export function millisecondsOf(seconds: number | string | undefined): number {
  const ms = Number(seconds ?? 0) * 1000;
  return Number.isFinite(ms) ? ms : 0;
}

/** A bucket in milliseconds. */
export function bucketOfMs({ from, to, count = "0" }: MetricBucketJson): Bucket {
  return { from: millisecondsOf(from), to: millisecondsOf(to), count: Number(count) };
}

/** Traced values, the greatest first. */
export function slowestFirst(exemplars: readonly MetricExemplarJson[]): readonly MetricExemplarJson[] {
  return exemplars.toSorted((one, other) => millisecondsOf(other.value) - millisecondsOf(one.value));
}

/** The latest traced value of a bucket; undefined when none of its values was traced. */
export function tracedIn(exemplars: readonly MetricExemplarJson[], { from, to }: Bucket): MetricExemplarJson | undefined {
  return exemplars.findLast(({ value }) => {
    const ms = millisecondsOf(value);
    return ms > from && ms <= to;
  });
}
