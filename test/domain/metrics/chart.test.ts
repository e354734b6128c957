import { describe, expect, test } from "bun:test";
import {
  BUILT_IN_CHARTS,
  builtInExpressions,
  type ChartConfig,
  ChartError,
  chartExpressions,
  chartFunction,
  chartLabel,
  chartMetric,
} from "../../../src/domain/metrics/chart.ts";
import { functionsOf, groupingOf, METRIC_FUNCTIONS, printMetricExpression, unitOf } from "../../../src/domain/metrics/expression.ts";
import { METRICS, type MetricDefinition, type MetricName } from "../../../src/domain/metrics/metric.ts";

type Series = ChartConfig["series"][number];
const SERIES: Series = {
  metric: "METRIC_KIND_QUERY_COUNT",
  filters: [],
  name: "",
  windowFunction: "WINDOW_FUNCTION_KIND_COUNT",
  groupBy: [],
};
const config = (series: Partial<Series>[], more: Partial<ChartConfig> = {}): ChartConfig => ({
  ...{ name: "", windowPeriod: "", formulas: [], series: series.map((one) => ({ ...SERIES, ...one })) },
  ...more,
});
const texts = (given: ChartConfig) => chartExpressions(given).map(({ expression, name }) => [name, printMetricExpression(expression)]);
const errorOf = (given: ChartConfig): ChartError => {
  try {
    chartExpressions(given);
  } catch (error) {
    if (error instanceof ChartError) return error;
  }
  throw new Error("it is read");
};

describe("names", () => {
  test("follow from the table, by the rule that the contract states", () => {
    expect(chartMetric("feature.request_count")).toBe("METRIC_KIND_FEATURE_REQUEST_COUNT");
    expect(METRIC_FUNCTIONS.map(chartFunction)).toEqual(
      [
        "MEAN",
        "SUM",
        "MIN",
        "MAX",
        "COUNT",
        "PERCENTILE_99",
        "PERCENTILE_95",
        "PERCENTILE_75",
        "PERCENTILE_50",
        "PERCENTILE_25",
        "PERCENTILE_5",
      ].map((name) => `WINDOW_FUNCTION_KIND_${name}`),
    );
    expect(chartLabel("query_name")).toEqual({ filter: "FILTER_KIND_QUERY_NAME", group: "GROUP_BY_KIND_QUERY_NAME" });
  });

  test.each(Object.keys(METRICS) as MetricName[])("of %s are read back, with its functions and labels", (metric) => {
    const { labels } = METRICS[metric] as MetricDefinition;
    for (const fn of functionsOf(METRICS[metric])) {
      const filters = labels.map((label) => ({ kind: chartLabel(label).filter, comparator: "COMPARATOR_KIND_EQ", value: ["v"] }));
      const groupBy = labels.map((label) => chartLabel(label).group);
      const [one] = texts(config([{ metric: chartMetric(metric), windowFunction: chartFunction(fn), filters, groupBy }]));
      const expected = `${fn}:${metric}{${labels.map((label) => `${label}:v`).join(",")}} by {${labels.join(",")}}`;
      expect(one).toEqual([expected, expected]);
    }
  });

  test("of charts and of what is counted are unique", () => {
    expect(new Set(Object.keys(METRICS).map((name) => chartMetric(name as MetricName))).size).toBe(Object.keys(METRICS).length);
    expect(texts(config([{ metric: "METRIC_KIND_RESOLVER_REQUEST_COUNT" }]))).toEqual([["count:resolver.count", "count:resolver.count"]]);
    expect(errorOf(config([{ metric: "METRIC_KIND_WORKER_REQUEST_COUNT" }])).message).toContain("is no metric");
  });
});

