/** What every store of metrics does, whatever keeps its buckets. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExponentialHistogram } from "../../../../src/domain/metrics/exponential-histogram.ts";
import { NumberSketch } from "../../../../src/domain/metrics/value-sketch.ts";
import type { FeatureHour, FeatureStats } from "../../../../src/server/stores/metrics/feature-stats.ts";
import { mergedSketches } from "../../../../src/server/stores/metrics/feature-stats-table.ts";
import type { MetricBucket, MetricRow, MetricSelection, MetricStore } from "../../../../src/server/stores/metrics/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { METRIC_DRIVERS } from "./drivers.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A full day. */
const T0 = Date.UTC(2026, 0, 5);

const histogramOf = (values: readonly number[]): ExponentialHistogram => {
  const histogram = new ExponentialHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
};

const row = (at: number, values: readonly number[], labels: Record<string, string> = {}, more: Partial<MetricRow> = {}): MetricRow => ({
  environmentId: "env_1",
  metric: "query.latency",
  labels: { query_name: "", ...labels },
  bucket: {
    at,
    count: values.length,
    sum: values.reduce((sum, value) => sum + value, 0),
    min: Math.min(...values),
    max: Math.max(...values),
    histogram: histogramOf(values).encode(),
  },
  ...more,
});

const selection = (more: Partial<MetricSelection> = {}): MetricSelection => ({
  environmentId: "env_1",
  metric: "query.latency",
  filters: [],
  by: [],
  from: T0,
  before: T0 + DAY,
  stepMs: MINUTE,
  maxGroups: 100,
  ...more,
});

const figures = ({ at, count, sum, min, max }: MetricBucket): readonly number[] => [at - T0, count, sum, min, max];

