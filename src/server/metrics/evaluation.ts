/**
 * Values of metric expressions over time: what to read, by which periods, and one number of each
 * period's records.
 *
 * A period without records has no value. What is counted from zero (counters, and the count of a
 * histogram) is 0 there as long as a server ran, which the processor time tells that every server
 * records; otherwise it has no value either.
 */

import { formatDuration } from "../../domain/duration.ts";
import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";
import {
  countsFromZero,
  isRollup,
  type MetricExpression,
  type MetricFunction,
  type MetricOperation,
  type MetricTerm,
  printMetricExpression,
  quantileOf,
  termsOf,
} from "../../domain/metrics/expression.ts";
import { isOfServer, MAX_SERIES, type MetricDefinition, metricNamed, SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import { Failure } from "../failure.ts";
import { BucketSum } from "../stores/metrics/bucket-sum.ts";
import type { MetricBucket, MetricGroup } from "../stores/metrics/store.ts";
import type { MetricReader } from "./reader.ts";

/** Most points of a series, and most that an answer has where no period is stated. */
export const MAX_POINTS = 2_000;
export const USUAL_POINTS = 300;
/** Most series of an expression. */
export const MAX_GROUPS = 100;
/** Most points of all series of an expression, and most buckets that are read for it. */
const MAX_ALL_POINTS = 60_000;
const MAX_BUCKETS = 150_000;
/** Buckets after which other calls have their turn. */
const BUCKETS_OF_TURN = 1_000;
const MAX_RANGE_MS = 5 * 366 * 86_400_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Shorter periods than minutes are kept for this long. */
const LIVE_MS = HOUR_MS;
/** The periods by which records are kept, from this age on. */
const KEPT_BY = [
  { age: 30 * DAY_MS, periodMs: HOUR_MS },
  { age: 2 * DAY_MS, periodMs: 10 * MINUTE_MS },
] as const;
/** Lengths of periods that are chosen when none is stated. */
const STEPS_MS = [
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7].map((days) => days * DAY_MS),
];

