/** Reads of the store of metrics. */

import { join } from "node:path";
import { ExponentialHistogram } from "../../src/domain/metrics/exponential-histogram.ts";
import { createSqliteMetricStore } from "../../src/server/stores/metrics/sqlite.ts";
import type { MetricRow, MetricStore } from "../../src/server/stores/metrics/store.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = 30;
const SERIES = [5, 20, 100] as const;
/** Values of a series in a minute. */
const VALUES = 20;
/** Days of which minutes are kept; what is older is written by hours, as a long range reads it. */
const MINUTE_DAYS = 2;
/** Removals of old buckets after which all that are complete are packed. */
const PARTS_PACKED = 3;
const END = Date.UTC(2026, 0, 31);

/** Ranges as people look at them. */
const RANGES = {
  "30 days by 2 hours": { ms: DAYS * DAY, stepMs: 120 * MINUTE },
  "2 days by 10 minutes": { ms: 2 * DAY, stepMs: 10 * MINUTE },
  "an hour by minutes": { ms: 60 * MINUTE, stepMs: MINUTE },
} as const;

/**
 * The 99th percentile of a latency that was recorded each minute for 30 days, of all series
 * together, against reading an hour.
 */
export async function measureMetrics(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const series of SERIES) {
    const store = createSqliteMetricStore({
      path: join(sandbox.root, `metrics-${series}.db`),
      programVersion: "bench",
      clock: { now: () => END, sleep: Bun.sleep },
    });
    for (let at = END - DAYS * DAY; at < END - MINUTE_DAYS * DAY; at += HOUR) await store.append(rowsAt(at, series, 60 * VALUES));
    for (let at = END - MINUTE_DAYS * DAY; at < END - HOUR; at += HOUR)
      await store.append(Array.from({ length: 60 }, (_, minute) => rowsAt(at + minute * MINUTE, series, VALUES)).flat());
    const began = performance.now();
    for (let at = END - HOUR; at < END; at += MINUTE) await store.append(rowsAt(at, series, VALUES));
    const minuteMs = (performance.now() - began) / 60;
    for (let part = 0; part < PARTS_PACKED; part++) await store.thin(END);
    const measured = await interleave(
      rounds * 5,
      Object.fromEntries(Object.entries(RANGES).map(([name, range]) => [name, () => timeOf(store, range)])),
    );
    const { bytes, buckets } = await store.figures();
    lines.push({ what: `${series} series, a minute written`, value: milliseconds(minuteMs) });
    lines.push({ what: `${series} series, file`, value: `${(bytes / 1e6).toFixed(1)} MB, ${buckets} buckets` });
    const anchor = median(measured["an hour by minutes"] ?? []);
    for (const [name, times] of Object.entries(measured))
      lines.push({
        what: `${series} series, p99 of ${name}`,
        value: milliseconds(median(times)),
        ratio: median(times) / anchor,
        anchor: "of an hour",
      });
    await store.close();
  }
  return lines;
}

async function timeOf(store: MetricStore, { ms, stepMs }: { readonly ms: number; readonly stepMs: number }): Promise<number> {
  const began = performance.now();
  const { groups } = await store.read({
    ...{ environmentId: "env_1", metric: "query.latency", filters: [], by: [], from: END - ms, before: END, stepMs, maxGroups: 100 },
  });
  const percentiles = groups[0]?.buckets.map(({ histogram }) => histogram && ExponentialHistogram.decode(histogram).quantile(0.99));
  if (percentiles?.length !== ms / stepMs) throw new Error(`${percentiles?.length} periods were read`);
  return performance.now() - began;
}

function rowsAt(at: number, series: number, values: number): MetricRow[] {
  return Array.from({ length: series }, (_, index) => {
    const histogram = new ExponentialHistogram();
    for (let n = 0; n < values; n++) histogram.record(0.001 * 10 ** (Math.random() * 2));
    return {
      environmentId: "env_1",
      metric: "query.latency",
      labels: { query_name: `query ${index}`, deployment: "dpl_1", branch: "" },
      bucket: { at, count: values, sum: values * 0.01, min: 0.001, max: 0.1, histogram: histogram.encode() },
    };
  });
}
