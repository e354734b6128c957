/** Metrics of a real server that answered real queries, as the command line shows them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_CHARTS } from "../../src/domain/metrics/chart.ts";
import { METRICS } from "../../src/domain/metrics/metric.ts";
import { tempFolder } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { patientClock } from "../harness/patient-clock.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

interface Answer {
  readonly expression: string;
  readonly name: string;
  readonly step: string;
  readonly incomplete_from: string | null;
  readonly series: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly unit: string;
    readonly points: readonly { readonly time: string; readonly value: number | null }[];
  }[];
  readonly omitted_series: number;
}

let platform: Platform;
/** Failed queries of five. */
const FAILED = 2;

beforeAll(async () => {
  platform = await startPlatform();
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: writeProject() });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  for (const id of [1, 2, 13, 3, 13]) await svc("query", ["--in", `user.id=${id}`, "--out", "user.fragile", "--query-name", `q_${id}`]);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = []) => runCommand(path, words, platform);
const metric = async (expression: string, ...words: string[]): Promise<Answer> =>
  (await svc("metrics/query", [expression, "--json", ...words])).json() as Answer;
/** The values of a series, added up. */
const total = (series: Answer["series"][number] | undefined) => series?.points.reduce((sum, { value }) => sum + (value ?? 0), 0);

