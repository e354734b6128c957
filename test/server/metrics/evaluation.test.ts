/**
 * Values of expressions over the real store, compared with plain loops over everything that was
 * recorded.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExponentialHistogram } from "../../../src/domain/metrics/exponential-histogram.ts";
import { parseMetricExpression } from "../../../src/domain/metrics/expression.ts";
import { METRICS, type MetricName } from "../../../src/domain/metrics/metric.ts";
import { Failure } from "../../../src/server/failure.ts";
import { type Evaluation, evaluateMetrics, type MetricQuestion } from "../../../src/server/metrics/evaluation.ts";
import type { MetricReader } from "../../../src/server/metrics/reader.ts";
import type { MetricRow, MetricSelection, MetricStore } from "../../../src/server/stores/metrics/store.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { seeded } from "../../harness/seed.ts";
import { METRIC_DRIVERS } from "../stores/metrics/drivers.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2026, 0, 5);
const NOW = T0 + 3 * HOUR + 30_000;

/** One thing that was recorded. */
interface Recorded {
  readonly environmentId: string;
  readonly metric: MetricName;
  readonly labels: Readonly<Record<string, string>>;
  readonly at: number;
  readonly value: number;
}

/** The rows of minutes that a recorder would hand over. */
function rowsOf(all: readonly Recorded[]): MetricRow[] {
  const rows = new Map<string, Recorded[]>();
  for (const one of all) {
    const key = JSON.stringify([one.environmentId, one.metric, one.labels, Math.floor(one.at / MINUTE)]);
    rows.set(key, [...(rows.get(key) ?? []), one]);
  }
  return [...rows.values()].map((same) => {
    const [{ at, environmentId, labels, metric }] = same as [Recorded];
    const values = same.map(({ value }) => value);
    const histogram = new ExponentialHistogram();
    for (const value of values) histogram.record(value);
    const sums = { count: values.length, sum: values.reduce((sum, value) => sum + value, 0) };
    const bounds = { min: Math.min(...values), max: Math.max(...values) };
    const isHistogram = METRICS[metric].kind === "histogram";
    const bucket = { at: Math.floor(at / MINUTE) * MINUTE, ...sums, ...bounds, ...(isHistogram && { histogram: histogram.encode() }) };
    return { environmentId, metric, labels, bucket };
  });
}

