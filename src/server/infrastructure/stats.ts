/** The counters of a node as families of metrics. */

import { bucketBound, type MetricFamily, type MetricSample } from "../../domain/openmetrics.ts";
import { classicBuckets, LATENCY_BOUNDS } from "../metrics/classic-buckets.ts";
import type { BucketSum } from "../stores/metrics/bucket-sum.ts";

type Labels = MetricSample["labels"];
type Values = number | readonly (readonly [labels: Labels, value: number])[];

/** A value that goes up and down. */
export function gauge(name: string, help: string, values: Values): MetricFamily {
  return { name, type: "gauge", help, samples: samplesOf("", values) };
}

/** A number that only grows, from the start of the server on. */
export function counter(name: string, help: string, values: Values): MetricFamily {
  return { name, type: "counter", help, samples: samplesOf("_total", values) };
}

/** A histogram of latencies in seconds. */
export function histogram(name: string, help: string, { count, sum, histogram }: BucketSum): MetricFamily {
  const buckets = classicBuckets(histogram, LATENCY_BOUNDS).map(({ bound, count: seen }) => ({
    suffix: "_bucket",
    labels: { le: bucketBound(bound) },
    value: seen,
  }));
  return {
    name,
    type: "histogram",
    help,
    samples: [...buckets, { suffix: "_count", labels: {}, value: count }, { suffix: "_sum", labels: {}, value: sum }],
  };
}

function samplesOf(suffix: string, values: Values): MetricSample[] {
  if (typeof values === "number") return [{ suffix, labels: {}, value: values }];
  return values.map(([labels, value]) => ({ suffix, labels, value }));
}
