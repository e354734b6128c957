/** What is recorded of answers: counts of every value, statistics of some. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { createFeatureRecorder, type FeatureRecorder } from "../../../src/server/metrics/feature-recorder.ts";
import { createMetricReader, type MetricReader } from "../../../src/server/metrics/reader.ts";
import { createMetricRecorder, type MetricRecording } from "../../../src/server/metrics/recorder.ts";
import { createEngine } from "../../../src/server/query/create-engine.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";
import type { MetricStore } from "../../../src/server/stores/metrics/store.ts";
import { featureClass, graph, python } from "./graphs.ts";
import { ask, World } from "./worlds.ts";

let now = Date.UTC(2026, 0, 5, 12, 30);
const clock = { now: () => now, sleep: (ms: number) => Bun.sleep(ms) };
const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
let store: MetricStore;
let metrics: MetricRecording;
let features: FeatureRecorder;
let reader: MetricReader;
let query: (id: number, outputs: readonly string[]) => Promise<void>;

beforeEach(async () => {
  now = Date.UTC(2026, 0, 5, 12, 30);
  store = createSqliteMetricStore({ path: ":memory:", programVersion: "1", clock });
  metrics = createMetricRecorder({ store: async () => store, clock, log });
  features = createFeatureRecorder({ store: async () => store, clock, log, metrics });
  reader = createMetricReader({ store: async () => store, recording: metrics, features });
  const user = featureClass("user", {
    id: { type: "int", primary: true },
    score: { type: "float", stale: "infinity" },
    color: "str?",
    broken: "int",
  });
  const world = new World(
    graph(
      [user],
      [
        python("of.score", ["user.id"], ["user.score"]),
        python("of.color", ["user.id"], ["user.color"]),
        python("of.broken", ["user.id"], ["user.broken"]),
      ],
    ),
    {
      python: {
        "of.score": ([id]) => Number(id) * 1.5,
        "of.color": ([id]) => (Number(id) % 2 === 0 ? null : "red"),
        "of.broken": () => "no number",
      },
    },
  );
  const engine = createEngine({ clock, log, metering: { metrics, operation: "online", features } });
  query = async (id, outputs) => {
    await engine.answer(world.deployment, ask({ "user.id": BigInt(id) }, outputs), now);
  };
});
afterEach(async () => {
  metrics.end();
  await features.close();
  await store.close();
});

const sumOf = (metric: "feature.request_count" | "feature.hit" | "feature.null" | "feature.errors", feature: string): number =>
  metrics
    .series({ environmentId: "env_1", metric })
    .filter(({ labels }) => labels.feature === feature)
    .reduce((sum, series) => sum + series.sinceStart().sum, 0);

test("every value is counted, whatever plan it came of and however the series are read", async () => {
  for (let id = 1; id <= 10; id++) {
    await query(id, ["user.score", "user.color"]);
    await query(id, ["user.score", "user.broken"]);
  }
  expect(sumOf("feature.request_count", "user.score")).toBe(20);
  expect(sumOf("feature.hit", "user.score")).toBe(10);
  expect([sumOf("feature.request_count", "user.color"), sumOf("feature.null", "user.color")]).toEqual([10, 5]);
  expect([sumOf("feature.request_count", "user.broken"), sumOf("feature.errors", "user.broken")]).toEqual([10, 10]);
  await query(1, ["user.score"]);
  expect(metrics.sinceStart("feature.request_count").sum).toBe(41);
  await query(1, ["user.score"]);
  const selection = { environmentId: "env_1", metric: "feature.request_count", filters: [], by: [], from: 0, before: now + 60_000 };
  const { groups } = await reader.read({ ...selection, stepMs: 60_000, maxGroups: 1 });
  expect(groups[0]?.buckets.map(({ sum }) => sum)).toEqual([42]);
});

test("statistics of the hour are read before they are stored, once", async () => {
  for (let id = 1; id <= 6; id++) await query(id, ["user.color"]);
  const read = () => reader.featureStats("env_1", "user.color", 0, Number.MAX_SAFE_INTEGER);
  const expected = { count: 6, nulls: 3, errors: 0, sketch: { kind: "values" as const, total: 3, values: [["red", 3]] } };
  const hour = { at: Date.UTC(2026, 0, 5, 12), ...expected };
  expect(await read()).toMatchObject([hour]);
  const flushed = features.flush();
  expect(await read()).toMatchObject([hour]);
  await flushed;
  expect(await read()).toMatchObject([hour]);
  for (let id = 1; id <= 6; id++) await query(id, ["user.color"]);
  expect(await read()).toMatchObject([{ count: 12, nulls: 6, sketch: { total: 6 } }]);
});

test("sampling costs the logarithm of the queries, and goes on in each period", async () => {
  await query(1, ["user.score"]);
  const sampled = async (queries: number): Promise<number> => {
    const before = metrics.sinceStart("feature.age").count;
    for (let n = 0; n < queries; n++) await query(1, ["user.score"]);
    metrics.collect();
    return metrics.sinceStart("feature.age").count - before;
  };
  expect(await sampled(15)).toBe(15);
  const first = await sampled(3_000);
  const second = await sampled(3_000);
  expect(first).toBeGreaterThan(60);
  expect(first).toBeLessThan(300);
  expect(second).toBeGreaterThan(20);
  expect(second).toBeLessThan(100);
  for (let period = 0; period < 12; period++) await sampled(1);
  expect(await sampled(10)).toBe(10);
  expect(sumOf("feature.request_count", "user.score")).toBe(1 + 15 + 6_000 + 12 + 10);
});
