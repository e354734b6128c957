/** Metrics that an application sent by OTLP, as points of series of the platform's own kinds. */

import type { ExportMetricsServiceRequest } from "../../../gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.ts";
import {
  AggregationTemporality,
  DataPointFlags,
  type ExponentialHistogramDataPoint,
  type HistogramDataPoint,
  type Metric,
  type NumberDataPoint,
  type Exemplar as SentExemplar,
} from "../../../gen/opentelemetry/proto/metrics/v1/metrics_pb.ts";
import type { LabelsOf } from "../../domain/metrics/metric.ts";
import { MAX_LABEL } from "../metrics/recorder.ts";
import type { Exemplar } from "../stores/metrics/store.ts";
import { receivedAttributes } from "./attributes.ts";
import {
  AHEAD_MS,
  idOf,
  MAX_ATTRIBUTES,
  type Received,
  type ReceivedPlace,
  Rejected,
  type Service,
  serviceOf,
  Taking,
} from "./received.ts";

/** A point of an application's series. */
export interface ReceivedPoint {
  readonly environmentId: string;
  readonly labels: LabelsOf<"app.counter">;
  /** What tells the sender and its series from all others of the environment. */
  readonly stream: string;
  /** When the sender began to count, epoch nanoseconds; 0 = it does not say. */
  readonly startedAt: bigint;
  /** Epoch nanoseconds. */
  readonly at: bigint;
  /** Whether it is the sum since the sender began, and not since its last point. */
  readonly isCumulative: boolean;
  readonly value: PointValue;
  readonly exemplars: readonly Exemplar[];
}

/** What a point says; `change`: of a sum that goes up and down, what it went by. */
export type PointValue =
  | { readonly kind: "counter" | "gauge" | "change"; readonly number: number }
  | { readonly kind: "histogram"; readonly histogram: PointHistogram };

/** The values that a histogram counted. */
export interface PointHistogram {
  readonly count: number;
  /** Absent when the sender does not add them up. */
  readonly sum: number | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly buckets: PointBuckets;
}

/**
 * Counts of values. Explicit ones are between bounds, the first up to the first bound, the last
 * above the last. Exponential ones are by index, those of values of about zero and below together.
 */
export type PointBuckets =
  | { readonly kind: "explicit"; readonly bounds: readonly number[]; readonly counts: readonly number[] }
  | { readonly kind: "exponential"; readonly scale: number; readonly zeros: number; readonly counts: ReadonlyMap<number, number> };

/** Most buckets of a histogram, and of all of a request. */
const MAX_BUCKETS = 500;
const MAX_ALL_BUCKETS = 100_000;
/** How old a point may be, milliseconds: it counts from when it arrives. */
const MAX_AGE_MS = 3_600_000;
const MIN_SCALE = -10;
const MAX_SCALE = 20;

/** The points of a request. */
export function receivedMetrics({ resourceMetrics }: ExportMetricsServiceRequest, place: ReceivedPlace): Received<ReceivedPoint> {
  const taking = new Taking<ReceivedPoint>();
  let buckets = 0;
  for (const { resource, scopeMetrics } of resourceMetrics) {
    const sender = JSON.stringify(Object.entries(receivedAttributes(resource?.attributes ?? [], MAX_ATTRIBUTES)).sort());
    const service = serviceOf(resource);
    for (const { scope, metrics } of scopeMetrics)
      for (const metric of metrics)
        for (const point of pointsOf(metric))
          taking.take(() => {
            buckets += bucketsOf(point);
            if (buckets > MAX_ALL_BUCKETS) throw new Rejected(`a request has at most ${MAX_ALL_BUCKETS} buckets`);
            return pointRecord(metric, point, { sender: `${sender} ${scope?.name ?? ""}`, service }, place);
          });
  }
  return taking.received();
}

type SentPoint = NumberDataPoint | HistogramDataPoint | ExponentialHistogramDataPoint;

/** The points of a metric that say something. Of a summary each is one that is rejected. */
function pointsOf({ data }: Metric): readonly SentPoint[] {
  const points: readonly SentPoint[] = (data.value?.dataPoints ?? []) as readonly SentPoint[];
  return points.filter(({ flags }) => (flags & DataPointFlags.NO_RECORDED_VALUE_MASK) === 0);
}

function bucketsOf(point: SentPoint): number {
  if ("explicitBounds" in point) return point.bucketCounts.length;
  return "scale" in point ? (point.positive?.bucketCounts.length ?? 0) + (point.negative?.bucketCounts.length ?? 0) : 0;
}

function pointRecord(
  metric: Metric,
  point: SentPoint,
  { sender, service }: { readonly sender: string; readonly service: Service },
  { environmentId, now }: ReceivedPlace,
): ReceivedPoint {
  const { name, unit } = metric;
  if (name === "" || name.length > MAX_LABEL) throw new Rejected(`a metric needs a name, of at most ${MAX_LABEL} characters`);
  if (point.timeUnixNano === 0n) throw new Rejected("a point has no time");
  const atMs = Number(point.timeUnixNano / 1_000_000n);
  if (atMs > now + AHEAD_MS) throw new Rejected("a point is of the future");
  if (atMs < now - MAX_AGE_MS) throw new Rejected("a point is older than an hour");
  const { value, isCumulative } = pointValue(metric, point);
  const attributes = Object.entries(receivedAttributes(point.attributes, MAX_ATTRIBUTES)).sort();
  const instance = service["service.instance.id"];
  // Values of now are of one instance each: only then they add up.
  const told =
    value.kind === "counter" || value.kind === "histogram" || !instance
      ? attributes
      : [["service.instance.id", instance] as const, ...attributes];
  return {
    environmentId,
    labels: { name, service: service["service.name"] ?? "", unit, attributes: attributesText(told) },
    stream: JSON.stringify([sender, name, unit, value.kind, attributes]),
    startedAt: point.startTimeUnixNano,
    at: point.timeUnixNano,
    isCumulative,
    value,
    exemplars: point.exemplars.flatMap((one) => exemplarOf(one) ?? []),
  };
}

