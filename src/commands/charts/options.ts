import { MetricType, MetricUnit } from "../../../gen/svc/v1/metric_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { CHART_COMPARATORS, CHART_FORMULAS, chartFunction, chartLabel, chartMetric } from "../../domain/metrics/chart.ts";
import { METRIC_FUNCTIONS, METRIC_OPERATORS } from "../../domain/metrics/expression.ts";
import { isMetricName } from "../../domain/metrics/metric.ts";
import { jsonView } from "../../output/json-view.ts";

const TYPES: Readonly<Partial<Record<MetricType, string>>> = {
  [MetricType.COUNTER]: "counter",
  [MetricType.GAUGE]: "gauge",
  [MetricType.HISTOGRAM]: "histogram",
};
const UNITS: Readonly<Partial<Record<MetricUnit, string>>> = {
  [MetricUnit.ONE]: "one",
  [MetricUnit.SECONDS]: "seconds",
  [MetricUnit.BYTES]: "bytes",
  [MetricUnit.RATIO]: "ratio",
};

export default defineCommand({
  summary: "List metrics, functions and filters of charts",
  description:
    "As JSON, always. Each metric has its name in expressions and in charts, with the filters, groups and functions that it takes. Metrics of the server are for credentials that are not limited to some environments.",
  examples: ["svc charts options"],
  needs: ["session"],
  async run({ api }) {
    const { metrics } = await (await api.metrics()).listMetrics({});
    return {
      metrics: metrics.map(({ functions, labels, name, ofServer, summary, type, unit }) => ({
        name,
        ...(isMetricName(name) && { metric: chartMetric(name) }),
        ...{ summary, type: TYPES[type] ?? null, unit: UNITS[unit] ?? null, of_server: ofServer },
        filters: labels.map((label) => chartLabel(label.name).filter),
        group_by: labels.map((label) => chartLabel(label.name).group),
        window_functions: METRIC_FUNCTIONS.filter((fn) => functions.includes(fn)).map(chartFunction),
      })),
      window_functions: METRIC_FUNCTIONS.map((fn) => ({ name: fn, window_function: chartFunction(fn) })),
      comparators: CHART_COMPARATORS,
      formulas: CHART_FORMULAS,
      operators: METRIC_OPERATORS,
    };
  },
  view: jsonView,
});
