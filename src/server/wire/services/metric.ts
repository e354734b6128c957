/** MetricService: metrics over time, as expressions and as charts. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type ChartSchema, type MetricBucketSchema, MetricService, MetricType, MetricUnit } from "../../../../gen/svc/v1/metric_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import { BUILT_IN_CHARTS, builtInExpressions, ChartError, chartExpressions, type NamedExpression } from "../../../domain/metrics/chart.ts";
import type { ExponentialHistogram } from "../../../domain/metrics/exponential-histogram.ts";
import {
  functionsOf,
  type MetricExpression,
  MetricExpressionError,
  parseMetricExpression,
  printMetricExpression,
  termsOf,
  unitOf,
} from "../../../domain/metrics/expression.ts";
import {
  isMetricName,
  isOfServer,
  METRICS,
  type MetricKind,
  type MetricName,
  metricNamed,
  SERVER_SCOPE,
} from "../../../domain/metrics/metric.ts";
import { durationToMs, msToDuration, msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { requireWholeTeam, resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { type KeptChart, keptExpressions } from "../../charts/kept-charts.ts";
import { Failure } from "../../failure.ts";
import { evaluateMetrics, histogramsOf, type MetricQuestion } from "../../metrics/evaluation.ts";
import { exemplarsOf } from "../../metrics/exemplars.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Milliseconds before the end at which a range begins that has no beginning. */
const USUAL_RANGE_MS = 3_600_000;
/** Most values of a label that are listed. */
const MAX_VALUES = 100;

/** Most buckets of a series, without that of zero. */
const MAX_BUCKETS = 39;

/** The board of charts that are kept with the project. */
const KEPT_BOARD = "project";

const TYPES: Readonly<Record<MetricKind, MetricType>> = {
  counter: MetricType.COUNTER,
  gauge: MetricType.GAUGE,
  histogram: MetricType.HISTOGRAM,
};
const UNITS = { one: MetricUnit.ONE, seconds: MetricUnit.SECONDS, bytes: MetricUnit.BYTES, ratio: MetricUnit.RATIO } as const;