const folder = new TempFolder();
let store: MetricStore;
const selections: MetricSelection[] = [];
const reader: Pick<MetricReader, "read"> = {
  read: (selection) => {
    selections.push(selection);
    return store.read(selection);
  },
};
beforeAll(async () => {
  store = await (METRIC_DRIVERS[1] as (typeof METRIC_DRIVERS)[number]).open(folder.path, { now: () => NOW });
});
afterAll(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

let environments = 0;
/** Records everything in an environment of its own, and says which. */
async function recorded(all: readonly Omit<Recorded, "environmentId">[]): Promise<string> {
  const environmentId = `env_${++environments}`;
  await store.append(rowsOf(all.map((one) => ({ ...one, environmentId }))));
  return environmentId;
}

const ask = (environmentId: string, text: string | readonly string[], more: Partial<MetricQuestion> = {}): Promise<Evaluation> =>
  evaluateMetrics(reader, {
    environmentId,
    expressions: [text].flat().map(parseMetricExpression),
    ...{ from: T0, before: T0 + 3 * HOUR, now: NOW },
    ...more,
  });

/** The one series of an answer without groups. */
const values = ({ answers }: Evaluation) => answers[0]?.series[0]?.values;

const QUERY = { query_name: "", deployment: "", branch: "" };
const latency = (at: number, value: number, labels: object = {}) =>
  ({ metric: "query.latency", labels: { ...QUERY, ...labels }, at: T0 + at, value }) as const;
const count = (at: number, value: number, labels: object = {}) =>
  ({ metric: "query.count", labels: { ...QUERY, ...labels }, at: T0 + at, value }) as const;
const failed = (at: number, value: number, labels: object = {}) =>
  ({ metric: "query.errors", labels: { ...QUERY, code: "x", ...labels }, at: T0 + at, value }) as const;

describe("every function, against plain loops over everything recorded", () => {
  const NAMES = ["fraud", "score", "score_v2"] as const;
  const recordOf = (metric: MetricName, value: fc.Arbitrary<number>) =>
    fc.record({
      metric: fc.constant(metric),
      labels: fc.record(
        Object.fromEntries(
          METRICS[metric].labels.map((label) => [label, label === "query_name" ? fc.constantFrom(...NAMES) : fc.constantFrom("", "b")]),
        ),
      ),
      at: fc.integer({ min: T0 - DAY, max: T0 - DAY + 3 * HOUR - 1 }),
      value,
    }) as fc.Arbitrary<Omit<Recorded, "environmentId">>;
  const durations = fc.double({ min: 1e-6, max: 1e3, noNaN: true });

  /** What a function makes of values, apart from everything that the engine does. */
  const ORACLE: Readonly<Record<string, (values: readonly number[]) => number>> = {
    avg: (all) => all.reduce((sum, value) => sum + value, 0) / all.length,
    sum: (all) => all.reduce((sum, value) => sum + value, 0),
    min: (all) => Math.min(...all),
    max: (all) => Math.max(...all),
    count: (all) => all.length,
  };
  /** Bounds of a percentile: the values whose rank is the share, from both sides. */
  const ranked = (all: readonly number[], percent: number): readonly [number, number] => {
    const sorted = all.toSorted((one, other) => one - other);
    const rank = (percent / 100) * sorted.length;
    return [sorted[Math.max(0, Math.ceil(rank) - 1)] as number, sorted[Math.min(sorted.length - 1, Math.floor(rank))] as number];
  };

  const check = async (
    all: readonly Omit<Recorded, "environmentId">[],
    fn: string,
    metric: MetricName,
    { by, filter, step }: { readonly by: string; readonly filter: string; readonly step: number },
    combine: (values: readonly Omit<Recorded, "environmentId">[]) => number = (same) =>
      ORACLE[fn]?.(same.map(({ value }) => value)) ?? Number.NaN,
  ) => {
    const environmentId = await recorded(all);
    const text = `${fn}:${metric}${filter === "" ? "" : `{query_name:${filter}}`}${by === "" ? "" : ` by {${by}}`}.rollup(${step / MINUTE}m)`;
    const { answers, times } = await ask(environmentId, text, { from: T0 - DAY, before: T0 - DAY + 3 * HOUR });
    const keeps = (name = "") => (filter === "" ? true : filter === "!score*" ? !name.startsWith("score") : name === filter);
    const meant = all.filter((one) => one.metric === metric && keeps(one.labels.query_name));
    const groups = new Set(meant.map(({ labels }) => (by === "" ? "" : labels[by])));
    expect((answers[0]?.series ?? []).map(({ labels }) => (by === "" ? "" : labels[by]))).toEqual([...groups].sort());
    for (const series of answers[0]?.series ?? [])
      for (const [at, time] of times.entries()) {
        const same = meant.filter((one) => one.at >= time && one.at < time + step && (by === "" || one.labels[by] === series.labels[by]));
        const value = series.values[at];
        if (same.length === 0) expect(value).toBeUndefined();
        else if (!fn.startsWith("p")) expect(value).toBeCloseTo(combine(same), 6);
        if (same.length === 0 || !fn.startsWith("p")) continue;
        const [low, high] = ranked(
          same.map((one) => one.value),
          Number(fn.slice(1)),
        );
        expect(value).toBeGreaterThanOrEqual(low / 1.0906);
        expect(value).toBeLessThanOrEqual(high * 1.0906);
      }
  };
  const shapes = fc.record({
    by: fc.constantFrom("", "query_name", "branch"),
    filter: fc.constantFrom("", "fraud", "!score*"),
    step: fc.constantFrom(MINUTE, 5 * MINUTE, HOUR),
  });

  test("of a histogram", async () => {
    const fns = ["avg", "sum", "min", "max", "p99", "p95", "p75", "p50", "p25", "p5"];
    const records = fc.array(recordOf("query.latency", durations), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(records, shapes, fc.constantFrom(...fns), (all, shape, fn) => check(all, fn, "query.latency", shape)),
      seeded(60, 2_000),
    );
  });

  test("of a gauge, whose sum adds the means of its series", async () => {
    const records = fc.array(recordOf("worker.memory", fc.integer({ min: 0, max: 1e9 })), { minLength: 1, maxLength: 40 });
    const noFilter = shapes.map(({ by, step }) => ({ by: by === "" ? "" : "deployment", filter: "", step }));
    const bySeries = (same: readonly Omit<Recorded, "environmentId">[]) => {
      const names = new Set(same.map(({ labels }) => JSON.stringify(labels)));
      const mean = (name: string) =>
        ORACLE.avg?.(same.filter(({ labels }) => JSON.stringify(labels) === name).map(({ value }) => value)) ?? 0;
      return [...names].reduce((sum, name) => sum + mean(name), 0);
    };
    await fc.assert(
      fc.asyncProperty(records, noFilter, fc.constantFrom("avg", "min", "max", "sum"), (all, shape, fn) =>
        check(all, fn, "worker.memory", shape, fn === "sum" ? bySeries : undefined),
      ),
      seeded(40, 2_000),
    );
  });

  test("of a counter, where no server said that it ran", async () => {
    const records = fc.array(recordOf("query.count", fc.integer({ min: 1, max: 50 })), { minLength: 1, maxLength: 60 });
    const added = (same: readonly Omit<Recorded, "environmentId">[]) => same.reduce((sum, { value }) => sum + value, 0);
    await fc.assert(
      fc.asyncProperty(records, shapes, fc.constantFrom("sum", "count"), (all, shape, fn) => check(all, fn, "query.count", shape, added)),
      seeded(40, 2_000),
    );
  });
});

describe("what is counted", () => {
  const QUARTER = { from: T0, before: T0 + 6 * MINUTE };

  test("is 0 while a server ran, has no value while none did, and no group is made up", async () => {
    const environmentId = await recorded([count(0, 3), count(4 * MINUTE, 2, { query_name: "fraud" })]);
    const cpu = (at: number) => ({ environmentId: "", metric: "process.cpu" as const, labels: { node: "n" }, at: T0 + at, value: 0.1 });
    await store.append(rowsOf([0, 1, 2, 4].map((minute) => cpu(minute * MINUTE))));
    expect(values(await ask(environmentId, "sum:query.count", QUARTER))).toEqual([3, 0, 0, undefined, 2, undefined]);
    const { answers } = await ask(environmentId, "sum:query.count by {query_name}", QUARTER);
    expect(answers[0]?.series).toEqual([
      { labels: { query_name: "" }, values: [3, 0, 0, undefined, 0, undefined] },
      { labels: { query_name: "fraud" }, values: [0, 0, 0, undefined, 2, undefined] },
    ]);
    expect(values(await ask(environmentId, "sum:query.errors / sum:query.count", QUARTER))).toEqual([
      0,
      undefined,
      undefined,
      undefined,
      0,
      undefined,
    ]);
    expect((await ask(environmentId, "p99:query.latency", QUARTER)).answers).toEqual([{ series: [], omitted: 0 }]);
    expect(values(await ask(environmentId, "count:query.latency", QUARTER))).toEqual([0, 0, 0, undefined, 0, undefined]);
    const now = T0 + 5 * MINUTE + 10_000;
    expect(values(await ask(environmentId, "sum:query.count", { ...QUARTER, now }))?.at(-1)).toBe(0);
  });
});

describe("arithmetic", () => {
  test("goes group by group; what one side lacks is nothing that was counted", async () => {
    const environmentId = await recorded([
      count(HOUR, 10, { query_name: "a" }),
      count(HOUR, 4, { query_name: "b" }),
      failed(HOUR, 1, { query_name: "a" }),
      failed(HOUR, 3, { query_name: "c" }),
    ]);
    const cpu = { environmentId: "", metric: "process.cpu" as const, labels: { node: "n" }, at: T0 + HOUR, value: 0.1 };
    await store.append(rowsOf([cpu]));
    const range = { from: T0 + HOUR, before: T0 + HOUR + MINUTE };
    const seriesOf = async (text: string) =>
      (await ask(environmentId, text, range)).answers[0]?.series.map(({ labels, values: [value] }) => [labels.query_name ?? "", value]);
    expect(await seriesOf("sum:query.errors by {query_name} / sum:query.count by {query_name}")).toEqual([
      ["a", 0.1],
      ["b", 0],
      ["c", undefined],
    ]);
    expect(await seriesOf("sum:query.count by {query_name} / sum:query.count")).toEqual([
      ["a", 10 / 14],
      ["b", 4 / 14],
    ]);
    expect(await seriesOf("100 * (1 - sum:query.errors / sum:query.count)")).toEqual([["", 100 * (1 - 4 / 14)]]);
    expect(await seriesOf("sum:query.count - 2 * 3 / 4")).toEqual([["", 12.5]]);
    expect(await seriesOf("sum:query.count / 0")).toEqual([["", undefined]]);
  });

  test("reads each metric once, and no more groups than it answers with", async () => {
    selections.length = 0;
    await ask("env_none", ["p50:query.latency", "p50:query.latency / sum:query.count", "sum:query.count by {branch}"]);
    expect(selections.map(({ metric, by, maxGroups }) => [metric, by.length, maxGroups])).toEqual([
      ["process.cpu", 0, 1],
      ["query.latency", 0, 100],
      ["query.count", 0, 100],
      ["query.count", 1, 100],
    ]);
    selections.length = 0;
    await ask("env_none", "p50:query.latency by {branch}.rollup(1m)", { from: NOW - 33 * HOUR, before: NOW });
    expect(selections[0]?.maxGroups).toBe(30);
  });
});

describe("groups", () => {
  test("beyond a hundred are left out, those with the fewest records, and said", async () => {
    const environmentId = await recorded(
      Array.from({ length: 130 }, (_, at) =>
        Array.from({ length: at < 30 ? 1 : 2 }, () => latency(HOUR, 1, { query_name: `q${at}` })),
      ).flat(),
    );
    const { answers } = await ask(environmentId, "avg:query.latency by {query_name}");
    expect([answers[0]?.series.length, answers[0]?.omitted]).toEqual([100, 30]);
    expect(answers[0]?.series.some(({ labels }) => /^q[12]?\d$/.test(labels.query_name ?? ""))).toBe(false);
  });

  test("of a sum of gauges are refused when there are more series than can be read", async () => {
    const read: MetricReader["read"] = async ({ maxGroups }) => ({
      groups: Array.from({ length: maxGroups }, (_, at) => ({ labels: { deployment: `d${at}` }, buckets: [] })),
      omitted: 1,
    });
    const question = {
      environmentId: "e",
      expressions: [parseMetricExpression("sum:worker.memory")],
      from: T0,
      before: T0 + HOUR,
      now: NOW,
    };
    const refused = evaluateMetrics({ read }, question);
    expect(await refused.catch((error: unknown) => error)).toMatchObject({ kind: "resource_exhausted" });
  });
});

describe("periods", () => {
  const stepOf = async (rangeMs: number, more: Partial<MetricQuestion> = {}) => {
    const { stepMs, times } = await ask("env_none", "p50:query.latency", { from: NOW - rangeMs, before: NOW, ...more });
    return [stepMs / MINUTE, times.length];
  };

  test("are chosen by the range: at most 300 and one that is cut, multiples of those that are kept", async () => {
    expect(await stepOf(HOUR)).toEqual([1, 61]);
    expect(await stepOf(5 * HOUR)).toEqual([2, 151]);
    expect(await stepOf(DAY)).toEqual([5, 289]);
    expect(await stepOf(2 * DAY)).toEqual([10, 289]);
    expect(await stepOf(3 * DAY)).toEqual([20, 217]);
    expect(await stepOf(30 * DAY)).toEqual([180, 241]);
    expect(await stepOf(31 * DAY)).toEqual([180, 249]);
    expect(await stepOf(365 * DAY)).toEqual([2880, 184]);
    expect(await stepOf(MINUTE, { from: NOW - 5 * DAY, before: NOW - 5 * DAY + HOUR })).toEqual([10, 7]);
    expect(await stepOf(MINUTE, { from: NOW - 90 * DAY, before: NOW - 90 * DAY + HOUR })).toEqual([60, 2]);
  });

  test("begin at their multiples, or at the beginning of the range", async () => {
    const environmentId = await recorded([0, 3, 7, 12, 13, 17].map((minute) => latency(minute * MINUTE + 30_000, minute)));
    const range = { from: T0 + 3 * MINUTE, before: T0 + 18 * MINUTE };
    const whole = await ask(environmentId, "max:query.latency.rollup(5m)", range);
    expect([whole.times.map((time) => (time - T0) / MINUTE), values(whole)]).toEqual([
      [0, 5, 10, 15],
      [3, 7, 13, 17],
    ]);
    const shifted = await ask(environmentId, ["max:query.latency.rollup(5m)", "count:query.latency.rollup(5m)"], {
      ...range,
      startsAtOrigin: true,
    });
    expect([shifted.times.map((time) => (time - T0) / MINUTE), values(shifted)]).toEqual([
      [3, 8, 13],
      [7, 12, 17],
    ]);
    expect(shifted.answers[1]?.series[0]?.values).toEqual([2, 1, 2]);
  });

  test("that are not over are said, or left out, and none is of the future", async () => {
    const range = { from: NOW - 10 * MINUTE, before: NOW + HOUR };
    const all = await ask("env_none", "p50:query.latency.rollup(5m)", range);
    expect([all.times.map((time) => (NOW - time) / 1000), all.isIncomplete]).toEqual([[630, 330, 30], true]);
    const over = await ask("env_none", "p50:query.latency.rollup(5m)", { ...range, excludesIncomplete: true });
    expect([over.times.length, over.isIncomplete]).toEqual([2, false]);
    const past = await ask("env_none", "p50:query.latency.rollup(5m)", { ...range, before: NOW - 40_000, excludesIncomplete: true });
    expect([past.times.length, past.isIncomplete]).toEqual([2, false]);
    expect((await ask("env_none", "sum:query.count", { from: NOW + HOUR, before: NOW + 2 * HOUR })).times).toEqual([]);
  });

  test.each([
    [{ from: T0, before: T0 }, "The beginning of the range is not before its end."],
    [{ from: T0 - 2_000 * DAY, before: T0 }, "The range is longer than five years."],
    [{ from: -9e18, before: -9e18 + DAY, stepMs: MINUTE }, "The range begins before 1970."],
    [{ stepMs: Number.POSITIVE_INFINITY }, "Periods of infinity are not possible"],
    [{ stepMs: 0 }, "Periods of 0s are not possible"],
    [{ stepMs: 90_500 }, "Periods of 1m30s500ms are not possible: they have 10s to 366d."],
    [{ stepMs: MINUTE, from: NOW - 40 * HOUR, before: NOW }, "it makes 2401 points of the range, and 2000 are the most"],
    [{ stepMs: 5 * MINUTE, from: NOW - 3 * DAY, before: NOW }, "are kept by 10m"],
    [{ stepMs: 90 * MINUTE, from: NOW - 40 * DAY, before: NOW }, "are kept by 1h"],
    [{ stepMs: 10_000, from: NOW - 2 * HOUR, before: NOW }, "periods that are no whole minutes are kept for an hour only"],
  ])("that are not possible are refused: %j", async (more, message) => {
    const error = await ask("env_none", "p50:query.latency", more).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ kind: "invalid_argument", message: expect.stringContaining(message) });
  });

  test("of two lengths do not go together", async () => {
    const both = ask("env_none", "sum:query.errors.rollup(5m) / sum:query.count.rollup(10m)");
    expect(await both.catch((error: Failure) => error.message)).toBe("Periods of 5m and of 10m do not go together.");
  });
});
