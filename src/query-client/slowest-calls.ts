/** The slowest traced calls of a resolver in the last day. */

import type { MetricExemplar } from "../../gen/svc/v1/metric_pb.ts";
import type { Context } from "../context/context.ts";
import { printMetricExpression } from "../domain/metrics/expression.ts";
import { msToTimestamp } from "../domain/proto-time.ts";

const DAY_MS = 86_400_000;

/**
 * Calls of a resolver by its FQN, the slowest first, at most `most`; their values are in seconds.
 */
export async function slowestCalls(
  { api, clock }: Pick<Context, "api" | "clock">,
  resolver: string,
  most: number,
): Promise<MetricExemplar[]> {
  const filters = [{ label: "resolver", patterns: [resolver], isNegated: false }];
  const expression = printMetricExpression({ kind: "term", fn: "p99", metric: "resolver.latency", filters, by: [], rollupMs: undefined });
  const startTime = msToTimestamp(clock.now() - DAY_MS);
  const { series } = await (await api.metrics()).queryMetric({ expression, startTime });
  return series
    .flatMap(({ exemplars }) => exemplars)
    .sort((one, other) => other.value - one.value)
    .slice(0, most);
}
