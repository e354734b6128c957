import { useMemo } from "preact/hooks";
import type { QueryMetricResponseJson } from "../../../gen/svc/v1/metric_pb.ts";
import { useAnswer } from "../api/load.ts";
import { useSteady } from "../api/steady.ts";
import { now } from "../app/clock.ts";
import { queried, setQueried } from "../app/place.ts";
import { environmentScope } from "../app/who.ts";
import { durationText } from "./duration.tsx";
import { Failed } from "./failed.tsx";
import { figureText } from "./figure-text.ts";
import { LineChart, type Series } from "./line-chart.tsx";
import { rangeTimes } from "./range-times.ts";
import { rangeText, readRange } from "./time-range.ts";

interface ChartParts {
  readonly label: string;
  /** Lines by their names; their number never changes. */
  readonly expressions: readonly (readonly [name: string, expression: string])[];
}

/** Metric expressions over the range in the address, which a drag over the chart changes. */
export function MetricChart({ label, expressions }: ChartParts) {
  const time = rangeTimes(readRange(queried("range"), now.value));
  const answers = expressions.map(([, expression]) =>
    useSteady(useAnswer("MetricService/QueryMetric", { expression, ...time }, environmentScope.value)),
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
