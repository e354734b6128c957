import { useMemo } from "preact/hooks";
import type { ChartExpressionJson, MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { type Loaded, useAnswer } from "../../api/load.ts";
import type { Method, Methods } from "../../api/methods.ts";
import { useSteady } from "../../api/steady.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { MetricLines } from "../../parts/metric-lines.tsx";
import { chartData, csvOf, figureOf, isEmpty, tracedDots } from "../../parts/metric-series.ts";
import { rangeTimes } from "../../parts/range-times.ts";
import { saveText } from "../../parts/save-text.ts";
import type { TimeRange } from "../../parts/time-range.ts";
import { TracedValues } from "./traced-values.tsx";

/** Most lines of one chart; the table and the file have the same. */
const MOST_LINES = 20;

interface ChartParts {
  readonly title: string;
  /** What it is the chart of: one of the list, or an expression. */
  readonly of: { readonly chart: string; readonly series: readonly ChartExpressionJson[] } | { readonly expression: string };
  readonly range: TimeRange;
  /** Whether the time before stands beside it. */
  readonly withBefore: boolean;
  readonly command: string;
}

type SeriesMethod = "MetricService/EvaluateChart" | "MetricService/QueryMetric";

/** A chart over a range, its numbers as a table and as a file, and the command that prints them. */
export function Chart({ title, of, range, withBefore, command }: ChartParts) {
  const times = rangeTimes(range);
  const lengthMs = Date.parse(times.endTime) - Date.parse(times.startTime);
  const earlier = { startTime: moved(times.startTime, -lengthMs), endTime: times.startTime };
  const asked: Asked =
    "chart" in of ? ["MetricService/EvaluateChart", { chart: of.chart }] : ["MetricService/QueryMetric", { expression: of.expression }];
  const answer = useSeries(asked, times);
  const before = useSeries(asked, withBefore ? earlier : undefined);
  return (
    <section class="metric-chart">
      <h2>{title}</h2>
      <Loading of={answer} lines={8}>
        {({ omittedSeries = 0, series = [] }) => (
          <Drawn
            title={title}
            series={series}
            before={withBefore ? (before.data?.series ?? NONE) : NONE}
            lengthMs={lengthMs}
            omitted={omittedSeries}
            isExpression={"expression" in of}
          />
        )}
      </Loading>
      {"chart" in of && (
        <p class="dim">
          {of.series.map(({ expression = "", name }) => (
            <a key={name} class="name expression-link" href={href("metrics", {}, { query: new URLSearchParams({ e: expression }) })}>
              {expression}
            </a>
          ))}
        </p>
      )}
      <Command line={command} />
    </section>
  );
}

const NONE: readonly MetricSeriesJson[] = [];

type Asked = readonly [SeriesMethod, { readonly chart?: string; readonly expression?: string }];

function useSeries([method, request]: Asked, times: { readonly startTime: string; readonly endTime: string } | undefined) {
  const whole = times === undefined ? undefined : { ...request, ...times };
  return useSteady(useAnswer(method as Method, whole as Methods[Method][0] | undefined, environmentScope.value)) as Loaded<
    Methods["MetricService/QueryMetric"][1]
  >;
}

interface DrawnParts {
  readonly title: string;
  readonly series: readonly MetricSeriesJson[];
  readonly before: readonly MetricSeriesJson[];
  readonly lengthMs: number;
  readonly omitted: number;
  readonly isExpression: boolean;
}

function Drawn({ title, series, before, lengthMs, omitted, isExpression }: DrawnParts) {
  const shown = useMemo(() => chartData(series.slice(0, MOST_LINES), before.slice(0, MOST_LINES), lengthMs), [series, before, lengthMs]);
  const dots = useMemo(() => tracedDots(series.slice(0, MOST_LINES)), [series]);
  const left = omitted + Math.max(series.length - MOST_LINES, 0);
  if (isEmpty(shown)) return <p class="dim">No values in this time.{isExpression && " See whether the labels' values are right."}</p>;
  return (
    <>
      <MetricLines label={title} data={shown} unit={series[0]?.unit} dots={dots} />
      <TracedValues dots={dots} figure={figureOf(series[0]?.unit)} />
      {left > 0 && <p class="dim">{`${left} more series are not shown: a filter selects some.`}</p>}
      <button type="button" class="quiet" onClick={() => saveText("metrics.csv", "text/csv", csvOf(shown))}>
        Save as CSV
      </button>
    </>
  );
}

function moved(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}
