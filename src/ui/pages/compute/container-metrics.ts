/** Metric expressions about containers, sandboxes and scaling groups. */

import { printMetricExpression } from "../../../domain/metrics/expression.ts";
import type { MetricName } from "../../../domain/metrics/metric.ts";

/** Whom a chart of use is about. */
export interface UseOf {
  /** Label of the metrics. */
  readonly label: "container" | "group";
  readonly name: string;
  /** With a container: which of the two it is. */
  readonly kind?: "container" | "sandbox";
}

/** The sum of a metric of use over whom it is about. */
export function useExpression(metric: "container.cpu" | "container.memory", { kind, label, name }: UseOf): string {
  return about(metric, { [label]: name, ...(kind !== undefined && { kind }) });
}

/** The replicas of a group: those that answer, or those that there should be. */
export function replicasExpression(group: string, state: "ready" | "wanted"): string {
  return about("scaling_group.replicas", { group, state });
}

function about(metric: MetricName, labels: Readonly<Record<string, string>>): string {
  const filters = Object.entries(labels).map(([label, value]) => ({ label, patterns: [value], isNegated: false }));
  return printMetricExpression({ kind: "term", fn: "sum", metric, filters, by: [], rollupMs: undefined });
}
