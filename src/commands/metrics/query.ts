import {
  type MetricBucket,
  type MetricPoint,
  type MetricSeries,
  MetricUnit,
  type QueryMetricResponse,
} from "../../../gen/svc/v1/metric_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, bool, choice, timestamp } from "../../cli/flag.ts";
import { formatDuration } from "../../domain/duration.ts";
import {
  countsFromZero,
  METRIC_FUNCTIONS,
  type MetricExpression,
  MetricExpressionError,
  parseMetricExpression,
} from "../../domain/metrics/expression.ts";
import type { MetricUnit as UnitName } from "../../domain/metrics/metric.ts";
import { durationToMs, msToTimestamp, timestampToMs } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { caretText } from "../../output/caret.ts";
import { chartText, MAX_LINES } from "../../output/chart.ts";
import { jsonDocument } from "../../output/json.ts";
import { answerDocument } from "../../output/json-view.ts";
import { metricValueText } from "../../output/metric-value.ts";
import { timeText } from "../../output/time.ts";
import { type Column, choiceView, tableView, textView, type View } from "../../output/view.ts";

const UNITS: Readonly<Partial<Record<MetricUnit, UnitName>>> = { [MetricUnit.SECONDS]: "seconds", [MetricUnit.BYTES]: "bytes" };

/** Characters of the bar of the fullest bucket. */
const BAR_WIDTH = 30;

/** An answer as it is shown. */
type Shown =
  | { readonly form: "chart"; readonly answer: QueryMetricResponse; readonly expression: MetricExpression }
  | { readonly form: "buckets"; readonly answer: QueryMetricResponse }
  | { readonly form: "table"; readonly answer: QueryMetricResponse }
  | { readonly form: "json"; readonly document: unknown };

export default defineCommand({
  summary: "Query a metric expression",
  description:
    "An expression is function:metric{label:value,...} by {label,...}.rollup(period); all but function and metric can be left out. " +
    `Functions are ${METRIC_FUNCTIONS.join(", ")}; \`svc charts options\` lists the metrics with their labels and the functions that they take. ` +
    "A filter label:a|b* selects values, in which * is any text, and label:!a leaves them out. Expressions can be calculated with + - * / and parentheses.\n\n" +
    "Counters (query.count) take sum or count. Of gauges (worker.memory) sum adds the means of the series. Percentiles are only of histograms (query.latency), and at most 9 % off. " +
    "A period without records has no value; a count is 0 there while a server ran. Times are UTC. On a terminal the answer is a chart, in a pipe a table.",
  examples: [
    { run: "svc metrics query 'p99:query.latency by {query_name}'", does: "A line for each named query" },
    { run: "svc metrics query 'sum:query.errors / sum:query.count' --since 7d", does: "The share of queries with errors" },
    { run: "svc metrics query 'p99:resolver.latency{resolver:*get_email}' --buckets", does: "How long the calls of a resolver took" },
    { run: "svc metrics query 'max:query.latency{branch:!test*}.rollup(10m)' -o json", does: "By ten minutes, as JSON" },
  ],
  needs: ["session"],
  args: { expr: arg("the expression, in quotes for the shell") },
  flags: {
    since: timestamp("look back: a duration, or a time", { defaultText: "1h" }),
    buckets: bool("how the values of the whole time are spread over buckets; only of a percentile"),
    output: choice("output format", ["table", "json"], { aliases: ["-o"], defaultText: "table, on a terminal a chart" }),
  },
  check({ expr }) {
    readExpression(expr);
  },
  async run({ api, flags, io, progress }, { buckets, expr, output, since }): Promise<Shown> {
    const expression = readExpression(expr);
    const startTime = since === undefined ? {} : { startTime: msToTimestamp(since) };
    const answer = await (await api.metrics()).queryMetric({ expression: expr, buckets, ...startTime });
    if (output === "json" || flags.json) return { form: "json", document: await answerDocument(answer) };
    if (answer.omittedSeries > 0) progress.note(`${answer.omittedSeries} more series are not shown: a filter selects some.`);
    if (buckets) return { form: "buckets", answer };
    if (output === undefined && io.stdoutIsTTY && hasValues(answer)) return { form: "chart", answer, expression };
    return { form: "table", answer };
  },
  view: choiceView<Shown>(
    (shown) =>
      (shown.form === "chart"
        ? CHART
        : shown.form === "buckets"
          ? BUCKETS
          : shown.form === "json"
            ? JSON_TEXT
            : tableOf(shown.answer)) as View<never>,
  ),
});

