import { useMemo } from "preact/hooks";
import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { useLive } from "../../app/live.ts";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { figureText } from "../../parts/figure-text.ts";
import { Sparkline } from "../../parts/sparkline.tsx";
import type { Column } from "../../parts/window-table.tsx";
import { slowestThings, total, valuesOf } from "./last-hour.ts";

const DAY_MS = 86_400_000;
/** Milliseconds for which the same day is asked for. */
const STEP_MS = 600_000;

/** The metrics of what has a name: its label, how often it ran, and how long that took. */
const METRICS = {
  resolver: { label: "resolver", title: "Calls, 24 h", count: "sum:resolver.count", latency: "p99:resolver.latency" },
  query: { label: "query_name", title: "Runs, 24 h", count: "sum:query.count", latency: "p99:query.latency" },
} as const;

/**
 * Columns of how often things of a kind ran in the last day, by hour, and the highest p99 of an
 * hour. Empty where nothing was recorded.
 * @param nameOf the value of the metrics' label
 */
export function useLastDay<Row>(kind: keyof typeof METRICS, nameOf: (row: Row) => string): readonly Column<Row>[] {
  const { count, label, latency, title } = METRICS[kind];
  const { branch } = scope.value;
  const filter = branch === "" ? "" : `{branch:${JSON.stringify(branch)}}`;
  const startTime = new Date(Math.floor(now.value / STEP_MS) * STEP_MS - DAY_MS).toISOString();
  const [counts, latencies] = [count, latency].map((metric) => {
    const expression = `${metric}${filter} by {${label}}.rollup(1h)`;
    return useSteady(useAnswer("MetricService/QueryMetric", { expression, startTime }, environmentScope.value));
  });
  useLive(["metrics"], () => {
    counts?.reload();
    latencies?.reload();
  });
  const [counted, slow] = [counts?.data?.series, latencies?.data?.series];
  return useMemo(() => {
    const byName = new Map((counted ?? []).map((series) => [series.labels?.[label] ?? "", series]));
    const worst = new Map(slowestThings(slow ?? [], label, Number.POSITIVE_INFINITY).map((one) => [one.name, one.worst * 1_000]));
    const ran = (row: Row): MetricSeriesJson[] => [byName.get(nameOf(row)) ?? []].flat();
    return [
      {
        name: "ran",
        title,
        width: "8.5rem",
        cell: (row) =>
          total(ran(row)) > 0 && (
            <span class="now">
              <span class="figure">{figureText(total(ran(row)))}</span>
              <Sparkline label={title} values={valuesOf(ran(row))} width={60} height={20} />
            </span>
          ),
        sort: (row) => total(ran(row)),
      },
      {
        name: "p99",
        title: "Worst p99",
        width: "6.5rem",
        isNumber: true,
        cell: (row) => worst.has(nameOf(row)) && <Duration ms={worst.get(nameOf(row)) ?? 0} />,
        sort: (row) => worst.get(nameOf(row)) ?? -1,
      },
    ];
  }, [counted, slow]);
}
