import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MAX_SERIES, OTHER_LABEL, SERVER_SCOPE } from "../../../src/domain/metrics/metric.ts";
import { createMetricReader, type MetricReader } from "../../../src/server/metrics/reader.ts";
import { createMetricRecorder, type MetricRecording } from "../../../src/server/metrics/recorder.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";
import type { MetricSelection, MetricStore } from "../../../src/server/stores/metrics/store.ts";

const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 0, 5, 12);
let now: number;
let store: MetricStore;
let isBroken: boolean;
let said: string[];
let recording: MetricRecording;
let reader: MetricReader;
const clock = { now: () => now, sleep: (ms: number) => Bun.sleep(ms) };
const SILENT = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => true };
const QUERY = { query_name: "fraud", deployment: "dpl_1", branch: "" };

beforeEach(() => {
  now = T0;
  isBroken = false;
  said = [];
  store = createSqliteMetricStore({ path: ":memory:", programVersion: "1", clock });
  const open = async () => {
    if (isBroken) throw new Error("the disk is full");
    return store;
  };
  const log = { ...SILENT, warning: (message: string) => said.push(message) };
  recording = createMetricRecorder({ store: open, clock, log });
  reader = createMetricReader({ store: async () => store, recording, features: { unwritten: () => [] } });
});
afterEach(async () => {
  recording.end();
  await store.close();
});

const selection = (metric: string, more: Partial<MetricSelection> = {}): MetricSelection => ({
  ...{ environmentId: "env_1", metric, filters: [], by: [], from: T0 - HOUR, before: T0 + HOUR, stepMs: 60_000, maxGroups: 10 },
  ...more,
});
/** Traces of the only group, with their values. */
const exemplars = async (more: Partial<MetricSelection> = {}) =>
  (await reader.exemplars(selection("query.latency", more))).flatMap((group) =>
    group.exemplars.map(({ traceId, value }) => [traceId, value]),
  );
const totals = async (metric: string, more: Partial<MetricSelection> = {}) => {
  const { groups } = await reader.read(selection(metric, more));
  return groups.map(({ labels, buckets }) => [...Object.values(labels), buckets.reduce((sum, one) => sum + one.sum, 0)]);
};

