import { join } from "node:path";
import { createSqliteMetricStore, type MetricOptions } from "../../../../src/server/stores/metrics/sqlite.ts";
import type { MetricStore } from "../../../../src/server/stores/metrics/store.ts";
import type { Driver } from "../driver.ts";

/** A driver of the store of metrics. */
export interface MetricDriver extends Driver<MetricStore> {
  /** Whether buckets outlive `close`. */
  readonly isDurable: boolean;
}

function open(path: string, now: () => number): MetricStore {
  const clock: MetricOptions["clock"] = { now, sleep: (ms) => Bun.sleep(ms) };
  return createSqliteMetricStore({ path, programVersion: "1", clock });
}

/** Every driver of the store of metrics. */
export const METRIC_DRIVERS: readonly MetricDriver[] = [
  { name: "SQLite file", isDurable: true, open: (folder, { now = Date.now } = {}) => open(join(folder, "metrics.db"), now) },
  { name: "SQLite in memory", isDurable: false, open: (_, { now = Date.now } = {}) => open(":memory:", now) },
];
