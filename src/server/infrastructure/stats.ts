/** The counters of a node as families of metrics. */

import { bucketBound, type MetricFamily, type MetricSample } from "../../domain/openmetrics.ts";
import { LATENCY_BOUNDS, type Latencies } from "./meters.ts";

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
export function histogram(name: string, help: string, { counts, sum }: Latencies): MetricFamily {
  let seen = 0;
  const buckets = counts.map((count, index) => {
    seen += count;
    const bound = LATENCY_BOUNDS[index];
    return { suffix: "_bucket", labels: { le: bound === undefined ? "+Inf" : bucketBound(bound) }, value: seen };
  });
  return {
    name,
    type: "histogram",
    help,
    samples: [...buckets, { suffix: "_count", labels: {}, value: seen }, { suffix: "_sum", labels: {}, value: sum }],
  };
}

function samplesOf(suffix: string, values: Values): MetricSample[] {
  if (typeof values === "number") return [{ suffix, labels: {}, value: values }];
  return values.map(([labels, value]) => ({ suffix, labels, value }));
}
