/** Series of metrics as charts, tables and files have them. */

import type { MetricSeriesJson } from "../../../gen/svc/v1/metric_pb.ts";
import { csvText } from "../../domain/csv.ts";
import { sizeText } from "../../domain/size.ts";
import { durationText } from "./duration.tsx";
import { figureText } from "./figure-text.ts";
import type { Dot, Series } from "./line-chart.tsx";

/** Series over common times. */
export interface ChartData {
  /** In milliseconds, rising. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

/** The name of a series: its labels where it has any, behind its name where there are several. */
export function seriesName({ labels = {}, name = "" }: MetricSeriesJson, isOnly: boolean): string {
  const values = Object.entries(labels).map(([label, value]) => `${label}:${value === "" ? '""' : value}`);
  if (values.length === 0) return name;
  return isOnly ? values.join(" ") : `${name} ${values.join(" ")}`;
}

/**
 * Series for a chart; `before` are those of as long a time ahead of it, moved by `lengthMs` to
 * stand over the same times.
 */
export function chartData(series: readonly MetricSeriesJson[], before: readonly MetricSeriesJson[] = [], lengthMs = 0): ChartData {
  const names = new Set([...series, ...before].map(({ name }) => name));
  const given = [
    ...series.map((one) => ({ one, name: seriesName(one, names.size === 1), move: 0 })),
    ...before.map((one) => ({ one, name: `${seriesName(one, names.size === 1)} (before)`, move: lengthMs })),
  ].map(({ one, name, move }) => ({ name, points: pointsOf(one, move) }));
  const times = [...new Set(given.flatMap(({ points }) => [...points.keys()]))].sort((a, b) => a - b);
  return { times, series: given.map(({ name, points }) => ({ name, values: times.map((time) => points.get(time) ?? null) })) };
}

function pointsOf({ points = [] }: MetricSeriesJson, move: number): ReadonlyMap<number, number | null> {
  return new Map(
    points.map(({ time = "", value }) => {
      const number = value === undefined ? Number.NaN : Number(value);
      return [Date.parse(time) + move, Number.isFinite(number) ? number : null];
    }),
  );
}

/** A traced value of a chart. */
export interface TracedDot extends Dot {
  readonly traceId: string;
}

/**
 * The traced values of series, each the dot of the first line that has it: percentiles of one
 * metric share them.
 */
export function tracedDots(series: readonly MetricSeriesJson[]): readonly TracedDot[] {
  const dots = new Map<string, TracedDot>();
  for (const [line, { exemplars = [] }] of series.entries())
    for (const { time = "", traceId = "", value = 0 } of exemplars) {
      const dot = { time: Date.parse(time), value: Number(value), line, traceId };
      const key = `${traceId} ${time} ${value}`;
      if (traceId !== "" && Number.isFinite(dot.time) && Number.isFinite(dot.value) && !dots.has(key)) dots.set(key, dot);
    }
  return [...dots.values()];
}

/** Whether no series has a value. */
export function isEmpty({ series }: ChartData): boolean {
  return series.every(({ values }) => values.every((value) => value === null));
}

/** How values of a unit are written. */
export function figureOf(unit: string | undefined): (value: number) => string {
  if (unit === "METRIC_UNIT_SECONDS") return (value) => durationText(value * 1000);
  if (unit === "METRIC_UNIT_BYTES") return sizeText;
  if (unit === "METRIC_UNIT_RATIO") return (value) => `${figureText(value * 100)} %`;
  return figureText;
}

/** Series as a table of comma-separated values with times in UTC; what is not there is empty. */
export function csvOf({ series, times }: ChartData): string {
  const rows = [
    ["time", ...series.map(({ name }) => name)],
    ...times.map((time, at) => [new Date(time).toISOString(), ...series.map(({ values }) => String(values[at] ?? ""))]),
  ];
  return csvText(rows);
}