const JSON_TEXT = textView(
  ({ document }: Shown & { readonly form: "json" }) => jsonDocument(document),
  ({ document }) => document,
);

const CHART = textView(({ answer, expression }: Shown & { readonly form: "chart" }, style) => {
  const { series, step } = answer;
  const isCount = expression.kind === "term" && countsFromZero(expression) && series.length === 1;
  const unit = series[0]?.unit ?? MetricUnit.ONE;
  const drawn = series.slice(0, MAX_LINES);
  const chart = chartText(
    {
      series: series.map((one) => ({ name: nameOf(one), values: one.points.map(({ value }) => value) })),
      times: series[0]?.points.map(timeOf) ?? [],
      shape: isCount ? "bars" : "lines",
      format: (value) => metricValueText(value, UNITS[unit] ?? "one"),
    },
    style,
  );
  const every = step ? `by ${formatDuration(durationToMs(step))}` : "";
  const title = [answer.expression, every, ...(answer.incompleteFrom ? ["the last period is not over"] : [])].join(", ");
  const rest = series.length > drawn.length ? [style.dim(`${series.length - drawn.length} more series: -o table shows them.`)] : [];
  return [style.dim(title), chart, ...rest].join("\n");
});

/** A bucket of a series. */
interface SeriesBucket extends Pick<MetricBucket, "from" | "to" | "count"> {
  readonly series: MetricSeries;
  /** The most values that a bucket of the series has. */
  readonly most: number;
}

const BUCKETS = tableView<{ readonly answer: QueryMetricResponse }, SeriesBucket>({
  things: "buckets",
  long: true,
  rows: ({ answer }) =>
    answer.series.flatMap((series) => {
      const most = Math.max(1, ...series.buckets.map(({ count }) => Number(count)));
      return series.buckets.map(({ from, to, count }) => ({ series, from, to, count, most }));
    }),
  columns: [
    { header: "Series", cell: ({ series }) => nameOf(series) },
    { header: "Above", align: "right", cell: ({ from, series }) => metricValueText(from, UNITS[series.unit] ?? "one") },
    { header: "Up To", align: "right", cell: ({ series, to }) => metricValueText(to, UNITS[series.unit] ?? "one") },
    { header: "Values", align: "right", cell: ({ count }) => String(count) },
    { header: "", cell: ({ count, most }) => "#".repeat(Math.ceil((Number(count) / most) * BAR_WIDTH)) },
  ],
});

function tableOf({ series }: QueryMetricResponse): View<unknown> {
  return tableView<unknown, readonly [MetricPoint, number]>({
    things: "data",
    long: true,
    rows: () => (series[0]?.points ?? []).map((point, at) => [point, at]),
    columns: [
      { header: "Time", cell: ([{ time }]) => timeText(time) },
      ...series.map(
        (one): Column<readonly [MetricPoint, number]> => ({
          header: nameOf(one) + (one.unit === MetricUnit.SECONDS ? " (s)" : one.unit === MetricUnit.BYTES ? " (bytes)" : ""),
          align: "right",
          cell: ([, at]) => {
            const value = one.points[at]?.value;
            return value === undefined ? "-" : String(Number(value.toPrecision(6)));
          },
        }),
      ),
    ],
  });
}

/** The expression of a text. Throws a UsageError that marks the place. */
function readExpression(text: string): MetricExpression {
  try {
    return parseMetricExpression(text);
  } catch (error) {
    if (!(error instanceof MetricExpressionError)) throw error;
    throw new UsageError(`the metric expression cannot be read: ${error.message}\n${caretText(text, error.from, error.to)}`, {
      ...(error.hint !== "" && { hint: error.hint }),
    });
  }
}

function hasValues({ series }: QueryMetricResponse): boolean {
  return series.some(({ points }) => points.some(({ value }) => value !== undefined));
}

/** The labels of a series, or its expression where it is not grouped. */
function nameOf({ labels, name }: MetricSeries): string {
  const values = Object.values(labels);
  return values.length === 0 ? name : values.map((value) => value || "(none)").join(", ");
}

function timeOf({ time }: MetricPoint): number {
  return time ? timestampToMs(time) : 0;
}
