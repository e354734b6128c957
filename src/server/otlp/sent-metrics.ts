/**
 * Metrics of this server as messages of OTLP: what was recorded since each series began. Histograms
 * are those of OpenTelemetry, so that none of their buckets changes on the way.
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  AggregationTemporality,
  type ExemplarSchema,
  type ExponentialHistogramDataPointSchema,
  type MetricSchema,
} from "../../../gen/opentelemetry/proto/metrics/v1/metrics_pb.ts";
import { ExponentialHistogram, SCALE } from "../../domain/metrics/exponential-histogram.ts";
import { type MetricName, type MetricUnit, metricNamed } from "../../domain/metrics/metric.ts";
import type { RecordedSeries } from "../metrics/series.ts";
import type { Exemplar } from "../stores/metrics/store.ts";
import { sentAttributes } from "./attributes.ts";
import { nanoseconds } from "./sent-spans.ts";

/** What was recorded of a series, as it can be handed to a thread. */
export interface MetricPoint {
  readonly metric: MetricName;
  readonly labels: Readonly<Record<string, string>>;
  /** When the series began, and when it was looked at; epoch milliseconds. */
  readonly startedAt: number;
  readonly at: number;
  readonly count: number;
  /** Of a gauge, its last sample. */
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  /** Of a histogram, its counts as `ExponentialHistogram.encode` gives them. */
  readonly histogram?: Uint8Array;
  readonly exemplars: readonly Exemplar[];
}

/** What was recorded of a series until a time; undefined = nothing. */
export function metricPoint(series: RecordedSeries, labels: MetricPoint["labels"], startedAt: number, at: number): MetricPoint | undefined {
  const { count, sum, min, max, histogram } = series.sinceStart();
  if (count === 0) return undefined;
  return {
    metric: series.metric as MetricName,
    labels,
    ...{ startedAt, at, count, min, max },
    sum: series.kind === "gauge" ? series.last : sum,
    ...(histogram && { histogram: histogram.encode() }),
    exemplars: [...(series.exemplars?.values() ?? [])],
  };
}

/** Units by UCUM, as OpenTelemetry has them. */
const UNITS: Readonly<Record<MetricUnit, string>> = { one: "1", ratio: "1", seconds: "s", bytes: "By" };

/** The messages of points: one for each metric, by the name `svc.` and its own. */
export function sentMetrics(points: readonly MetricPoint[]): MessageInitShape<typeof MetricSchema>[] {
  return [...Map.groupBy(points, ({ metric }) => metric)].map(([name, own]) => {
    const { kind, summary, unit } = metricNamed(name);
    const metric = { name: `svc.${name}`, description: summary, unit: UNITS[unit] };
    const aggregationTemporality = AggregationTemporality.CUMULATIVE;
    if (kind === "histogram")
      return {
        ...metric,
        data: { case: "exponentialHistogram", value: { aggregationTemporality, dataPoints: own.map(histogramPoint) } },
      } as const;
    const dataPoints = own.map(({ sum, ...point }) => ({
      ...timesOf(point),
      value: { case: "asDouble", value: sum } as const,
    }));
    return kind === "gauge"
      ? ({ ...metric, data: { case: "gauge", value: { dataPoints } } } as const)
      : ({ ...metric, data: { case: "sum", value: { dataPoints, aggregationTemporality, isMonotonic: true } } } as const);
  });
}

function timesOf({ startedAt, at, labels }: Pick<MetricPoint, "startedAt" | "at" | "labels">) {
  return {
    attributes: sentAttributes(labels),
    startTimeUnixNano: nanoseconds(startedAt * 1_000),
    timeUnixNano: nanoseconds(at * 1_000),
  };
}

function histogramPoint(point: MetricPoint): MessageInitShape<typeof ExponentialHistogramDataPointSchema> {
  const histogram = point.histogram ? ExponentialHistogram.decode(point.histogram) : new ExponentialHistogram();
  const buckets = histogram.buckets();
  const offset = buckets[0]?.[0] ?? 0;
  const bucketCounts = Array.from({ length: (buckets.at(-1)?.[0] ?? offset - 1) - offset + 1 }, () => 0n);
  for (const [index, count] of buckets) bucketCounts[index - offset] = BigInt(count);
  return {
    ...timesOf(point),
    count: BigInt(point.count),
    sum: point.sum,
    min: point.min,
    max: point.max,
    scale: SCALE,
    zeroCount: BigInt(histogram.zeros),
    zeroThreshold: ExponentialHistogram.ZERO_BOUND,
    positive: { offset, bucketCounts },
    exemplars: point.exemplars.map(exemplarMessage),
  };
}

function exemplarMessage({ at, traceId, value }: Exemplar): MessageInitShape<typeof ExemplarSchema> {
  return {
    timeUnixNano: nanoseconds(at * 1_000),
    value: { case: "asDouble", value },
    ...(/^[\da-f]{32}$/.test(traceId) && { traceId: Uint8Array.fromHex(traceId) }),
  };
}