test("a description becomes expressions with the chart's period; formulas stand behind", () => {
  const filters = [{ kind: "FILTER_KIND_BRANCH", comparator: "COMPARATOR_KIND_NEQ", value: ["a b", "c*"] }];
  const formulas = [
    { name: "", kind: "FORMULA_KIND_RATIO", operands: ["failed", "all"] },
    { name: "both", kind: "FORMULA_KIND_SUM", operands: ["failed", "all", "all"] },
  ];
  const given = config([{ metric: "METRIC_KIND_QUERY_ERRORS", name: "failed", filters }, { name: "all" }], {
    windowPeriod: "300s",
    formulas,
  });
  const [failed, all] = ['count:query.errors{branch:!"a b"|c*}.rollup(5m)', "count:query.count.rollup(5m)"];
  expect(texts(given)).toEqual([
    ["failed", failed as string],
    ["all", all as string],
    ["failed / all", `${failed} / ${all}`],
    ["both", `${failed} + ${all} + ${all}`],
  ]);
});

const NAMED = [{ name: "a" }, { name: "b", groupBy: ["GROUP_BY_KIND_BRANCH"] }, { name: "c", groupBy: ["GROUP_BY_KIND_QUERY_NAME"] }];
test.each([
  ["series is empty", config([])],
  ["series has more than 20", config(Array.from({ length: 21 }, () => ({})))],
  ["windowPeriod is no possible period: '5'", config([{}], { windowPeriod: "5" })],
  ["windowPeriod is no possible period: '15s500ms'", config([{}], { windowPeriod: "15s500ms" })],
  ["series[0].metric is missing", config([{ metric: "" }])],
  ["series[1].windowFunction does not go with", config([{}, { windowFunction: "WINDOW_FUNCTION_KIND_PERCENTILE_99" }])],
  [
    "series[0].filters[0].kind is no label",
    config([{ filters: [{ kind: "FILTER_KIND_X", comparator: "COMPARATOR_KIND_EQ", value: ["v"] }] }]),
  ],
  [
    "series[0].filters[0].comparator is no comparator",
    config([{ filters: [{ kind: "FILTER_KIND_BRANCH", comparator: "EQ", value: ["v"] }] }]),
  ],
  [
    "series[0].filters[0].value is empty",
    config([{ filters: [{ kind: "FILTER_KIND_BRANCH", comparator: "COMPARATOR_KIND_EQ", value: [] }] }]),
  ],
  ["series[0].groupBy has a label twice", config([{ groupBy: ["GROUP_BY_KIND_BRANCH", "GROUP_BY_KIND_BRANCH"] }])],
  ["formulas[0].kind is no formula", config(NAMED, { formulas: [{ name: "", kind: "x", operands: ["a", "a"] }] })],
  ["formulas[0].operands[1] is no series", config(NAMED, { formulas: [{ name: "", kind: "FORMULA_KIND_SUM", operands: ["a", "d"] }] })],
  ["formulas[0].operands does not name two", config(NAMED, { formulas: [{ name: "", kind: "FORMULA_KIND_RATIO", operands: ["a"] }] })],
  ["formulas[0].operands do not go together", config(NAMED, { formulas: [{ name: "", kind: "FORMULA_KIND_SUM", operands: ["b", "c"] }] })],
  [
    "formulas[0].operands have units that do not go together",
    config([...NAMED, { name: "s", metric: "METRIC_KIND_QUERY_LATENCY", windowFunction: "WINDOW_FUNCTION_KIND_MAX" }], {
      formulas: [{ name: "", kind: "FORMULA_KIND_SUM", operands: ["a", "s"] }],
    }),
  ],
])("is refused: metricConfig.%s", (message, given) => {
  expect(errorOf(given).message).toStartWith(`metricConfig.${message}`);
});

test.each(BUILT_IN_CHARTS.map((chart) => [chart.id, chart] as const))("the chart %s is of expressions of one unit", (_, chart) => {
  const expressions = builtInExpressions(chart).map(({ expression }) => expression);
  expect(new Set(expressions.map(unitOf)).size).toBe(1);
  expect(expressions.every((one) => groupingOf(one).length <= 1)).toBe(true);
});
