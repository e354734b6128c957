/** Counting of queries by their deployment and name. */

import type { Counter, Histogram, MetricRecorder } from "./recorder.ts";

/** The scope that a query is counted in. */
export interface QueryScope {
  readonly environmentId: string;
  /** Id or tag. */
  readonly deployment: string;
  /** Empty = the environment's own. */
  readonly branch: string;
}

/** A query that has ended. */
export interface EndedQuery {
  /** Empty = it has none. */
  readonly queryName: string;
  readonly durationMs: number;
  /** Name of the first error's code; empty = there is none. */
  readonly code: string;
  /** Id of its trace; empty = it was not traced. */
  readonly traceId: string;
}

/** Names of queries whose series are kept at hand for a deployment. */
const KEPT_NAMES = 100;

interface QuerySeries {
  readonly count: Counter;
  readonly latency: Histogram;
}

/** The counters of one deployment's queries. */
export class QueryMeter {
  readonly #series = new Map<string, QuerySeries>();

  constructor(
    readonly metrics: MetricRecorder,
    readonly scope: QueryScope,
  ) {}

  /** Counts a query. */
  ended({ queryName, durationMs, code, traceId }: EndedQuery): void {
    const series = this.#series.get(queryName) ?? this.#begin(queryName);
    series.count.add();
    series.latency.observe(durationMs / 1000, traceId);
    if (code !== "") this.metrics.counter("query.errors", this.scope.environmentId, { ...this.#labelsOf(queryName), code }).add();
  }

  #begin(queryName: string): QuerySeries {
    if (this.#series.size >= KEPT_NAMES) this.#series.clear();
    const { environmentId } = this.scope;
    const labels = this.#labelsOf(queryName);
    const series = {
      count: this.metrics.counter("query.count", environmentId, labels),
      latency: this.metrics.histogram("query.latency", environmentId, labels),
    };
    this.#series.set(queryName, series);
    return series;
  }

  #labelsOf(queryName: string) {
    const { deployment, branch } = this.scope;
    return { query_name: queryName, deployment, branch };
  }
}
