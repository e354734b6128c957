/** Metric expressions about one thing of a project. */

import { type LabelFilter, type MetricFunction, printMetricExpression } from "../../../domain/metrics/expression.ts";
import type { MetricName } from "../../../domain/metrics/metric.ts";

/** A function of a metric of one feature, in a branch when that is given. */
export function featureMetric(fn: MetricFunction, metric: MetricName, fqn: string, branch: string): string {
  return about(fn, metric, "feature", fqn, branch);
}

/** A function of a metric of one resolver, in a branch when that is given. */
export function resolverMetric(fn: MetricFunction, metric: MetricName, fqn: string, branch: string): string {
  return about(fn, metric, "resolver", fqn, branch);
}

/** A function of a metric of one function that callers run. */
export function functionMetric(fn: MetricFunction, metric: MetricName, name: string): string {
  return about(fn, metric, "resolver", name, "", [{ label: "operation", patterns: ["function"], isNegated: false }]);
}

/** A function of a metric of one stream. */
export function streamMetric(fn: MetricFunction, metric: MetricName, name: string): string {
  return about(fn, metric, "stream", name, "");
}

/** A function of a metric of one source. */
export function sourceMetric(fn: MetricFunction, metric: MetricName, name: string): string {
  return about(fn, metric, "source", name, "");
}

function about(
  fn: MetricFunction,
  metric: MetricName,
  label: string,
  name: string,
  branch: string,
  more: readonly LabelFilter[] = [],
): string {
  const filters = [
    { label, patterns: [name], isNegated: false },
    ...more,
    ...(branch === "" ? [] : [{ label: "branch", patterns: [branch], isNegated: false }]),
  ];
  return printMetricExpression({ kind: "term", fn, metric, filters, by: [], rollupMs: undefined });
}