/** Adds the service to a router. */
export function register(router: ConnectRouter, { charts, clock, environments, metricReader }: Platform): void {
  /** The values of expressions in the caller's environment, as the fields of an answer. */
  async function valuesOf(caller: Caller, expressions: readonly NamedExpression[], question: Omit<MetricQuestion, "expressions">) {
    const ofServer = expressions.flatMap(({ expression }) => termsOf(expression)).find(({ metric }) => isOfServer(metric));
    if (ofServer) requireWholeTeam(caller, `metrics of the server such as ${ofServer.metric}`);
    const asked = expressions.map(({ expression }) => expression);
    const reader = await metricReader();
    const { answers, isIncomplete, stepMs, times } = await evaluateMetrics(reader, { ...question, expressions: asked });
    const stamps = times.map(msToTimestamp);
    const [last] = times.slice(-1);
    const range = { environmentId: question.environmentId, from: times[0] ?? question.from, before: question.before };
    const traced = await Promise.all(asked.map((expression) => exemplarsOf(reader, expression, range)));
    return {
      step: msToDuration(stepMs),
      ...(isIncomplete && last !== undefined && { incompleteFrom: msToTimestamp(last) }),
      series: expressions.flatMap(({ expression, name }, at) => {
        return (answers[at]?.series ?? []).map(({ labels, values }) => ({
          ...{ name, labels: { ...labels }, unit: UNITS[unitOf(expression) ?? "one"] },
          points: stamps.map((time, point) => ({ time, ...(values[point] !== undefined && { value: values[point] }) })),
          exemplars: traced[at]?.(labels).map((one) => ({ time: msToTimestamp(one.at), value: one.value, traceId: one.traceId })) ?? [],
        }));
      }),
      omittedSeries: answers.reduce((sum, { omitted }) => sum + omitted, 0),
    };
  }

  const rangeOf = (
    { endTime, startTime }: { readonly startTime?: Timestamp; readonly endTime?: Timestamp },
    usualMs: number = USUAL_RANGE_MS,
  ) => {
    const now = clock.now();
    const before = endTime ? timestampToMs(endTime) : now;
    return { now, before, from: startTime ? timestampToMs(startTime) : before - usualMs };
  };

  /** A chart as it is evaluated. Rejects with Failure not_found. */
  const chartOf = async (projectId: string, id: string): Promise<EvaluatedChart> => {
    const builtIn = BUILT_IN_CHARTS.find((one) => one.id === id);
    if (builtIn) return { name: builtIn.name, expressions: builtInExpressions(builtIn), rangeMs: USUAL_RANGE_MS };
    const kept = await (await charts()).find(projectId, id);
    if (!kept) throw noChart(id, await (await charts()).list(projectId));
    return { name: kept.name, expressions: refusingText(() => keptExpressions(kept)), rangeMs: kept.content.rangeMs };
  };

  /** The project of the environment that a caller reaches, for changes of what is the project's. */
  const projectOf = async (context: HandlerContext): Promise<{ readonly caller: Caller; readonly projectId: string }> => {
    const caller = callerOf(context);
    const { environment } = await resolveScope(environments, caller, context.requestHeader);
    requireWholeTeam(caller, "charts that are kept with a project");
    return { caller, projectId: environment.projectId };
  };

  router.service(MetricService, {
    async queryMetric(request, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      const expression = readExpression(request.expression);
      const name = printMetricExpression(expression);
      const question = { environmentId: environment.id, ...rangeOf(request), stepMs: request.step && durationToMs(request.step) };
      const values = await valuesOf(caller, [{ name, expression }], question);
      if (!request.buckets) return { expression: name, ...values };
      const histogramOf = await histogramsOf(await metricReader(), expression, question);
      const series = values.series.map((one) => ({ ...one, buckets: bucketMessages(histogramOf(one.labels)) }));
      return { expression: name, ...values, series };
    },

    async listMetrics({ metric }, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      if (metric !== "" && !isMetricName(metric)) throw noMetric(metric);
      const names = metric === "" ? (Object.keys(METRICS) as MetricName[]).sort() : [metric];
      const [one] = metric === "" ? [] : names;
      if (one !== undefined && isOfServer(one)) requireWholeTeam(caller, `metrics of the server such as ${one}`);
      const labelValues = async (label: string): Promise<string[]> => {
        if (one === undefined) return [];
        const environmentId = isOfServer(one) ? SERVER_SCOPE : environment.id;
        return (await metricReader()).labelValues({ environmentId, metric: one, label, limit: MAX_VALUES });
      };
      const metrics = names.map(async (name) => {
        const { kind, labels, summary, unit } = metricNamed(name);
        return {
          ...{
            name,
            summary,
            type: TYPES[kind],
            unit: UNITS[unit],
            functions: [...functionsOf(METRICS[name])],
            ofServer: isOfServer(name),
          },
          labels: await Promise.all(labels.map(async (label) => ({ name: label, values: await labelValues(label) }))),
        };
      });
      return { metrics: await Promise.all(metrics) };
    },

    async listCharts(_request, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const kept = await (await charts()).list(environment.projectId);
      const builtIn = BUILT_IN_CHARTS.map(({ series, ...chart }) => ({
        ...chart,
        series: Object.entries(series).map(([name, expression]) => ({ name, expression })),
      }));
      return { charts: [...kept.map(keptMessage), ...builtIn] };
    },

    async createChart({ name, series, metricConfig, range }, context) {
      const { caller, projectId } = await projectOf(context);
      if ((series.length === 0) === (metricConfig === undefined))
        throw new Failure(
          "invalid_argument",
          "The request describes no chart, or two: series lists expressions, metricConfig describes it.",
        );
      const expressions = metricConfig ? describedExpressions(metricConfig) : series.map(statedExpression);
      const rangeMs = range && durationToMs(range);
      return { chart: keptMessage(await (await charts()).create(projectId, { name, expressions, rangeMs, clientId: caller.clientId })) };
    },

    async deleteChart({ id }, context) {
      const { projectId } = await projectOf(context);
      if (BUILT_IN_CHARTS.some((one) => one.id === id))
        throw new Failure("failed_precondition", `Every server has the chart '${id}': it cannot be deleted.`);
      return { chart: keptMessage(await (await charts()).delete(projectId, id)) };
    },

    async evaluateChart(request, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      const { excludeIncompleteLastBucket, metricConfig, useStartAsOrigin } = request;
      if ((request.chart === "") === (metricConfig === undefined))
        throw new Failure("invalid_argument", "The request states no chart, or two: metricConfig describes one, chart is the id of one.");
      const { expressions, name, rangeMs } = metricConfig
        ? { name: metricConfig.name, expressions: describedExpressions(metricConfig), rangeMs: USUAL_RANGE_MS }
        : await chartOf(environment.projectId, request.chart);
      return {
        name,
        ...(await valuesOf(caller, expressions, {
          ...{ environmentId: environment.id, ...rangeOf(request, rangeMs) },
          startsAtOrigin: useStartAsOrigin,
          excludesIncomplete: excludeIncompleteLastBucket,
        })),
      };
    },
  });
}