/** What is asked for. */
export interface MetricQuestion {
  /** Environment whose metrics are meant; those about the server are the server's. */
  readonly environmentId: string;
  readonly expressions: readonly MetricExpression[];
  /** Beginning and end, epoch milliseconds: whole periods are answered that have a part of it. */
  readonly from: number;
  readonly before: number;
  /** Length of the periods; undefined = as the expressions say, else by the range. */
  readonly stepMs?: number | undefined;
  /** Whether periods are counted from the beginning, and not from 1970. */
  readonly startsAtOrigin?: boolean;
  /** Whether a last period that is not over is left out. */
  readonly excludesIncomplete?: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Values of an expression for one set of labels. */
export interface EvaluatedSeries {
  /** Values of the labels that the expression is grouped by. */
  readonly labels: Readonly<Record<string, string>>;
  /** A value for each period; undefined = there is none. */
  readonly values: readonly (number | undefined)[];
}

/** Values of expressions. */
export interface Evaluation {
  readonly stepMs: number;
  /** Beginnings of the periods, epoch milliseconds. */
  readonly times: readonly number[];
  /** Whether the last period is not over. */
  readonly isIncomplete: boolean;
  /** Of each expression its series in the order of their labels, and how many were left out. */
  readonly answers: readonly { readonly series: readonly EvaluatedSeries[]; readonly omitted: number }[];
}

/** The periods of an answer. */
interface Periods {
  readonly from: number;
  readonly stepMs: number;
  readonly count: number;
  /** Length of the periods that are read and merged. */
  readonly readMs: number;
}

/** What terms are computed from. */
interface Source {
  readonly reader: Pick<MetricReader, "read">;
  readonly environmentId: string;
  readonly periods: Periods;
  /** For each period what is counted without records: 0, or undefined when no server ran. */
  readonly zeros: readonly (0 | undefined)[];
  readonly maxGroups: number;
  /** Terms that were computed, by their text. */
  readonly known: Map<string, Operand>;
}

/** Values by the labels' values. */
interface Operand {
  readonly by: readonly string[];
  readonly series: ReadonlyMap<string, EvaluatedSeries>;
  readonly omitted: number;
  /** Values of a set of labels that is not among the series. */
  readonly absent: readonly (number | undefined)[];
}

/**
 * Answers a question. Rejects with Failure invalid_argument for a range or a period that is not
 * possible, and resource_exhausted when too much would have to be read.
 */
export async function evaluateMetrics(reader: Pick<MetricReader, "read">, question: MetricQuestion): Promise<Evaluation> {
  const periods = periodsOf(question);
  const { count, from, stepMs } = periods;
  const times = Array.from({ length: count }, (_, at) => from + at * stepMs);
  const isIncomplete = count > 0 && from + count * stepMs > question.now;
  const needsZeros = question.expressions.flatMap(termsOf).some(countsFromZero);
  const zeros = needsZeros ? await runningPeriods(reader, periods, question.now) : [];
  const maxGroups = Math.max(1, Math.min(MAX_GROUPS, Math.floor(MAX_ALL_POINTS / Math.max(1, count) / question.expressions.length)));
  const source: Source = { reader, environmentId: question.environmentId, periods, zeros, maxGroups, known: new Map() };
  const answers: Evaluation["answers"][number][] = [];
  for (const expression of question.expressions) {
    const { series, omitted } = await operandOf(source, expression);
    const all = [...series.values()].sort((one, other) => (keyOf(one.labels) < keyOf(other.labels) ? -1 : 1));
    answers.push({ series: all.slice(0, maxGroups), omitted: omitted + Math.max(0, all.length - maxGroups) });
  }
  return { stepMs, times, isIncomplete, answers };
}

/**
 * The values of a term's series in a whole range, as histograms by their labels. Rejects as
 * `evaluateMetrics` does, and with Failure invalid_argument for an expression that is no percentile
 * of one histogram.
 */
export async function histogramsOf(
  reader: Pick<MetricReader, "read">,
  expression: MetricExpression,
  question: Omit<MetricQuestion, "expressions">,
): Promise<(labels: Readonly<Record<string, string>>) => ExponentialHistogram> {
  if (expression.kind !== "term" || quantileOf(expression.fn) === undefined)
    throw new Failure("invalid_argument", "Only a percentile of one histogram has buckets, such as p99:query.latency.");
  const { by, filters, metric } = expression;
  const { count, from, readMs, stepMs } = periodsOf({ ...question, expressions: [expression] });
  const { groups } = await reader.read({
    environmentId: isOfServer(metric) ? SERVER_SCOPE : question.environmentId,
    ...{ metric, filters, by, from, before: from + count * stepMs, stepMs: readMs },
    maxGroups: Math.max(1, Math.min(MAX_GROUPS, Math.floor(MAX_BUCKETS / Math.max(1, (count * stepMs) / readMs)))),
  });
  const histograms = new Map<string, ExponentialHistogram>();
  for (const { buckets, labels } of groups) {
    const key = keyOf(Object.fromEntries(by.map((label) => [label, labels[label] ?? ""])));
    const merged = histograms.get(key) ?? new ExponentialHistogram();
    histograms.set(key, merged);
    for (const { histogram } of buckets) if (histogram) merged.mergeEncoded(histogram);
  }
  return (labels) => histograms.get(keyOf(labels)) ?? new ExponentialHistogram();
}

/** The periods that a question is about. */
function periodsOf(question: MetricQuestion): Periods {
  const { before, excludesIncomplete = false, from, now, startsAtOrigin = false } = question;
  if (!(from < before)) throw new Failure("invalid_argument", "The beginning of the range is not before its end.");
  if (from < 0) throw new Failure("invalid_argument", "The range begins before 1970.");
  if (before - from > MAX_RANGE_MS) throw new Failure("invalid_argument", "The range is longer than five years.");
  const keptMs = KEPT_BY.find(({ age }) => now - from > age)?.periodMs ?? MINUTE_MS;
  const stepMs = statedStep(question) ?? STEPS_MS.find((step) => step % keptMs === 0 && (before - from) / step < USUAL_POINTS);
  if (stepMs === undefined) throw new Failure("invalid_argument", "The range is too long.");
  const isLive = stepMs % MINUTE_MS !== 0;
  if (isLive && now - from > LIVE_MS)
    throw notPossible(stepMs, "periods that are no whole minutes are kept for an hour only", "Ask for at most an hour, or by minutes.");
  if (!isLive && stepMs % keptMs !== 0)
    throw notPossible(
      stepMs,
      `records of ${new Date(from).toISOString()} are kept by ${formatDuration(keptMs)}`,
      `Take a multiple of ${formatDuration(keptMs)}.`,
    );
  const readMs = startsAtOrigin ? originStep(from, stepMs, isLive ? 10_000 : keptMs) : stepMs;
  const first = startsAtOrigin ? floorTo(from, readMs) : floorTo(from, stepMs);
  const begun = Math.max(0, Math.ceil((Math.min(before, now) - first) / stepMs));
  const count = excludesIncomplete && first + begun * stepMs > now ? Math.max(0, begun - 1) : begun;
  if (count > MAX_POINTS)
    throw notPossible(
      stepMs,
      `it makes ${count} points of the range, and ${MAX_POINTS} are the most`,
      "Take a longer period or a shorter range.",
    );
  return { from: first, stepMs, count, readMs };
}

/** The length of periods that is stated; undefined when none is. */
function statedStep({ expressions, stepMs }: MetricQuestion): number | undefined {
  const stated = new Set(expressions.flatMap(termsOf).flatMap(({ rollupMs }) => rollupMs ?? []));
  if (stepMs !== undefined) stated.add(stepMs);
  const [one, another] = stated;
  if (another !== undefined)
    throw new Failure(
      "invalid_argument",
      `Periods of ${formatDuration(one as number)} and of ${formatDuration(another)} do not go together.`,
      {
        hint: "State one of them, or the same everywhere.",
      },
    );
  if (one !== undefined && !isRollup(one)) throw notPossible(one, "they have 10s to 366d", "Take a multiple of 10s.");
  return one;
}

/** The longest periods that are kept and of which those can be made that begin at an origin. */
function originStep(from: number, stepMs: number, keptMs: number): number {
  const offset = floorTo(from % stepMs, keptMs);
  return (
    [stepMs, ...STEPS_MS.toReversed(), keptMs].find((step) => step % keptMs === 0 && stepMs % step === 0 && offset % step === 0) ?? keptMs
  );
}

function notPossible(stepMs: number, why: string, hint: string): Failure {
  return new Failure("invalid_argument", `Periods of ${formatDuration(stepMs)} are not possible: ${why}.`, { hint });
}

/** For each period 0 when a server ran in it, else undefined. */
async function runningPeriods(reader: Pick<MetricReader, "read">, periods: Periods, now: number): Promise<(0 | undefined)[]> {
  // What is shorter than a minute is read of this node alone, which runs.
  const readMs = Math.max(periods.readMs, MINUTE_MS);
  const { count, from, stepMs } = periods;
  const before = from + count * stepMs;
  const selection = { environmentId: SERVER_SCOPE, metric: "process.cpu", filters: [], by: [], from: floorTo(from, readMs), before };
  const { groups } = await reader.read({ ...selection, stepMs: readMs, maxGroups: 1 });
  const ran = new Array<0 | undefined>(count).fill(undefined);
  for (const { at } of groups[0]?.buckets ?? [])
    for (let time = Math.max(at, from); time < Math.min(at + readMs, before); time += Math.min(readMs, stepMs))
      ran[Math.floor((time - from) / stepMs)] = 0;
  // This server runs, and may not have recorded so yet.
  for (let at = count - 1; at >= 0 && from + (at + 1) * stepMs > now - MINUTE_MS; at--) ran[at] = 0;
  return ran;
}

async function operandOf(source: Source, expression: MetricExpression): Promise<Operand> {
  if (expression.kind === "number") {
    const values = new Array<number>(source.periods.count).fill(expression.value);
    return { by: [], series: new Map([["", { labels: {}, values }]]), omitted: 0, absent: values };
  }
  if (expression.kind === "operation") {
    const left = await operandOf(source, expression.left);
    return combined(expression.operator, left, await operandOf(source, expression.right));
  }
  const key = printMetricExpression(expression);
  const operand = source.known.get(key) ?? (await termOperand(source, expression));
  source.known.set(key, operand);
  return operand;
}

/** The values of one term. */
async function termOperand({ environmentId, maxGroups, periods, reader, zeros }: Source, term: MetricTerm): Promise<Operand> {
  const { by, filters, fn, metric } = term;
  const { count, from, readMs, stepMs } = periods;
  const { kind, labels: names } = metricNamed(metric);
  const addsSeries = kind === "gauge" && fn === "sum";
  const room = Math.max(1, Math.floor(MAX_BUCKETS / Math.max(1, (count * stepMs) / readMs)));
  const { groups, omitted } = await reader.read({
    environmentId: isOfServer(metric) ? SERVER_SCOPE : environmentId,
    ...{ metric, filters, by: addsSeries ? names : by, from, before: from + count * stepMs, stepMs: readMs },
    maxGroups: Math.min(addsSeries ? MAX_SERIES : maxGroups, room),
  });
  if (addsSeries && omitted > 0)
    throw new Failure("resource_exhausted", `${printMetricExpression(term)} adds up too many series: ${groups.length + omitted}.`, {
      hint: "Take a filter, a longer period, or a shorter range.",
    });
  const isFromZero = countsFromZero(term);
  const absent = isFromZero ? zeros : new Array<undefined>(count).fill(undefined);
  const valueOfBucket = bucketFunction(fn, kind);
  const valuesOf = (group: MetricGroup): (number | undefined)[] => {
    const values: (number | undefined)[] = [...absent];
    for (const bucket of inPeriods(group.buckets, periods)) values[(bucket.at - from) / stepMs] = valueOfBucket(bucket);
    return values;
  };
  let computed = 0;
  const series = new Map<string, EvaluatedSeries>();
  for (const group of groups) {
    const labels = Object.fromEntries(by.map((label) => [label, group.labels[label] ?? ""]));
    const key = keyOf(labels);
    const known = series.get(key);
    const values = valuesOf(group);
    computed += group.buckets.length;
    if (computed >= BUCKETS_OF_TURN) {
      computed = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    series.set(key, { labels, values: known ? known.values.map((value, at) => added(value, values[at])) : values });
  }
  if (by.length === 0 && isFromZero && series.size === 0 && absent.includes(0)) series.set("", { labels: {}, values: absent });
  // A set of labels that was left out for want of room is not without records.
  return { by, series, omitted, absent: omitted > 0 ? new Array<undefined>(count).fill(undefined) : absent };
}

/** Buckets of the periods that are read, merged into those of the answer. */
function inPeriods(buckets: readonly MetricBucket[], { from, readMs, stepMs }: Periods): readonly MetricBucket[] {
  if (readMs === stepMs) return buckets;
  const sums = new Map<number, BucketSum>();
  for (const { at, count, histogram, max, min, sum } of buckets) {
    const period = from + floorTo(at - from, stepMs);
    const merged = sums.get(period) ?? new BucketSum();
    sums.set(period, merged);
    merged.add(count, sum, min, max, histogram);
  }
  return [...sums].map(([at, sum]) => sum.bucketAt(at));
}

/** What a function makes of a period's records. */
function bucketFunction(fn: MetricFunction, kind: MetricDefinition["kind"]): (bucket: MetricBucket) => number | undefined {
  const quantile = quantileOf(fn);
  if (quantile !== undefined) {
    const merged = new ExponentialHistogram();
    return ({ histogram, max, min }) => {
      merged.clear();
      if (histogram) merged.mergeEncoded(histogram);
      const value = merged.quantile(quantile);
      return value === undefined ? undefined : Math.min(Math.max(value, min), max);
    };
  }
  if (fn === "min") return ({ min }) => min;
  if (fn === "max") return ({ max }) => max;
  if (kind === "counter") return ({ sum }) => sum;
  if (kind === "histogram" && fn === "count") return ({ count }) => count;
  return kind === "histogram" && fn === "sum" ? ({ sum }) => sum : ({ count, sum }) => sum / count;
}

/** The values of both sides for each set of labels that one of them has. */
function combined(operator: MetricOperation["operator"], left: Operand, right: Operand): Operand {
  const by = left.by.length > 0 ? left.by : right.by;
  const calculated = (one: readonly (number | undefined)[], other: readonly (number | undefined)[]) =>
    one.map((value, at) => calculate(operator, value, other[at]));
  const valuesIn = (side: Operand, key: string) => side.series.get(side.by.length > 0 ? key : "")?.values ?? side.absent;
  const keys = new Map<string, EvaluatedSeries>();
  for (const side of [left, right]) if (side.by.length === by.length) for (const [key, one] of side.series) keys.set(key, one);
  const series = [...keys].map(([key, { labels }]) => {
    const values = calculated(valuesIn(left, key), valuesIn(right, key));
    return [key, { labels: Object.fromEntries(by.map((label) => [label, labels[label] ?? ""])), values }] as const;
  });
  return {
    by,
    series: new Map(series),
    omitted: Math.max(left.omitted, right.omitted),
    absent: calculated(left.absent, right.absent),
  };
}

/** The value of an operation; undefined when an operand is, and when it is divided by zero. */
function calculate(operator: MetricOperation["operator"], left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return undefined;
  const value = operator === "+" ? left + right : operator === "-" ? left - right : operator === "*" ? left * right : left / right;
  return Number.isFinite(value) ? value : undefined;
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : other === undefined ? one : one + other;
}

/** The key of a set of labels, whatever their order. */
function keyOf(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((name) => labels[name])
    .join("\0");
}

function floorTo(time: number, lengthMs: number): number {
  return Math.floor(time / lengthMs) * lengthMs;
}
