/** Metric expressions about one thing of a project. */

import { type MetricFunction, printMetricExpression } from "../../../domain/metrics/expression.ts";
import type { MetricName } from "../../../domain/metrics/metric.ts";

/** A function of a metric of one feature, in a branch when that is given. */
export function featureMetric(fn: MetricFunction, metric: MetricName, fqn: string, branch: string): string {
  return about(fn, metric, "feature", fqn, branch);
}

/** A function of a metric of one resolver, in a branch when that is given. */
export function resolverMetric(fn: MetricFunction, metric: MetricName, fqn: string, branch: string): string {
  return about(fn, metric, "resolver", fqn, branch);
}

/** A function of a metric of one stream. */
export function streamMetric(fn: MetricFunction, metric: MetricName, name: string): string {
  return about(fn, metric, "stream", name, "");
}

/** A function of a metric of one source. */
export function sourceMetric(fn: MetricFunction, metric: MetricName, name: string): string {
  return about(fn, metric, "source", name, "");
}

function about(fn: MetricFunction, metric: MetricName, label: string, name: string, branch: string): string {
  const filters = [
    { label, patterns: [name], isNegated: false },
    ...(branch === "" ? [] : [{ label: "branch", patterns: [branch], isNegated: false }]),
  ];
  return printMetricExpression({ kind: "term", fn, metric, filters, by: [], rollupMs: undefined });
}
