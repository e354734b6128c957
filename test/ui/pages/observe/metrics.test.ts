import { expect, test } from "bun:test";
import { functionsOf, parseMetricExpression } from "../../../../src/domain/metrics/expression.ts";
import { METRICS, type MetricName } from "../../../../src/domain/metrics/metric.ts";
import { completionAt, metricOfValues } from "../../../../src/ui/pages/observe/metric-completion.ts";
import { chartData, csvOf, figureOf, seriesName, tracedDots } from "../../../../src/ui/parts/metric-series.ts";

const ALL = Object.keys(METRICS).map((name) => ({
  name,
  functions: [...functionsOf(METRICS[name as MetricName])],
  labels: METRICS[name as MetricName].labels.map((label) => ({
    name: label,
    values: label === "query_name" ? ["fraud", "a b", "frame"] : [],
  })),
}));
const at = (text: string) => {
  const caret = text.indexOf("^");
  const plain = text.replace("^", "");
  const { from, options, to } = completionAt(plain, caret, ALL);
  return options.map((option) => plain.slice(0, from) + option + plain.slice(to));
};

test("a metric is completed to what can be evaluated", () => {
  const found = at("sum:query.errors / sum:query.cou^");
  expect(found).toContain("sum:query.errors / sum:query.count");
  for (const text of [...found, ...at("p99:^"), ...at("latency^")]) expect(() => parseMetricExpression(text)).not.toThrow();
  expect(at("nothing_like_it^")).toEqual([]);
});

test("labels and their values are completed inside braces", () => {
  expect(at("p99:query.latency{query^}")).toEqual(["p99:query.latency{query_name:}"]);
  expect(at("p99:query.latency{query_name:fr^}")).toEqual(["p99:query.latency{query_name:frame}", "p99:query.latency{query_name:fraud}"]);
  expect(at("p99:query.latency{query_name:frame|!fra^")).toEqual([]);
  expect(at("p99:query.latency{query_name:frame|fra^")).toContain("p99:query.latency{query_name:frame|fraud");
  expect(at("p99:query.latency{} by {query_n^}")).toEqual(["p99:query.latency{} by {query_name}"]);
  expect(at("p99:no.metric{^}")).toEqual([]);
  expect(metricOfValues("p99:query.latency{query_name:f", 30)).toBe("query.latency");
  expect(metricOfValues("p99:query.latency{query_n", 25)).toBeUndefined();
  expect(metricOfValues("p99:query.latency{a:b} ", 23)).toBeUndefined();
});

const point = (second: number, value?: number | "NaN") => ({
  time: new Date(second * 1000).toISOString(),
  ...(value !== undefined && { value }),
});

test("series stand over common times, those of before moved to them", () => {
  const now = [
    { name: "p99", labels: { query: "a" }, points: [point(100, 1), point(110)] },
    { name: "p99", labels: { query: "" }, points: [point(110, 3), point(120, "NaN")] },
  ];
  const before = [{ name: "p99", labels: { query: "a" }, points: [point(40, 7)] }];
  const data = chartData(now, before, 60_000);
  expect(data.times).toEqual([100_000, 110_000, 120_000]);
  expect(data.series).toEqual([
    { name: "query:a", values: [1, null, null] },
    { name: 'query:""', values: [null, 3, null] },
    { name: "query:a (before)", values: [7, null, null] },
  ]);
  expect(seriesName({ name: "p99", labels: { query: "a" } }, false)).toBe("p99 query:a");
  expect(seriesName({ name: "p99" }, true)).toBe("p99");
});

test("a file of values is read back as what was shown, and computes nothing", () => {
  const text = csvOf({
    times: [0],
    series: [
      { name: 'a "b", c', values: [-1.5] },
      { name: "=1+1", values: [null] },
    ],
  });
  expect(text).toBe(`time,"a ""b"", c",'=1+1\r\n1970-01-01T00:00:00.000Z,-1.5,\r\n`);
});

test("values are written with their unit", () => {
  expect(figureOf("METRIC_UNIT_SECONDS")(0.0123)).toBe("12.3ms");
  expect(figureOf("METRIC_UNIT_BYTES")(2e9)).toBe("2.0 GB");
  expect(figureOf("METRIC_UNIT_RATIO")(0.5)).toBe("50 %");
  expect(figureOf(undefined)(12_345)).toBe("12.3k");
});

test("traced values are dots on the lines of their series; what is no value or no trace is none", () => {
  const exemplars = [
    { time: "2026-01-01T00:00:00Z", value: 0.5, traceId: "a" },
    { time: "2026-01-01T00:00:01Z", value: "NaN", traceId: "b" },
    { time: "2026-01-01T00:00:02Z", value: 1 },
  ] as const;
  expect(tracedDots([{ exemplars: [] }, {}, { exemplars: [...exemplars] }, { exemplars: [exemplars[0]] }])).toEqual([
    { time: Date.UTC(2026, 0, 1), value: 0.5, line: 2, traceId: "a" },
  ]);
});
