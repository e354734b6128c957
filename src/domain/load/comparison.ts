/**
 * Whether two loads differ, by a percentile of the windows of each. A run's noise is that of its
 * windows: a moving-block bootstrap, which keeps neighbours together, says how far the ratio of
 * their medians may be off; and the first and the last third of a run say how far it drifts by
 * itself.
 */

import { LatencyHistogram } from "../latency-histogram.ts";

/** A percentile of the windows of a load. */
export interface WindowedPercentile {
  /** For example 99.9. */
  readonly percent: number;
  /** Length of a window in seconds. */
  readonly windowS: number;
  /** The percentile in each whole window, in order, in milliseconds. */
  readonly valuesMs: readonly number[];
}

/** What can be said of a difference. */
export type Verdict = "within_noise" | "faster" | "slower" | "too_short";

/** How a percentile of one load differs from that of another, the base. */
export interface LoadDifference {
  readonly percent: number;
  /** Medians of the windows in milliseconds; 0 = there is none. */
  readonly baseMs: number;
  readonly otherMs: number;
  /** Change in percent of the base. */
  readonly change: number;
  /** Its interval, in percent; 0 when too short. */
  readonly low: number;
  readonly high: number;
  readonly verdict: Verdict;
}

/** Fewest windows of a load whose noise is known. */
export const LEAST_WINDOWS = 10;
/** Most windows of a load: those of a long one are longer, so that a comparison takes no time. */
const MOST_WINDOWS = 300;
/** Share of the resamples that the interval holds. */
const CONFIDENCE = 0.99;
const RESAMPLES = 2_000;
/** Least latency that a ratio is taken of, in milliseconds. */
const LEAST_MS = 0.001;

/** How verdicts come about, for people. */
export const COMPARISON_METHOD =
  "Medians of windows of each run are compared. A difference counts when the 99 % interval of a moving-block bootstrap of their ratio leaves out 1, " +
  "and when it is more than the first and the last third of either run differ by. Noise between runs, as of another machine, is not seen: repeat a run to know it.";

/**
 * The windows of a percentile: as many seconds as hold queries enough for it to be more than the
 * largest one. Seconds without a query count as none.
 * @param seconds the latencies of each second, in microseconds
 */
export function windowsOf(percent: number, qps: number, seconds: readonly LatencyHistogram[]): WindowedPercentile {
  const needed = 1 / Math.max(1 - percent / 100, 1e-6);
  const windowS = Math.max(1, Math.ceil(needed / qps - 1e-9), Math.ceil(seconds.length / MOST_WINDOWS));
  const valuesMs: number[] = [];
  for (let at = 0; at + windowS <= seconds.length; at += windowS) {
    const window = new LatencyHistogram();
    for (const second of seconds.slice(at, at + windowS)) window.add(second);
    if (window.count > 0) valuesMs.push(window.percentile(percent) / 1000);
  }
  return { percent, windowS, valuesMs };
}

/** Compares a percentile of two loads. The same two give the same difference every time. */
export function compareLoads(base: WindowedPercentile, other: WindowedPercentile): LoadDifference {
  const [from, to] = [base.valuesMs.map(atLeast), other.valuesMs.map(atLeast)];
  const [baseMs, otherMs] = [median(from), median(to)];
  const known = { percent: base.percent, baseMs, otherMs, change: from.length > 0 && to.length > 0 ? percentOf(otherMs / baseMs) : 0 };
  if (from.length < LEAST_WINDOWS || to.length < LEAST_WINDOWS) return { ...known, low: 0, high: 0, verdict: "too_short" };
  const random = randomNumbers();
  const ratios = Float64Array.from({ length: RESAMPLES }, () => median(resample(to, random)) / median(resample(from, random))).sort();
  const tail = Math.floor(((1 - CONFIDENCE) / 2) * RESAMPLES);
  const [low, high] = [ratios[tail] as number, ratios[RESAMPLES - 1 - tail] as number];
  const drift = Math.max(driftOf(from), driftOf(to));
  const isSeen = (low > 1 || high < 1) && Math.abs(Math.log(otherMs / baseMs)) > drift;
  const verdict: Verdict = !isSeen ? "within_noise" : otherMs > baseMs ? "slower" : "faster";
  return { ...known, low: percentOf(low), high: percentOf(high), verdict };
}

function atLeast(ms: number): number {
  return Math.max(ms, LEAST_MS);
}

function percentOf(ratio: number): number {
  return (ratio - 1) * 100;
}

/** How far the medians of the outer thirds of a run are apart, as the logarithm of their ratio. */
function driftOf(values: readonly number[]): number {
  const third = Math.floor(values.length / 3);
  return Math.abs(Math.log(median(values.slice(-third)) / median(values.slice(0, third))));
}

/** As many values, in blocks of neighbours that begin anywhere. */
function resample(values: readonly number[], random: () => number): number[] {
  const block = Math.max(1, Math.round(values.length ** (1 / 3)));
  const picked: number[] = [];
  while (picked.length < values.length) {
    const start = Math.floor(random() * (values.length - block + 1));
    picked.push(...values.slice(start, start + block));
  }
  return picked.slice(0, values.length);
}

function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? (sorted[half] as number) : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
}

/** Numbers from 0 to below 1, the same ones every time (mulberry32). */
function randomNumbers(): () => number {
  let state = 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
