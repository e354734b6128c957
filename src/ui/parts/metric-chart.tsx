import { useMemo } from "preact/hooks";
import type { QueryMetricResponseJson } from "../../../gen/svc/v1/metric_pb.ts";
import { useAnswer } from "../api/load.ts";
import { now } from "../app/clock.ts";
import { queried, setQueried } from "../app/place.ts";
import { environmentScope } from "../app/who.ts";
import { durationText } from "./duration.tsx";
import { Failed } from "./failed.tsx";
import { figureText } from "./figure-text.ts";
import { LineChart, type Series } from "./line-chart.tsx";
import { rangeText, readRange } from "./time-range.ts";

interface ChartParts {
  readonly label: string;
  /** Lines by their names; their number never changes. */
  readonly expressions: readonly (readonly [name: string, expression: string])[];
}

const MINUTE_MS = 60_000;

/** Metric expressions over the range in the address, which a drag over the chart changes. */
export function MetricChart({ label, expressions }: ChartParts) {
  const { from, lastMs, to } = readRange(queried("range"), Math.floor(now.value / MINUTE_MS) * MINUTE_MS);
  // A range that ends now is asked for each minute anew, up to the server's now.
  const end = lastMs === undefined ? { endTime: new Date(to).toISOString() } : {};
  const time = { startTime: new Date(from).toISOString(), ...end };
  const answers = expressions.map(([, expression]) =>
    useAnswer("MetricService/QueryMetric", { expression, ...time }, environmentScope.value),
  );
  const all = answers.map(({ data }) => data);
  const drawn = useMemo(() => seriesOf(expressions, all), all);
  const failed = answers.find(({ error }) => error !== undefined);
  if (failed?.error) return <Failed error={failed.error} onRetry={failed.reload} />;
  const isEmpty = drawn.series.every(({ values }) => values.every((value) => value === null || value === 0));
  return (
    <section aria-label={label} class="metric">
      <h3>{label}</h3>
      {isEmpty ? (
        <p class="dim">{all.includes(undefined) ? "Loading" : "Nothing in this range."}</p>
      ) : (
        <LineChart
          label={label}
          times={drawn.times}
          series={drawn.series}
          height={160}
          figure={drawn.isTime ? (value) => durationText(value * 1_000) : figureText}
          group="metrics"
          onRange={(begin, end) => setQueried({ range: rangeText({ from: begin, to: end }) })}
        />
      )}
    </section>
  );
}

interface Drawn {
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly isTime: boolean;
}

/** The first series of each answer over the times of all. */
function seriesOf(expressions: ChartParts["expressions"], answers: readonly (QueryMetricResponseJson | undefined)[]): Drawn {
  const own = answers.map((answer) => answer?.series?.[0]);
  const values = own.map((series) => new Map((series?.points ?? []).map(({ time = "", value }) => [Date.parse(time), numberOf(value)])));
  const times = [...new Set(values.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return {
    times,
    series: expressions.map(([name], at) => ({ name, values: times.map((time) => values[at]?.get(time) ?? null) })),
    isTime: own.some((series) => series?.unit === "METRIC_UNIT_SECONDS"),
  };
}

function numberOf(value: number | string | undefined): number | null {
  return typeof value === "number" ? value : null;
}
