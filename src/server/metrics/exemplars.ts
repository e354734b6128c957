/** Traces of the values that an expression is made of. */

import type { MetricExpression } from "../../domain/metrics/expression.ts";
import { isOfServer, metricNamed, SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { Exemplar } from "../stores/metrics/store.ts";
import type { MetricReader } from "./reader.ts";

/**
 * The exemplars of an expression's series by their labels, in the order of time: the greatest ones.
 * An expression that is not the value of one histogram has none: its values are none that a call
 * had.
 */
export async function exemplarsOf(
  reader: Pick<MetricReader, "exemplars">,
  expression: MetricExpression,
  { environmentId, from, before }: { readonly environmentId: string; readonly from: number; readonly before: number },
): Promise<(labels: Readonly<Record<string, string>>) => readonly Exemplar[]> {
  if (expression.kind !== "term" || expression.fn === "count" || expression.fn === "sum") return () => [];
  const { by, filters, metric } = expression;
  if (metricNamed(metric).kind !== "histogram") return () => [];
  const place = { environmentId: isOfServer(metric) ? SERVER_SCOPE : environmentId, metric };
  const keyOf = (labels: Readonly<Record<string, string>>) => JSON.stringify(by.map((label) => labels[label] ?? ""));
  const groups = await reader.exemplars({ ...place, filters, by, from, before });
  const found = new Map(groups.map(({ exemplars, labels }) => [keyOf(labels), exemplars.toSorted((one, other) => one.at - other.at)]));
  return (labels) => found.get(keyOf(labels)) ?? [];
}
