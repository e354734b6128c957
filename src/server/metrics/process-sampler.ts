/** What the server's own process uses. */

import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { MetricRecorder } from "./recorder.ts";

/** Has the processor time and the memory of this process sampled. */
export function sampleProcess(metrics: MetricRecorder, node: () => string): void {
  let before = 0;
  metrics.sample(() => {
    const labels = { node: node() };
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.counter("process.cpu", SERVER_SCOPE, labels).add(seconds - before);
    metrics.gauge("process.memory", SERVER_SCOPE, labels).set(process.memoryUsage.rss());
    before = seconds;
  });
}
