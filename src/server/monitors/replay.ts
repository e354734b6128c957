/** What a monitor would have done: its values of the past, and the states that they lead to. */

import { breaks, REPLAYED_BY_MINUTE_MS, REPLAYED_LATER_BY_MS, type Watch } from "../../domain/metrics/monitor.ts";
import { evaluateMetrics } from "../metrics/evaluation.ts";
import type { MetricReader } from "../metrics/reader.ts";
import type { MonitorStanding } from "../stores/metadata/monitors.ts";
import { type Observed, standingAfter } from "./standing.ts";

/** A time in which the monitor would have fired. */
export interface Firing {
  readonly firedAt: number;
  /** Undefined = it would still fire. */
  readonly resolvedAt: number | undefined;
  /** The value that is farthest beyond the bound while it fires. */
  readonly worst: number;
  /** Labels of the series that it is of. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A replay; times are epoch milliseconds. */
export interface Replay {
  /** The first and the last time at which a value ends. */
  readonly from: number;
  readonly until: number;
  /** Time between two evaluations. */
  readonly stepMs: number;
  readonly evaluations: number;
  /** Evaluations that found no value. */
  readonly withoutValue: number;
  /** Evaluations whose value broke the bound. */
  readonly broken: number;
  readonly firings: readonly Firing[];
}

const MINUTE_MS = 60_000;
/** Most evaluations in the length of a period: each takes a read of the whole range. */
const MAX_OVERLAP = 12;
/** Most periods of one read. */
const MAX_PERIODS = 1_500;

/**
 * The value of an expression in the period before a time, and its series: of several that with the
 * worst value.
 */
export async function observe(
  reader: Pick<MetricReader, "read">,
  environmentId: string,
  watch: Watch,
  at: number,
  now: number,
): Promise<Observed> {
  const [observed] = await observeAll(reader, environmentId, watch, { from: at - watch.periodMs, before: at, now });
  return observed ?? { at, value: undefined, labels: {} };
}

/** The values of the periods of a range, one after the other. */
async function observeAll(
  reader: Pick<MetricReader, "read">,
  environmentId: string,
  { expression, isBelow, periodMs: stepMs }: Watch,
  range: { readonly from: number; readonly before: number; readonly now: number },
): Promise<Observed[]> {
  const question = { environmentId, expressions: [expression], stepMs, startsAtOrigin: true, excludesIncomplete: true, ...range };
  const { answers, times } = await evaluateMetrics(reader, question);
  const series = answers[0]?.series ?? [];
  return times.map((time, index): Observed => {
    let worst: Observed = { at: time + stepMs, value: undefined, labels: {} };
    for (const { labels, values } of series) {
      const value = values[index];
      if (value === undefined) continue;
      if (worst.value === undefined || (isBelow ? value < worst.value : value > worst.value)) worst = { ...worst, value, labels };
    }
    return worst;
  });
}

/** Milliseconds between two evaluations of a replay. */
function replayStep(periodMs: number, isOld: boolean): number {
  const unit = isOld ? REPLAYED_LATER_BY_MS : MINUTE_MS;
  let step = unit;
  while (periodMs % step !== 0 || periodMs / step > MAX_OVERLAP) step += unit;
  return step;
}

/**
 * Replays a monitor over a time that ended.
 * @param sinceMs milliseconds to look back, at most `longestReplay`
 */
export async function replay(
  reader: Pick<MetricReader, "read">,
  key: Pick<MonitorStanding, "environmentId" | "name">,
  watch: Watch,
  { sinceMs, now, signal }: { readonly sinceMs: number; readonly now: number; readonly signal?: AbortSignal | undefined },
): Promise<Replay> {
  const { periodMs } = watch;
  const stepMs = replayStep(periodMs, sinceMs > REPLAYED_BY_MINUTE_MS);
  const until = floorTo(now, stepMs);
  const from = Math.min(until, floorTo(now - sinceMs + periodMs + stepMs - 1, stepMs));
  const observed: Observed[] = [];
  for (let offset = 0; offset < periodMs && from + offset <= until; offset += stepMs)
    for (let begin = from + offset - periodMs; begin + periodMs <= until; begin += MAX_PERIODS * periodMs) {
      signal?.throwIfAborted();
      const periods = Math.min(MAX_PERIODS, Math.floor((until - begin) / periodMs));
      observed.push(...(await observeAll(reader, key.environmentId, watch, { from: begin, before: begin + periods * periodMs, now })));
    }
  observed.sort((one, other) => one.at - other.at);
  const maxGapMs = Math.max(10 * MINUTE_MS, 2 * stepMs);
  const firings: Firing[] = [];
  let standing: MonitorStanding | undefined;
  for (const one of observed) {
    const before = standing?.firedAt;
    standing = standingAfter(key, standing, watch, one, maxGapMs);
    note(firings, before, standing, watch);
  }
  return {
    ...{ from, until, stepMs, evaluations: observed.length, firings },
    withoutValue: observed.filter(({ value }) => value === undefined).length,
    broken: observed.filter(({ value }) => value !== undefined && breaks(watch, value)).length,
  };
}

/** Notes what an evaluation means for the firings. */
function note(firings: Firing[], before: number | undefined, { evaluatedAt, firedAt, labels, value }: MonitorStanding, watch: Watch): void {
  const last = firings.at(-1);
  if (before !== undefined && firedAt === undefined && last) firings[firings.length - 1] = { ...last, resolvedAt: evaluatedAt };
  if (firedAt === undefined || value === undefined) return;
  if (before === undefined) firings.push({ firedAt, resolvedAt: undefined, worst: value, labels });
  else if (last && (watch.isBelow ? value < last.worst : value > last.worst))
    firings[firings.length - 1] = { ...last, worst: value, labels };
}

function floorTo(time: number, lengthMs: number): number {
  return Math.floor(time / lengthMs) * lengthMs;
}
