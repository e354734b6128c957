/** How many queries are traced although nobody asked for it. */

import type { JsonObject } from "./json-value.ts";

/** How many are chosen. */
export interface SpanSampling {
  /** Share of queries, 0 to 1. */
  readonly rate: number;
  /** Traces that are kept in a second at most. */
  readonly perSecond: number;
}

/** What is chosen unless the record of the metrics says otherwise. */
const DEFAULT_SAMPLING: SpanSampling = { rate: 0.01, perSecond: 10 };

/** What is chosen by the spec of the metrics. */
export function samplingOf({ trace_sample_rate: rate, trace_sample_limit: perSecond }: JsonObject): SpanSampling {
  return {
    rate: typeof rate === "number" ? rate : DEFAULT_SAMPLING.rate,
    perSecond: typeof perSecond === "number" ? perSecond : DEFAULT_SAMPLING.perSecond,
  };
}