function bucketMessages(histogram: ExponentialHistogram): MessageInitShape<typeof MetricBucketSchema>[] {
  const ranges = histogram.ranges(MAX_BUCKETS).map(({ count, ...bounds }) => ({ ...bounds, count: BigInt(count) }));
  return histogram.zeros === 0 ? ranges : [{ from: 0, to: 0, count: BigInt(histogram.zeros) }, ...ranges];
}

/** A chart as it is evaluated. */
interface EvaluatedChart {
  readonly name: string;
  readonly expressions: readonly NamedExpression[];
  readonly rangeMs: number;
}

/** The expression of a text. Throws Failure invalid_argument. */
function readExpression(text: string): MetricExpression {
  return refusingText(() => parseMetricExpression(text));
}

/** An expression that a request states; without a name it has that of its text. */
function statedExpression({ expression: text, name }: { readonly name: string; readonly expression: string }): NamedExpression {
  const expression = readExpression(text);
  return { name: name.trim() || printMetricExpression(expression), expression };
}

/** What `read` makes of texts. Throws Failure invalid_argument for one that cannot be read. */
function refusingText<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MetricExpressionError)) throw error;
    throw new Failure(
      "invalid_argument",
      `The metric expression cannot be read: ${error.message}.`,
      error.hint ? { hint: error.hint } : {},
    );
  }
}

/** The expressions of a chart that a request describes. Throws Failure invalid_argument. */
function describedExpressions(config: Parameters<typeof chartExpressions>[0]): NamedExpression[] {
  try {
    return chartExpressions(config);
  } catch (error) {
    if (!(error instanceof ChartError)) throw error;
    throw new Failure("invalid_argument", `${error.message}.`, error.hint ? { hint: error.hint } : {});
  }
}

function noMetric(name: string): Failure {
  return new Failure("not_found", `There is no metric '${name}'.`, { hint: didYouMean(name, Object.keys(METRICS)) });
}

function keptMessage({ content, createdAt, id, name }: KeptChart): MessageInitShape<typeof ChartSchema> {
  const { clientId, rangeMs, series } = content;
  return {
    ...{ id, name, board: KEPT_BOARD, series: series.map((one) => ({ ...one })), clientId },
    ...{ range: msToDuration(rangeMs), createdAt: msToTimestamp(createdAt) },
  };
}

function noChart(id: string, kept: readonly KeptChart[]): Failure {
  const ids = [...kept.map(({ name }) => name), ...BUILT_IN_CHARTS.map((chart) => chart.id)];
  return new Failure("not_found", `There is no chart '${id}'.`, { hint: didYouMean(id, ids) || `There is: ${ids.join(", ")}.` });
}
