/** What was dropped before it could be kept, by signal. */

import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { MetricRecorder } from "./recorder.ts";

/** The records that may be dropped; metrics count their own. */
export type DroppedSignal = "query_log" | "spans" | "logs" | "webhooks";

/**
 * Has what was dropped sampled.
 * @param droppedSoFar the number of records that were dropped since the start
 */
export function sampleDropped(metrics: MetricRecorder, signal: DroppedSignal, droppedSoFar: () => number): void {
  let before = 0;
  metrics.sample(() => {
    const now = droppedSoFar();
    if (now > before) metrics.counter("telemetry.dropped", SERVER_SCOPE, { signal }).add(now - before);
    before = now;
  });
}