describe.each(METRIC_DRIVERS)("store of metrics: $name", (driver) => {
  let folder: TempFolder;
  let store: MetricStore;
  let now: number;

  const open = async (): Promise<void> => {
    store = await driver.open(folder.path, { now: () => now });
  };
  beforeEach(async () => {
    folder = new TempFolder();
    now = T0 + DAY;
    await open();
  });
  afterEach(async () => {
    await store.close();
    folder[Symbol.dispose]();
  });

  /** A store of its own, at T0. */
  const opened = async (own: TempFolder) => {
    const made = await driver.open(own.path, { now: () => T0 });
    return Object.assign(made, { [Symbol.asyncDispose]: () => made.close() });
  };
  const read = async (more: Partial<MetricSelection> = {}) => (await store.read(selection(more))).groups;
  const only = async (more: Partial<MetricSelection> = {}) => (await read(more))[0]?.buckets.map(figures);

  test("a bucket is found by a read that comes after, before its append has resolved, and after a restart", async () => {
    const appended = store.append([row(T0, [1, 2]), row(T0 + MINUTE, [5])]);
    expect(await only()).toEqual([
      [0, 2, 3, 1, 2],
      [MINUTE, 1, 5, 5, 5],
    ]);
    await appended;
    if (!driver.isDurable) return;
    await store.close();
    await open();
    expect(await only()).toHaveLength(2);
  });

  test("a bucket of a minute that is there is merged, and so are rows that are not appended", async () => {
    await store.append([row(T0, [1, 8])]);
    await store.append([row(T0, [4]), row(T0, [0.5])]);
    const { groups } = await store.read(selection(), [row(T0, [16]), row(T0 + DAY, [99])]);
    const [bucket] = groups[0]?.buckets ?? [];
    expect(figures(bucket as MetricBucket)).toEqual([0, 5, 29.5, 0.5, 16]);
    expect(ExponentialHistogram.decode(bucket?.histogram as Uint8Array).buckets()).toEqual(histogramOf([1, 8, 4, 0.5, 16]).buckets());
    expect(await only()).toEqual([[0, 4, 13.5, 0.5, 8]]);
  });

  test("counters have no histogram", async () => {
    await store.append([row(T0, [3], {}, { metric: "query.count", bucket: { at: T0, count: 1, sum: 3, min: 3, max: 3 } })]);
    expect((await read({ metric: "query.count" }))[0]?.buckets).toEqual([{ at: T0, count: 1, sum: 3, min: 3, max: 3 }]);
  });

  test("a range has what begins in it; other metrics and environments are left out", async () => {
    await store.append([
      row(T0, [1]),
      row(T0 + MINUTE, [2]),
      row(T0 + 2 * MINUTE, [3]),
      row(T0 + MINUTE, [9], {}, { environmentId: "env_2" }),
      row(T0 + MINUTE, [9], {}, { metric: "http.latency" }),
    ]);
    expect(await only({ from: T0 + MINUTE, before: T0 + 2 * MINUTE })).toEqual([[MINUTE, 1, 2, 2, 2]]);
    expect(await read({ metric: "store.latency" })).toEqual([]);
  });

  test("labels select by patterns, and group", async () => {
    const names = ["fraud", "fraud_eu", "credit", "", "a*b"];
    await store.append(names.map((query_name, at) => row(T0, [at + 1], { query_name, branch: at % 2 === 0 ? "" : "dev" })));
    const named = async (...patterns: string[]) =>
      (await read({ by: ["query_name"], filters: [{ label: "query_name", patterns, isNegated: false }] })).map(
        ({ labels }) => labels.query_name,
      );
    expect(await named("fraud")).toEqual(["fraud"]);
    expect(await named("fraud*", "cre*t")).toEqual(["credit", "fraud", "fraud_eu"]);
    expect(await named("*")).toEqual(["", "a*b", "credit", "fraud", "fraud_eu"]);
    expect(await named("*a*d*")).toEqual(["fraud", "fraud_eu"]);
    expect(await named("")).toEqual([""]);
    expect(await named("fra*aud")).toEqual([]);
    const negated = await read({ by: ["branch"], filters: [{ label: "query_name", patterns: ["fraud*"], isNegated: true }] });
    expect(negated.map(({ labels, buckets }) => [labels, buckets[0]?.sum])).toEqual([
      [{ branch: "" }, 8],
      [{ branch: "dev" }, 4],
    ]);
  });

  test("of too many groups those with the most records are given, and the rest is counted", async () => {
    const rows = [1, 5, 2, 4, 3].map((count, at) => row(T0, new Array<number>(count).fill(1), { query_name: `q${at}` }));
    await store.append(rows);
    const { groups, omitted } = await store.read(selection({ by: ["query_name"], maxGroups: 2 }), [
      row(T0, new Array<number>(9).fill(1), { query_name: "q0" }),
    ]);
    expect([groups.map(({ labels }) => labels.query_name), omitted]).toEqual([["q0", "q1"], 3]);
  });

  test("values of a label, in order and bounded", async () => {
    await store.append(["b", "c", "a"].map((query_name) => row(T0, [1], { query_name })));
    const of = { environmentId: "env_1", metric: "query.latency", label: "query_name" };
    expect(await store.labelValues({ ...of, limit: 10 })).toEqual(["a", "b", "c"]);
    expect(await store.labelValues({ ...of, limit: 2 })).toEqual(["a", "b"]);
    expect(await store.labelValues({ ...of, environmentId: "env_2", limit: 2 })).toEqual([]);
  });

  test("what a selection gives is what a plain loop over all values gives", async () => {
    const value = fc.double({ min: 0.001, max: 1000, noNaN: true });
    const record = fc.record({
      minute: fc.integer({ min: 0, max: 300 }),
      name: fc.constantFrom("a", "b", "c"),
      values: fc.array(value, { minLength: 1, maxLength: 4 }),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 20 }),
        fc.constantFrom(1, 5, 10, 30, 60, 120),
        async (records, minutes) => {
          const environmentId = `env_random_${run++}`;
          await store.append(
            records.map(({ minute, name, values }) => row(T0 + minute * MINUTE, values, { query_name: name }, { environmentId })),
          );
          const stepMs = minutes * MINUTE;
          const { groups } = await store.read(selection({ environmentId, by: ["query_name"], stepMs }));
          const expected = new Map<string, number[]>();
          for (const { minute, name, values } of records) {
            const key = `${name} ${Math.floor((minute * MINUTE) / stepMs) * stepMs}`;
            expected.set(key, [...(expected.get(key) ?? []), ...values]);
          }
          const found = groups.flatMap(({ labels, buckets }) =>
            buckets.map((bucket) => [`${labels.query_name} ${bucket.at - T0}` as string, bucket] as const),
          );
          expect(found.map(([key]) => key).sort()).toEqual([...expected.keys()].sort());
          for (const [key, { count, sum, min, max, histogram }] of found) {
            const values = (expected.get(key) ?? []).sort((one, other) => one - other);
            expect([count, min, max]).toEqual([values.length, values[0] as number, values.at(-1) as number]);
            expect(sum).toBeCloseTo(
              values.reduce((total, one) => total + one, 0),
              6,
            );
            const median = ExponentialHistogram.decode(histogram as Uint8Array).quantile(0.5) as number;
            const exact = values[Math.ceil(values.length / 2) - 1] as number;
            expect(Math.abs(median / exact - 1)).toBeLessThan(0.091);
          }
        },
      ),
      seeded(30, 2_000),
    );
  });

  test("old minutes go after two days and old ten minutes after thirty, and nothing is lost of what is longer", async () => {
    const at = (ago: number) => now - ago;
    const ages = [HOUR, 3 * DAY, 40 * DAY, 400 * DAY];
    await store.append(ages.flatMap((age) => [row(at(age), [1]), row(at(age) + 20 * MINUTE, [2])]));
    await store.thin(now);
    const range = { from: T0 - 500 * DAY, before: now };
    expect((await only({ ...range, stepMs: MINUTE }))?.map(([time, count]) => [DAY + -(time as number), count])).toEqual([
      [40 * DAY, 2],
      [3 * DAY, 1],
      [3 * DAY - 20 * MINUTE, 1],
      [HOUR, 1],
      [40 * MINUTE, 1],
    ]);
    expect((await only({ ...range, stepMs: HOUR }))?.map(([, count]) => count)).toEqual([2, 2, 2]);
    expect((await only({ ...range, stepMs: DAY }))?.map(([, count]) => count)).toEqual([2, 2, 2]);
    await store.append([row(at(3 * DAY), [7])]);
    expect((await only({ ...range, stepMs: MINUTE }))?.map(([, count]) => count)).toEqual([2, 2, 1, 1, 1]);
  });

  test("packing changes no answer, whatever comes late, and what is packed goes by its age", async () => {
    const record = fc.record({
      at: fc.integer({ min: 0, max: 40 * 60 }).map((minute) => T0 - 5 * DAY + minute * MINUTE),
      name: fc.constantFrom("a", "b", "c"),
      values: fc.array(fc.double({ min: 0.001, max: 1000, noNaN: true }), { minLength: 1, maxLength: 3 }),
    });
    const environmentId = "env_1";
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 20 }),
        fc.array(record, { maxLength: 10 }),
        fc.constantFrom(10, 60, 120),
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 3 }),
        async (early, late, minutes, hours, maxGroups) => {
          using own = new TempFolder();
          await using store = await opened(own);
          const rowsOf = (records: typeof early) => records.map(({ at, name, values }) => row(at, values, { query_name: name }));
          const whole = { environmentId, by: ["query_name"], stepMs: minutes * MINUTE, from: T0 - 6 * DAY, before: T0 };
          const part = { ...whole, from: T0 - 5 * DAY + hours * HOUR, before: T0 - 5 * DAY + (hours + 9) * HOUR, maxGroups };
          const answers = async () =>
            (await Promise.all([whole, part].map((one) => store.read(selection(one))))).map(({ groups, omitted }) => ({
              omitted,
              groups: groups.map(({ labels, buckets }) => ({
                labels,
                buckets: buckets.map(({ sum, histogram, ...bucket }) => ({
                  ...bucket,
                  sum: sum.toPrecision(9),
                  histogram: ExponentialHistogram.decode(histogram as Uint8Array).buckets(),
                })),
              })),
            }));
          await store.append(rowsOf(early));
          await store.thin(T0);
          await store.append(rowsOf(late));
          const { buckets } = await store.figures();
          const unpacked = await answers();
          const expected = new Map<string, number>();
          for (const { at, name, values } of [...early, ...late]) {
            const key = `${name} ${Math.floor(at / whole.stepMs) * whole.stepMs}`;
            expected.set(key, (expected.get(key) ?? 0) + values.length);
          }
          const found = unpacked[0]?.groups.flatMap(({ labels, buckets }) =>
            buckets.map(({ at, count }) => [`${labels.query_name} ${at}`, count] as const),
          );
          expect(new Map<string, number>(found)).toEqual(expected);
          await store.thin(T0);
          expect(await answers()).toEqual(unpacked);
          expect((await store.figures()).buckets).toBeLessThanOrEqual(buckets);
          const limit = T0 - 5 * DAY + hours * HOUR;
          await store.limit({ maxBytes: undefined, maxAgeMs: T0 - limit });
          const { groups } = await store.read(selection({ ...whole, stepMs: HOUR }));
          const times = groups.flatMap(({ labels, buckets }) => buckets.map(({ at }) => `${labels.query_name} ${at}`));
          const kept = [...early, ...late]
            .map(({ at, name }) => [name, Math.floor(at / HOUR) * HOUR] as const)
            .filter(([, at]) => at >= limit);
          expect(times.sort()).toEqual([...new Set(kept.map(([name, at]) => `${name} ${at}`))].sort());
          await store.forgetEnvironment(environmentId);
          expect((await store.figures()).buckets).toBe(0);
        },
      ),
      seeded(30, 2_000),
    );
  });

  test("it keeps to limits that are set, until they are taken back", async () => {
    const before = await store.figures();
    expect(before).toMatchObject({ maxBytes: before.defaultMaxBytes, maxAgeMs: before.defaultMaxAgeMs, series: 0, buckets: 0 });
    const names = Array.from({ length: 40 }, (_, at) => `query ${at}`);
    for (let hour = 0; hour < 24; hour++)
      await store.append(
        names.flatMap((query_name) => [0, 1, 2].map((minute) => row(T0 + hour * HOUR + minute * MINUTE, [1], { query_name }))),
      );
    const full = await store.figures();
    expect([full.series, full.buckets]).toEqual([40, 40 * 24 * (3 + 1 + 1)]);
    await store.limit({ maxBytes: full.bytes / 2, maxAgeMs: 12 * HOUR });
    const limited = await store.figures();
    expect(limited).toMatchObject({ maxBytes: full.bytes / 2, maxAgeMs: 12 * HOUR });
    expect(limited.bytes).toBeLessThanOrEqual(full.bytes / 2);
    const left = (await only({ stepMs: HOUR })) ?? [];
    expect([left.length > 0, left.at(-1)?.[0], left[0]?.[0] as number]).toEqual([true, 23 * HOUR, expect.any(Number)]);
    expect(left[0]?.[0]).toBeGreaterThanOrEqual(12 * HOUR);
    await store.limit({ maxBytes: undefined, maxAgeMs: undefined });
    expect(await store.figures()).toMatchObject({ maxBytes: before.maxBytes, maxAgeMs: before.maxAgeMs });
  });

  test("traces of the greatest values are found by labels and time, for seven days", async () => {
    const traced = (
      at: number,
      values: readonly number[],
      labels: Record<string, string> = {},
      more: Partial<MetricRow> = {},
    ): MetricRow => ({
      ...row(at, values, labels, more),
      exemplars: values.map((value) => ({ value, traceId: `t${value}`, at: at + 1 })),
    });
    const found = async (more: Partial<MetricSelection> = {}) =>
      (await store.exemplars(selection(more)))
        .map(
          ({ exemplars, labels: { query_name = "all" } }) =>
            [query_name, exemplars.map(({ at, traceId }) => `${traceId} ${at - T0}`)] as const,
        )
        .sort(([one], [other]) => (one < other ? -1 : 1));
    await store.append([traced(T0, [1, 1.5, 8]), traced(T0 + MINUTE, [1.2, 9, 0]), traced(T0 + HOUR, [1.1])]);
    await store.append([traced(T0, [3], { query_name: "a" }), traced(T0, [4], {}, { environmentId: "env_2" })]);
    await store.append([{ ...row(T0, [1]), exemplars: [{ value: Number.NaN, traceId: "none", at: T0 }] }]);
    expect(await found({ by: ["query_name"] })).toEqual([
      ["", ["t9 60001", "t1.5 1", "t1.1 3600001", "t0 60001"]],
      ["a", ["t3 1"]],
    ]);
    expect(await found()).toEqual([["all", ["t9 60001", "t3 1", "t1.5 1", "t1.1 3600001", "t0 60001"]]]);
    expect(await found({ filters: [{ label: "query_name", patterns: ["a"], isNegated: false }] })).toEqual([["all", ["t3 1"]]]);
    expect(await found({ from: T0 + 2, before: T0 + HOUR })).toEqual([["all", ["t9 60001", "t0 60001"]]]);
    await store.append(Array.from({ length: 30 }, (_, hour) => traced(T0 - 6 * DAY + hour * HOUR, [hour + 1])));
    const [group] = await store.exemplars(selection({ from: T0 - 7 * DAY, before: T0 }));
    expect(group?.exemplars.map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, at) => 30 - at));
    await store.thin(T0 + 7 * DAY);
    expect(await found({ from: T0 - 7 * DAY, before: T0 })).toEqual([]);
    expect(await found({ by: ["query_name"] })).toHaveLength(2);
    await store.thin(T0 + 7 * DAY + HOUR);
    expect(await found()).toEqual([["all", ["t1.1 3600001"]]]);
    await store.forgetEnvironment("env_1");
    expect(await found()).toEqual([]);
    await store.limit({ maxBytes: undefined, maxAgeMs: HOUR });
    expect(await found({ environmentId: "env_2" })).toEqual([]);
  });

  test("traces go beyond the bound of size too", async () => {
    const names = Array.from({ length: 400 }, (_, at) => `query ${at}`);
    const traced = (at: number) =>
      names.map((query_name) => ({
        ...row(at, [1], { query_name }),
        exemplars: [1, 2, 4, 8].map((value) => ({ value, traceId: `${value}`.repeat(32), at })),
      }));
    for (let hour = 0; hour < 24; hour++) await store.append(traced(T0 + hour * HOUR));
    const full = await store.figures();
    await store.limit({ maxBytes: full.bytes / 2, maxAgeMs: undefined });
    expect((await store.figures()).bytes).toBeLessThanOrEqual(full.bytes / 2);
    const left = (await store.exemplars(selection())).flatMap(({ exemplars }) => exemplars.map(({ at }) => at));
    expect([left.length, Math.min(...left) > T0]).toEqual([20, true]);
  });

  test("an environment is forgotten, and may begin anew", async () => {
    await store.append([row(T0, [1]), row(T0, [2], {}, { environmentId: "env_2" })]);
    await store.forgetEnvironment("env_1");
    expect([await read(), await only({ environmentId: "env_2" })]).toEqual([[], [[0, 1, 2, 2, 2]]]);
    await store.append([row(T0, [3])]);
    expect(await only()).toEqual([[0, 1, 3, 3, 3]]);
  });

  test("statistics of features merge by hour, are listed, and go after 30 days or with their environment", async () => {
    const hour = (feature: string, at: number, values: readonly number[], environmentId = "env_1"): FeatureStats => {
      const sketch = new NumberSketch();
      for (const value of values) sketch.record(value);
      const ages = histogramOf(values.map(() => 60)).encode();
      return { environmentId, feature, at, count: values.length + 1, nulls: 1, errors: 0, ages, sketch: sketch.toJSON() };
    };
    await store.addFeatureStats([hour("user.age", T0, [1, 2]), hour("user.age", T0, [3]), hour("user.age", T0 + HOUR, [4])]);
    await store.addFeatureStats([hour("user.age", T0, [5], "env_2"), hour("user.age", T0 - 40 * DAY, [6])]);
    const of = { environmentId: "env_1", feature: "user.age", from: T0 - 100 * DAY, before: T0 + DAY };
    const [, first, second] = await store.featureStats(of);
    expect([first?.count, first?.nulls, second?.count]).toEqual([5, 2, 2]);
    expect(ExponentialHistogram.decode(first?.ages as Uint8Array).count).toBe(3);
    const merged = mergedSketches([first, second] as FeatureHour[]);
    expect([merged?.count, merged?.kind]).toEqual([4, "number"]);
    const listed = (before: number) => store.featuresWithStats({ from: T0, before, limit: 10 });
    expect((await listed(T0 + 1)).map(({ environmentId }) => environmentId)).toEqual(["env_1", "env_2"]);
    expect(await listed(T0)).toEqual([]);
    await store.thin(now);
    expect((await store.featureStats(of)).map(({ at }) => at)).toEqual([T0, T0 + HOUR]);
    await store.forgetEnvironment("env_1");
    expect(await store.featureStats(of)).toEqual([]);
    expect(await listed(T0 + 1)).toHaveLength(1);
  });

  test("a probe leaves nothing", async () => {
    await store.probe();
    expect(await store.figures()).toMatchObject({ series: 0, buckets: 0 });
  });
});
