/** What the last hour was like, from series of metrics. */

import type { MetricPointJson, MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";

/** What failed, and how often. */
export interface FailingThing {
  readonly name: string;
  readonly count: number;
}

/** The sum of all points of all series. */
export function total(series: readonly MetricSeriesJson[]): number {
  return series.reduce((sum, { points = [] }) => sum + pointsTotal(points), 0);
}

/** The values of a label that occurred, those most often first, at most `most`. */
export function failingThings(series: readonly MetricSeriesJson[], label: string, most: number): readonly FailingThing[] {
  const counts = new Map<string, number>();
  for (const { labels = {}, points = [] } of series) {
    const name = labels[label] ?? "";
    counts.set(name, (counts.get(name) ?? 0) + pointsTotal(points));
  }
  return [...counts]
    .flatMap(([name, count]) => (name === "" || count === 0 ? [] : [{ name, count }]))
    .sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1))
    .slice(0, most);
}

/** What was slow, and how slow its slowest period was. */
export interface SlowThing {
  readonly name: string;
  /** In the unit of the series. */
  readonly worst: number;
}

/** The values of a label with the highest value of a period, the slowest first, at most `most`. */
export function slowestThings(series: readonly MetricSeriesJson[], label: string, most: number): readonly SlowThing[] {
  return series
    .flatMap(({ labels = {}, points = [] }) => {
      const worst = Math.max(...points.map(({ value }) => (typeof value === "number" ? value : Number.NEGATIVE_INFINITY)));
      return Number.isFinite(worst) ? [{ name: labels[label] ?? "", worst }] : [];
    })
    .sort((one, other) => other.worst - one.worst || (one.name < other.name ? -1 : 1))
    .slice(0, most);
}

/** The values of one series in their order; null = none at that time. */
export function valuesOf([first]: readonly MetricSeriesJson[]): readonly (number | null)[] {
  return (first?.points ?? []).map(({ value }) => (typeof value === "number" ? value : null));
}

function pointsTotal(points: readonly MetricPointJson[]): number {
  return points.reduce((sum, { value }) => sum + (typeof value === "number" ? value : 0), 0);
}
