import { go, href, setQueried } from "../app/place.ts";
import { LineChart } from "./line-chart.tsx";
import { type ChartData, figureOf, type TracedDot } from "./metric-series.ts";
import { rangeText } from "./time-range.ts";

interface LinesParts {
  readonly label: string;
  readonly data: ChartData;
  /** Name of the values' unit, as the contract has it. */
  readonly unit: string | undefined;
  readonly height?: number;
  /** Values whose traces are opened by a click. */
  readonly dots?: readonly TracedDot[];
}

/** Series of metrics as lines: a drag over them changes the page's range. */
export function MetricLines({ data: { series, times }, dots = [], height, label, unit }: LinesParts) {
  return (
    <LineChart
      {...{ label, series, times, dots }}
      {...(height !== undefined && { height })}
      figure={figureOf(unit)}
      group="metrics"
      onDot={(index) => go(href("trace", { id: dots[index]?.traceId ?? "" }))}
      onRange={(from, to) => setQueried({ range: rangeText({ from, to }) })}
    />
  );
}
