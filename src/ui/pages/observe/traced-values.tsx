import { href } from "../../app/place.ts";
import type { TracedDot } from "../../parts/metric-series.ts";
import { Time } from "../../parts/time.tsx";

/** Traces that are named beside a chart. */
const MOST_NAMED = 5;

interface TracedParts {
  readonly dots: readonly TracedDot[];
  readonly figure: (value: number) => string;
}

/** The highest of a chart's traced values, as links to their traces. */
export function TracedValues({ dots, figure }: TracedParts) {
  if (dots.length === 0) return null;
  const highest = dots.toSorted((one, other) => other.value - one.value).slice(0, MOST_NAMED);
  return (
    <p class="dim traced">
      Traces of the highest values:{" "}
      {highest.map(({ time, traceId, value }) => (
        <span key={`${traceId} ${time} ${value}`}>
          <a class="name" href={href("trace", { id: traceId })}>
            {figure(value)}
          </a>{" "}
          <Time at={new Date(time).toISOString()} />
        </span>
      ))}
    </p>
  );
}