describe("recording", () => {
  test("a record is read at once, and counts once however often it is handed over", async () => {
    const count = recording.counter("query.count", "env_1", QUERY);
    count.add();
    expect(await totals("query.count")).toEqual([[1]]);
    await recording.flush();
    count.add(2);
    expect(await totals("query.count")).toEqual([[3]]);
    expect(await totals("query.count", { stepMs: 10_000 })).toEqual([[3]]);
    await recording.flush();
    await recording.flush();
    expect(await totals("query.count")).toEqual([[3]]);
    expect(await totals("query.count", { stepMs: 10_000 })).toEqual([[3]]);
    expect(recording.sinceStart("query.count")).toMatchObject({ count: 2, sum: 3, min: 1, max: 2 });
  });

  test("series of the same labels are one, whoever holds them", async () => {
    recording.counter("query.count", "env_1", QUERY).add();
    recording.counter("query.count", "env_1", { ...QUERY }).add();
    recording.counter("query.count", "env_2", QUERY).add(5);
    expect(recording.series({ environmentId: "env_1", metric: "query.count" })).toHaveLength(1);
    expect(await totals("query.count", { by: ["query_name"] })).toEqual([["fraud", 2]]);
  });

  test("a gauge has its samples, a histogram its values and the traces that lead to them", async () => {
    const memory = recording.gauge("worker.memory", "env_1", { deployment: "dpl_1" });
    memory.set(10);
    memory.set(30);
    const latency = recording.histogram("query.latency", "env_1", QUERY);
    latency.observe(0.2, "first");
    latency.observe(0.2, "second");
    latency.observe(5);
    latency.observe(0, "nothing");
    const [bucket] = (await reader.read(selection("worker.memory"))).groups[0]?.buckets ?? [];
    expect(bucket).toMatchObject({ count: 2, sum: 40, min: 10, max: 30 });
    const traced = [
      ["second", 0.2],
      ["nothing", 0],
    ];
    expect(await exemplars()).toEqual(traced);
    await recording.flush();
    expect(await exemplars()).toEqual(traced);
    expect(await exemplars({ filters: [{ label: "query_name", patterns: ["x"], isNegated: false }] })).toEqual([]);
  });

  test("traces of values that were handed over are found by the recording of the next start, each once", async () => {
    const latency = recording.histogram("query.latency", "env_1", QUERY);
    latency.observe(0.2, "first");
    await recording.flush();
    now += HOUR;
    latency.observe(0.3, "later");
    await recording.flush();
    recording.end();
    recording = createMetricRecorder({ store: async () => store, clock, log: SILENT });
    reader = createMetricReader({ store: async () => store, recording, features: { unwritten: () => [] } });
    const kept = [
      ["later", 0.3],
      ["first", 0.2],
    ];
    const range = { before: T0 + 2 * HOUR };
    expect(await exemplars(range)).toEqual(kept);
    recording.histogram("query.latency", "env_1", QUERY).observe(5, "now");
    expect(await exemplars(range)).toEqual([["now", 5], ...kept]);
    expect(
      await exemplars({ ...range, by: ["query_name"], filters: [{ label: "deployment", patterns: ["dpl_2"], isNegated: false }] }),
    ).toEqual([]);
  });

  test("beyond the bound of a metric's series the rest is counted as other, and how often that was", async () => {
    for (let n = 0; n < MAX_SERIES + 50; n++) recording.counter("query.count", "env_1", { ...QUERY, query_name: `q${n}` }).add();
    expect(recording.series({ environmentId: "env_1", metric: "query.count" })).toHaveLength(MAX_SERIES);
    const all = { by: ["query_name"], maxGroups: MAX_SERIES };
    const found = new Map((await totals("query.count", all)) as [string, number][]);
    expect([found.get("q0"), found.get(`q${MAX_SERIES}`), found.get(OTHER_LABEL)]).toEqual([1, undefined, 51]);
    expect(await totals("telemetry.dropped", { environmentId: SERVER_SCOPE, by: ["signal"] })).toEqual([["metric_series", 51]]);
  });

  test("a series that is idle gives its place to others, and begins anew; what it had counts on", async () => {
    const count = recording.counter("query.count", "env_1", QUERY);
    count.add(4);
    await recording.flush();
    now += 2 * HOUR;
    await recording.flush();
    await recording.flush();
    expect(recording.series({ environmentId: "env_1", metric: "query.count" })).toEqual([]);
    expect(recording.sinceStart("query.count").sum).toBe(4);
    count.add(3);
    expect(recording.sinceStart("query.count").sum).toBe(7);
    expect(recording.series({ environmentId: "env_1", metric: "query.count" })).toHaveLength(1);
  });

  test("what samplers find is recorded, and one that fails harms no other", async () => {
    recording.sample(() => {
      throw new Error("no");
    });
    recording.sample(async () => recording.gauge("worker.memory", "env_1", { deployment: "dpl_1" }).set(7));
    await recording.flush();
    expect(await totals("worker.memory")).toEqual([[7]]);
  });

  test("rows that the store does not take are dropped, said once and counted", async () => {
    isBroken = true;
    recording.counter("query.count", "env_1", QUERY).add();
    await recording.flush();
    recording.counter("query.count", "env_1", QUERY).add();
    await recording.flush();
    expect(said).toEqual(["metrics could not be written"]);
    isBroken = false;
    expect(await totals("query.count")).toEqual([]);
    expect(recording.sinceStart("telemetry.dropped").sum).toBe(3);
  });

  test("values of labels are those of the store and of memory", async () => {
    recording.counter("query.count", "env_1", QUERY).add();
    await recording.flush();
    recording.counter("query.count", "env_1", { ...QUERY, query_name: "credit" }).add();
    expect(await reader.labelValues({ environmentId: "env_1", metric: "query.count", label: "query_name", limit: 9 })).toEqual([
      "credit",
      "fraud",
    ]);
  });
});
