/** What deployments were asked in the last hour, from series of metrics by deployment. */

import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { total, valuesOf } from "../define/last-hour.ts";

/** The queries of a deployment. */
export interface Rates {
  readonly queries: number;
  /** Those with errors. */
  readonly failed: number;
  /** Queries by minute; null = no server ran. */
  readonly byMinute: readonly (number | null)[];
}

/**
 * The rates of a deployment, which metrics know by its tag where it has one: nothing recorded is
 * nothing asked.
 */
export function ratesOf(names: readonly string[], queries: readonly MetricSeriesJson[], failed: readonly MetricSeriesJson[]): Rates {
  const own = (series: readonly MetricSeriesJson[]) => series.filter(({ labels }) => names.includes(labels?.deployment ?? ""));
  return { queries: total(own(queries)), failed: total(own(failed)), byMinute: valuesOf(own(queries)) };
}

/** The share of queries with errors: `1.2 %`; empty without queries. */
export function failedShare({ failed, queries }: Pick<Rates, "failed" | "queries">): string {
  return queries === 0 ? "" : `${Number(((failed / queries) * 100).toPrecision(2))} %`;
}
