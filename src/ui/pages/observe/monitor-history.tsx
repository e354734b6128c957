import { useMemo } from "preact/hooks";
import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { LineChart } from "../../parts/line-chart.tsx";
import { Loading } from "../../parts/loading.tsx";
import { chartData, figureOf } from "../../parts/metric-series.ts";
import { Range } from "../../parts/range.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { boundText } from "./monitor-text.ts";

/** Series that are drawn at most beside the bound. */
const MOST_LINES = 10;

/** The values of a monitor's expression over time, and the bound that they should keep. */
export function MonitorHistory({ standing: { bound = 0, monitor = {}, unit } }: { readonly standing: MonitorStandingJson }) {
  const command = useCommand();
  const { expression = "" } = monitor;
  const range = readRange(queried("range"), now.value);
  const answer = useSteady(useAnswer("MetricService/QueryMetric", { expression, ...rangeTimes(range) }, environmentScope.value));
  const { series } = answer.data ?? {};
  const drawn = useMemo(() => {
    const { series: lines, times } = chartData((series ?? []).slice(0, MOST_LINES));
    const limit = { name: boundText({ ...monitor, pendingFor: undefined }), values: times.map(() => Number(bound)) };
    return { times, series: [...lines, limit] };
  }, [series, bound]);
  const left = (answer.data?.omittedSeries ?? 0) + Math.max((series ?? []).length - MOST_LINES, 0);
  const isEmpty = drawn.series.slice(0, -1).every(({ values }) => values.every((value) => value === null));
  return (
    <>
      <h2>History</h2>
      <div class="range-row">
        <Range />
      </div>
      <Loading of={answer} lines={8}>
        {() =>
          isEmpty ? (
            <p class="dim">No values in this time.</p>
          ) : (
            <LineChart
              label={`Values of ${expression}`}
              times={drawn.times}
              series={drawn.series}
              figure={figureOf(unit)}
              onRange={(from, to) => setQueried({ range: rangeText({ from, to }) })}
            />
          )
        }
      </Loading>
      {left > 0 && <p class="dim">{`${left} more series are not shown: the page of metrics has more.`}</p>}
      <Command line={command("metrics", "query", expression)} />
    </>
  );
}
