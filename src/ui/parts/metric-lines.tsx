import { setQueried } from "../app/place.ts";
import { LineChart } from "./line-chart.tsx";
import { type ChartData, figureOf } from "./metric-series.ts";
import { rangeText } from "./time-range.ts";

interface LinesParts {
  readonly label: string;
  readonly data: ChartData;
  /** Name of the values' unit, as the contract has it. */
  readonly unit: string | undefined;
  readonly height?: number;
}

/** Series of metrics as lines: a drag over them changes the page's range. */
export function MetricLines({ data: { series, times }, height, label, unit }: LinesParts) {
  return (
    <LineChart
      {...{ label, series, times }}
      {...(height !== undefined && { height })}
      figure={figureOf(unit)}
      group="metrics"
      onRange={(from, to) => setQueried({ range: rangeText({ from, to }) })}
    />
  );
}