/** Attributes as a label: `a=1,b=2`; those that find no room are left out, the last ones first. */
function attributesText(attributes: readonly (readonly [name: string, value: string])[]): string {
  let text = "";
  for (const [name, value] of attributes) {
    const pair = `${text === "" ? "" : ","}${name}=${/^[^\s,="]+$/.test(value) ? value : JSON.stringify(value)}`;
    if (text.length + pair.length > MAX_LABEL) break;
    text += pair;
  }
  return text;
}

function pointValue({ data }: Metric, point: SentPoint): Pick<ReceivedPoint, "value" | "isCumulative"> {
  switch (data.case) {
    case "gauge":
      return { value: { kind: "gauge", number: numberOf(point as NumberDataPoint) }, isCumulative: false };
    case "sum": {
      const { aggregationTemporality, isMonotonic } = data.value;
      const isCumulative = isSinceStart(aggregationTemporality);
      const number = numberOf(point as NumberDataPoint);
      if (!isMonotonic) return { value: { kind: isCumulative ? "gauge" : "change", number }, isCumulative };
      if (number < 0) throw new Rejected("a sum that only grows has a negative value");
      return { value: { kind: "counter", number }, isCumulative };
    }
    case "histogram": {
      const isCumulative = isSinceStart(data.value.aggregationTemporality);
      return { value: { kind: "histogram", histogram: explicitOf(point as HistogramDataPoint) }, isCumulative };
    }
    case "exponentialHistogram": {
      const isCumulative = isSinceStart(data.value.aggregationTemporality);
      return { value: { kind: "histogram", histogram: exponentialOf(point as ExponentialHistogramDataPoint) }, isCumulative };
    }
    default:
      throw new Rejected("a metric is a gauge, a sum or a histogram, and no summary");
  }
}

function isSinceStart(temporality: AggregationTemporality): boolean {
  if (temporality === AggregationTemporality.CUMULATIVE) return true;
  if (temporality === AggregationTemporality.DELTA) return false;
  throw new Rejected("a sum or a histogram does not say since when it counts (delta or cumulative)");
}

function numberOf({ value }: NumberDataPoint): number {
  const number = Number(value.value ?? Number.NaN);
  if (!Number.isFinite(number)) throw new Rejected("a point's value is no finite number");
  return number;
}

function explicitOf({ bucketCounts, explicitBounds: bounds, ...point }: HistogramDataPoint): PointHistogram {
  const figures = figuresOf(point);
  const counts = bucketCounts.map(countOf);
  const isSorted = bounds.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > (bounds[at - 1] as number)));
  if (!isSorted) throw new Rejected("the bounds of a histogram do not grow");
  if (counts.length > 0 && counts.length !== bounds.length + 1) throw new Rejected("a histogram has one bucket more than bounds");
  checkCounts(counts, counts.length === 0 ? undefined : figures.count);
  // Without buckets the values are in one, without bounds.
  return counts.length === 0
    ? { ...figures, buckets: { kind: "explicit", bounds: [], counts: [figures.count] } }
    : { ...figures, buckets: { kind: "explicit", bounds, counts } };
}

function exponentialOf({ scale, positive, negative, zeroCount, ...point }: ExponentialHistogramDataPoint): PointHistogram {
  if (scale < MIN_SCALE || scale > MAX_SCALE) throw new Rejected(`the scale of a histogram is ${MIN_SCALE} to ${MAX_SCALE}`);
  const figures = figuresOf(point);
  const above = (positive?.bucketCounts ?? []).map(countOf);
  const below = (negative?.bucketCounts ?? []).map(countOf);
  const zeros = countOf(zeroCount);
  checkCounts([zeros, ...above, ...below], figures.count);
  const offset = positive?.offset ?? 0;
  const counts = new Map(above.flatMap((count, at) => (count > 0 ? [[offset + at, count] as const] : [])));
  return { ...figures, buckets: { kind: "exponential", scale, zeros: below.reduce((sum, count) => sum + count, zeros), counts } };
}

function figuresOf({ count, sum, min, max }: Pick<HistogramDataPoint, "count" | "sum" | "min" | "max">): Omit<PointHistogram, "buckets"> {
  for (const figure of [sum, min, max])
    if (figure !== undefined && !Number.isFinite(figure)) throw new Rejected("a histogram's sum, minimum or maximum is no finite number");
  return { count: countOf(count), sum, min, max };
}

function checkCounts(counts: readonly number[], count: number | undefined): void {
  if (counts.length > MAX_BUCKETS) throw new Rejected(`a histogram has at most ${MAX_BUCKETS} buckets`);
  if (count !== undefined && counts.reduce((sum, one) => sum + one, 0) !== count)
    throw new Rejected("the buckets of a histogram do not have as many values as it counted");
}

function countOf(count: bigint): number {
  const number = Number(count);
  if (!Number.isSafeInteger(number)) throw new Rejected("a count is too large");
  return number;
}

function exemplarOf({ timeUnixNano, traceId, value }: SentExemplar): Exemplar | undefined {
  const [id, number] = [idOf(traceId, 16), Number(value.value ?? Number.NaN)];
  return id === "" || !Number.isFinite(number) ? undefined : { value: number, traceId: id, at: Number(timeUnixNano / 1_000_000n) };
}
