import { useMemo } from "preact/hooks";
import { useAnswer } from "../api/load.ts";
import { useSteady } from "../api/steady.ts";
import { now } from "../app/clock.ts";
import { queried } from "../app/place.ts";
import { environmentScope } from "../app/who.ts";
import { Failed } from "./failed.tsx";
import { MetricLines } from "./metric-lines.tsx";
import { chartData, isEmpty } from "./metric-series.ts";
import { rangeTimes } from "./range-times.ts";
import { readRange } from "./time-range.ts";

interface ChartParts {
  readonly label: string;
  /** Lines by their names; their number never changes. */
  readonly expressions: readonly (readonly [name: string, expression: string])[];
}

/** Metric expressions over the range in the address, the first series of each as a line. */
export function MetricChart({ label, expressions }: ChartParts) {
  const time = rangeTimes(readRange(queried("range"), now.value));
  const answers = expressions.map(([, expression]) =>
    useSteady(useAnswer("MetricService/QueryMetric", { expression, ...time }, environmentScope.value)),
  );
  const all = answers.map(({ data }) => data);
  const data = useMemo(() => chartData(expressions.map(([name], at) => ({ points: all[at]?.series?.[0]?.points ?? [], name }))), all);
  const failed = answers.find(({ error }) => error !== undefined);
  if (failed?.error) return <Failed error={failed.error} onRetry={failed.reload} />;
  return (
    <section aria-label={label} class="metric">
      <h3>{label}</h3>
      {isEmpty(data) ? (
        <p class="dim">{all.includes(undefined) ? "Loading" : "Nothing in this range."}</p>
      ) : (
        <MetricLines label={label} data={data} unit={all.find((one) => one?.series?.[0])?.series?.[0]?.unit} height={160} />
      )}
    </section>
  );
}
