/** Counting of HTTP requests. */

import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { Counter, Histogram, MetricRecorder } from "./recorder.ts";

/** The counters of requests. */
export interface HttpMeter {
  /** Requests that are being answered. */
  readonly inFlight: () => number;
  /** Counts the beginning of a request. */
  began(): void;
  /**
   * Counts the end of a request.
   * @param endpoint a template of paths, of which there are few
   */
  answered(endpoint: string, status: number, ms: number): void;
}

/** Makes the counters. */
export function createHttpMeter(metrics: MetricRecorder): HttpMeter {
  const endpoints = new Map<string, { readonly latency: Histogram; readonly statuses: Map<number, Counter> }>();
  let inFlight = 0;
  return {
    inFlight: () => inFlight,
    began() {
      inFlight++;
    },
    answered(endpoint, status, ms) {
      inFlight--;
      let known = endpoints.get(endpoint);
      if (!known) {
        known = { latency: metrics.histogram("http.latency", SERVER_SCOPE, { endpoint }), statuses: new Map() };
        endpoints.set(endpoint, known);
      }
      let count = known.statuses.get(status);
      if (!count) {
        count = metrics.counter("http.count", SERVER_SCOPE, { endpoint, status: String(status) });
        known.statuses.set(status, count);
      }
      count.add();
      known.latency.observe(ms / 1000);
    },
  };
}