describe("metrics query", () => {
  test("counts what was asked, by label, and what failed", async () => {
    const counts = await metric("sum:query.count by {query_name}");
    expect(Object.fromEntries(counts.series.map((one) => [one.labels.query_name, total(one)]))).toEqual({
      q_1: 1,
      q_13: 2,
      q_2: 1,
      q_3: 1,
    });
    expect([counts.step, counts.omitted_series, counts.series[0]?.unit]).toEqual(["1m", 0, "one"]);
    expect(counts.incomplete_from).toBe(counts.series[0]?.points.at(-1)?.time ?? "");
    expect(total((await metric("count:query.latency{query_name:!q_1*}")).series[0])).toBe(2);
    const errors = await metric("sum:query.errors / sum:query.count.rollup(2h)");
    expect(errors.series[0]?.points.findLast(({ value }) => value !== null)?.value).toBeCloseTo(FAILED / 5, 6);
    expect([errors.expression, errors.series[0]?.unit]).toEqual(["sum:query.errors / sum:query.count.rollup(2h)", "ratio"]);
    expect(total((await metric("sum:resolver.count{resolver:*fragile}")).series[0])).toBe(5);
  });

  test("has percentiles in seconds between the smallest and the largest", async () => {
    const of = async (fn: string) => (await metric(`${fn}:query.latency.rollup(1d)`, "--since", "1d")).series[0]?.points.at(-1)?.value ?? 0;
    const [min, p50, p99, max] = [await of("min"), await of("p50"), await of("p99"), await of("max")];
    expect(min).toBeGreaterThan(0);
    expect([min <= p50, p50 <= p99, p99 <= max]).toEqual([true, true, true]);
  });

  test("has the buckets of a percentile's values in the whole time, and refuses those of anything else", async () => {
    const { series } = (await svc("metrics/query", ["p99:query.latency by {query_name}", "--buckets", "--json"])).json() as {
      series: readonly { labels: { query_name: string }; buckets: readonly { from: number; to: number; count: string }[] }[];
    };
    const counts = series.map(({ buckets, labels }) => [labels.query_name, buckets.reduce((sum, { count }) => sum + Number(count), 0)]);
    expect(Object.fromEntries(counts)).toEqual({ q_1: 1, q_13: 2, q_2: 1, q_3: 1 });
    const { stdout } = await svc("metrics/query", ["p50:query.latency", "--buckets"]);
    const [header, ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/^Series +Above +Up To +Values/);
    expect(rows.map((row) => Number(/ (\d+)(?: +#+)?$/.exec(row.trimEnd())?.[1])).reduce((sum, count) => sum + count, 0)).toBe(5);
    expect((await svc("metrics/query", ["sum:query.count", "--buckets"])).stderr).toContain(
      "Only a percentile of one histogram has buckets",
    );
  });

  test("of the server is there too", async () => {
    await eventually(async () => (await metric("avg:process.memory")).series.length === 1, "the memory is sampled");
    const memory = await metric("avg:process.memory");
    expect(memory.series[0]?.unit).toBe("bytes");
    expect(memory.series[0]?.points.findLast(({ value }) => value !== null)?.value ?? 0).toBeGreaterThan(1e6);
  });

  test("is a table in a pipe, and JSON on demand", async () => {
    const { stdout } = await svc("metrics/query", ["sum:query.count by {query_name}", "--since", "2h"]);
    const [header, ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/^Time +q_1 +q_13 +q_2 +q_3$/);
    expect([120, 121]).toContain(rows.length);
    expect(rows.at(-1)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z( +(\d+|-)){4}$/);
    const json = await svc("metrics/query", ["sum:query.count", "-o", "json"]);
    expect((json.json() as Answer).expression).toBe("sum:query.count");
    expect((await svc("metrics/query", ["p50:query.latency"])).stdout).toMatch(/^Time +p50:query\.latency \(s\)\n/);
    const none = await svc("metrics/query", ["p99:query.latency{query_name:nobody}"]);
    expect([none.exitCode, none.stderr]).toEqual([0, "No data found.\n"]);
  });

  test.each([60, 80, 200])("is a chart on a terminal of %d columns", async (columns) => {
    const chart = async (expression: string, ...words: string[]) =>
      (await runCommand("metrics/query", [expression, ...words], { ...platform, terminal: true, columns })).stdout.trimEnd().split("\n");
    const lines = await chart("p99:query.latency by {query_name}");
    expect(lines[0]).toStartWith("p99:query.latency by {query_name}, by 1m");
    expect(lines.slice(-4).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["a q_1", "b q_13", "c q_2", "d q_3"]);
    for (const line of lines.slice(1)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
    const bars = await chart("sum:query.count");
    expect(bars.some((line) => line.includes("#"))).toBe(true);
    const table = await chart("sum:query.count", "-o", "table");
    expect(table[0]).toMatch(/^Time +sum:query\.count$/);
  });

  test("marks what cannot be read, without asking the server", async () => {
    const outcome = await svc("metrics/query", ["p99:query.latancy{}"]);
    expect([outcome.exitCode, outcome.stdout]).toEqual([2, ""]);
    expect(outcome.stderr).toContain("column 5: there is no metric 'query.latancy'\np99:query.latancy{}\n    ^^^^^^^^^^^^^\n");
    expect(outcome.stderr).toContain("Did you mean 'query.latency'?");
    expect((await svc("metrics/query", ["sum:\u001b[31m"])).stderr).not.toContain("\u001b");
    expect((await svc("metrics/query", ["sum:query.count", "--since", "x"])).exitCode).toBe(2);
    expect((await svc("metrics/query", ["sum:query.count", "--since", "2999-01-01"])).stderr).toContain("is not before its end");
    const refused = await svc("metrics/query", ["sum:query.count.rollup(10s)", "--since", "2h"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("kept for an hour only")]);
  });
});

test("features list shows on a wide terminal what was asked for, and nowhere else", async () => {
  const on = async (columns: number) =>
    (await runCommand("features/list", [], { ...platform, clock: patientClock, terminal: true, columns })).stdout.split("\n");
  const names = (await svc("features/list")).stdout.split("\n");
  expect(names).toContain("user.fragile");
  expect((await on(120)).filter((line) => /#_?$/.test(line))).toEqual([expect.stringMatching(/^user\.fragile {6}[ _]{22,24}#_?$/)]);
  expect((await on(120)).map((line) => line.split(" ")[0])).toEqual(names);
  expect(await on(30)).toEqual(names);
});

test("resolvers shows on a wide terminal how often each was called, and nowhere else", async () => {
  const on = async (columns: number, ...words: string[]) =>
    (await runCommand("resolvers", words, { ...platform, clock: patientClock, terminal: true, columns })).stdout.trimEnd().split("\n");
  const [header = "", ...rows] = await on(200);
  expect(header).toMatch(/^Resolver +Kind +Inputs +Outputs +Calls by Hour *$/);
  const lines = rows.map((row) => row.slice(header.indexOf("Calls by Hour")).trimEnd());
  expect(lines.filter((line) => line !== "")).toEqual([expect.stringMatching(/^[ _]{22,24}#_?$/)]);
  expect(rows[lines.findIndex((line) => line !== "")]).toMatch(/^\S+fragile /);
  const piped = (await svc("resolvers")).stdout;
  expect(piped).not.toContain("by Hour");
  const narrow = await on(Math.max(...piped.split("\n").map((line) => line.length)));
  expect(narrow.map((line) => line.trimEnd())).toEqual(piped.trimEnd().split("\n"));
  const json = await runCommand("resolvers", ["--json"], { ...platform, terminal: true, columns: 200 });
  expect(json.json()).toEqual((await svc("resolvers", ["--json"])).json());
});

describe("charts", () => {
  test("are listed, and each can be evaluated", async () => {
    const { charts } = (await svc("charts/list")).json() as { charts: { id: string; series: { name: string; expression: string }[] }[] };
    expect(charts.map(({ id }) => id)).toEqual(BUILT_IN_CHARTS.map(({ id }) => id));
    for (const { id } of charts) {
      const { exitCode, stderr, json } = await svc("charts/evaluate", [JSON.stringify({ chart: id })]);
      expect([id, exitCode, stderr, (json() as Answer).step]).toEqual([id, 0, "", "1m"]);
    }
  });

  test("have options, whose names evaluate takes", async () => {
    const options = (await svc("charts/options")).json() as {
      metrics: { name: string; metric: string; window_functions: string[]; filters: string[]; group_by: string[] }[];
    };
    expect(options.metrics.map(({ name }) => name)).toEqual(Object.keys(METRICS).sort());
    const series = options.metrics
      .filter(({ name }) => !name.startsWith("feature."))
      .map(({ filters, group_by, metric, window_functions }) => ({
        metric,
        windowFunction: window_functions.at(-1),
        groupBy: group_by.slice(0, 1),
        filters: [{ kind: filters[0], comparator: "COMPARATOR_KIND_NEQ", value: ["x"] }],
      }));
    for (let from = 0; from < series.length; from += 20) {
      const some = series.slice(from, from + 20);
      const outcome = await svc("charts/evaluate", [JSON.stringify({ metricConfig: { series: some } })]);
      expect([outcome.exitCode, outcome.stderr]).toEqual([0, ""]);
    }
  });

  test("are described as JSON: an argument, a file, or stdin, in both spellings", async () => {
    const request = {
      metricConfig: {
        name: "Errors",
        windowPeriod: "3600s",
        series: [
          { metric: "METRIC_KIND_QUERY_ERRORS", name: "failed", windowFunction: "WINDOW_FUNCTION_KIND_COUNT" },
          { metric: "METRIC_KIND_QUERY_REQUEST_COUNT", name: "all", windowFunction: "WINDOW_FUNCTION_KIND_SUM" },
        ],
        formulas: [{ name: "share", kind: "FORMULA_KIND_RATIO", operands: ["failed", "all"] }],
      },
      startTime: new Date(Date.now() - 7_200_000).toISOString(),
      endTime: new Date(Date.now() + 1_000).toISOString(),
      useStartAsOrigin: true,
    };
    const file = join(tempFolder("svc-chart-"), "request.json");
    writeFileSync(file, JSON.stringify(request));
    const snake = JSON.stringify(request).replaceAll(
      /"(\w+)":/g,
      (_, key: string) => `"${key.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}":`,
    );
    const outcomes = [
      await svc("charts/evaluate", [snake]),
      await svc("metrics/snapshot", [`@${file}`]),
      await runCommand("metric/snapshot", ["-"], { ...platform, input: JSON.stringify(request).split("\n") }),
    ];
    for (const { json, stderr } of outcomes) {
      expect(stderr).toBe("");
      const { name, series, step } = json() as Answer;
      expect([name, step, series.map((one) => one.name)]).toEqual(["Errors", "1h", ["failed", "all", "share"]]);
      expect(series.slice(0, 2).map(total)).toEqual([FAILED, 5]);
      expect(Math.max(...(series[2]?.points ?? []).map(({ value }) => value ?? 0))).toBeCloseTo(FAILED / 5, 6);
    }
    const whole = (await svc("charts/evaluate", [JSON.stringify({ ...request, excludeIncompleteLastBucket: true })])).json() as Answer;
    expect([whole.incomplete_from, whole.series[0]?.points.length]).toEqual([null, 2]);
  });

  test("are kept with the project, listed first, evaluated by their names, and deleted", async () => {
    const words = [
      "--name",
      "Share of errors",
      "--expression",
      "share=sum:query.errors / sum:query.count",
      "--expression",
      "sum:query.count",
    ];
    const created = await svc("charts/create", [...words, "--range", "2h"]);
    expect([created.exitCode, created.stderr]).toEqual([0, ""]);
    expect(created.stdout).toMatch(
      /^ID: +cht_\w+\nName: +Share of errors\nShows: +share=sum:query.errors \/ sum:query.count, sum:query.count\nRange: +2h\n/,
    );
    const taken = await svc("charts/create", words);
    expect([taken.exitCode > 0, taken.stderr]).toEqual([true, expect.stringContaining("'Share of errors'")]);
    const { charts } = (await svc("charts/list")).json() as { charts: { id: string; board: string; name: string; range: string | null }[] };
    expect(charts[0]).toMatchObject({ board: "project", name: "Share of errors", range: "2h" });
    for (const chart of [charts[0]?.id, "Share of errors"]) {
      const { series } = (await svc("charts/evaluate", [JSON.stringify({ chart })])).json() as Answer;
      expect(series.map(({ name }) => name)).toEqual(["share", "sum:query.count"]);
      const times = (series[1]?.points ?? []).map(({ time }) => Date.parse(time));
      expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(3_600_000);
    }
    const near = await svc("charts/delete", ["Share of error", "--yes"]);
    expect(near.stderr).toContain("did you mean 'Share of errors'?");
    const deleted = await svc("charts/delete", ["Share of errors", "--yes"]);
    expect([deleted.exitCode, deleted.stdout]).toEqual([0, expect.stringContaining("Share of errors")]);
    const builtIn = await svc("charts/delete", ["queries.latency", "--yes"]);
    expect([builtIn.exitCode > 0, builtIn.stderr]).toEqual([true, expect.stringContaining("Every server has the chart")]);
    expect(((await svc("charts/list")).json() as { charts: unknown[] }).charts).toHaveLength(BUILT_IN_CHARTS.length);
  });

  test("are kept as a request or its description describes them", async () => {
    const series = [
      { metric: "METRIC_KIND_QUERY_LATENCY", windowFunction: "WINDOW_FUNCTION_KIND_PERCENTILE_99", groupBy: ["GROUP_BY_KIND_QUERY_NAME"] },
    ];
    for (const given of [{ metricConfig: { windowPeriod: "5m", series } }, { windowPeriod: "5m", series }]) {
      const { exitCode, stderr, json } = await svc("charts/create", ["--name", "Described", "--config", JSON.stringify(given), "--json"]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(json()).toMatchObject({
        series: [{ name: "p99:query.latency by {query_name}", expression: "p99:query.latency by {query_name}.rollup(5m)" }],
      });
      await svc("charts/delete", ["Described", "--yes"]);
    }
  });

  test.each([
    [["--name", "x"], "nothing says what the chart shows"],
    [["--name", "x", "--expression", "sum:query.count", "--config", "{}"], "--expression and --config do not go together"],
    [["--name", "x", "--expression", "a=p99:query.count"], "the metric expression cannot be read"],
    [["--name", "x", "--config", '{"series": []}'], "metricConfig.series is empty"],
    [["--name", "x", "--expression", "sum:query.count", "--range", "400d"], "A chart cannot show 400d"],
  ])("that cannot be kept are refused: %j", async (words, message) => {
    const outcome = await svc("charts/create", words);
    expect([outcome.exitCode > 0, outcome.stdout, outcome.stderr]).toEqual([true, "", expect.stringContaining(message)]);
  });

  test.each([
    ['{"metricConfig": {"series": [}}', "the argument:1:30 is no JSON:\n"],
    ["[]", "the request is not an object: []"],
    ["{}", "the request has no metricConfig"],
    ['{"chart": "queries.count", "metricConfig": {}}', "the request has both a chart and a metricConfig"],
    ['{"metricConfig": {"serie": []}}', "metricConfig has no member 'serie'"],
    ['{"metricConfig": {"series": {}}}', "metricConfig.series is not a list: {}"],
    ['{"metricConfig": {"series": []}}', "metricConfig.series is empty"],
    ['{"metricConfig": {"series": [{"metric": "METRIC_KIND_QUERY_LATENCI"}]}}', "metricConfig.series[0].metric is no metric"],
    ['{"metricConfig": {"series": [{"metric": "METRIC_KIND_QUERY_LATENCY"}]}}', "series[0].windowFunction is missing: a function"],
    [
      '{"metricConfig": {"series": [{"metric": "METRIC_KIND_QUERY_COUNT", "windowFunction": "WINDOW_FUNCTION_KIND_MEAN"}]}}',
      "does not go with METRIC_KIND_QUERY_COUNT, a counter",
    ],
    ['{"chart": "queries.x"}', "There is no chart 'queries.x'."],
    ['{"chart": "queries.count", "startTime": 12}', "startTime is not a time such as 2024-05-01T12:00:00Z: 12"],
    ['{"chart": "queries.count", "endTime": "2024-05-01T12:00:00Z", "startTime": "2024-05-01T12:00:00Z"}', "is not before its end"],
  ])("that cannot be evaluated are refused with the place: %s", async (request, message) => {
    const outcome = await svc("charts/evaluate", [request]);
    expect([outcome.exitCode > 0, outcome.stdout, outcome.stderr]).toEqual([true, "", expect.stringContaining(message)]);
  });

  test("that are no JSON are wrong usage, with a caret at what is wrong", async () => {
    const { exitCode, stderr, stdout } = await svc("charts/evaluate", ['{"a":']);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain('the argument:1:6 is no JSON:\n{"a":\n     ^');
  });
});
