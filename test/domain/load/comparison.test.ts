import { describe, expect, test } from "bun:test";
import { LatencyHistogram } from "../../../src/domain/latency-histogram.ts";
import { compareLoads, LEAST_WINDOWS, windowsOf } from "../../../src/domain/load/comparison.ts";
import { seed } from "../../harness/seed.ts";

let state = seed;
/** Numbers from 0 to below 1, by the run's seed (a linear congruence of 32 bits). */
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
/** Seconds whose latencies wander, each near the one before, as those of a busy server do. */
const seconds = (count: number, factor = 1, drift = 0, noise = 0.4): number[] => {
  let level = 0;
  return Array.from({ length: count }, (_, at) => {
    level = 0.6 * level + (random() - 0.5) * noise;
    return 10 * factor * Math.exp(level) * (1 + (drift * at) / count);
  });
};
const windowed = (valuesMs: readonly number[], percent = 99) => ({ percent, windowS: 1, valuesMs });
const verdicts = (pairs: number, make: () => [number[], number[]]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (let at = 0; at < pairs; at++) {
    const [base, other] = make();
    const { verdict } = compareLoads(windowed(base), windowed(other));
    counts[verdict] = (counts[verdict] ?? 0) + 1;
  }
  return counts;
};

describe("compareLoads", () => {
  test("two runs of the same are seldom told apart", () => {
    const { within_noise = 0 } = verdicts(40, () => [seconds(60), seconds(60)]);
    expect(within_noise).toBeGreaterThanOrEqual(34);
  });

  test("what is half as slow again is told apart, either way", () => {
    expect(verdicts(8, () => [seconds(120), seconds(120, 1.5)]).slower).toBeGreaterThanOrEqual(7);
    expect(verdicts(8, () => [seconds(120, 1.5), seconds(120)]).faster).toBeGreaterThanOrEqual(7);
  });

  test("a run that drifts by as much is no proof", () => {
    expect(verdicts(8, () => [seconds(120, 1, 0, 0.04), seconds(120, 1, 0.8, 0.04)]).slower ?? 0).toBe(0);
  });

  test("a run of few windows is too short, and an empty one has no median", () => {
    expect(compareLoads(windowed(seconds(60)), windowed(seconds(LEAST_WINDOWS - 1))).verdict).toBe("too_short");
    expect(compareLoads(windowed([]), windowed(seconds(60)))).toMatchObject({ verdict: "too_short", baseMs: 0, change: 0 });
  });

  test("the same two runs give the same interval, which holds the change", () => {
    const [base, other] = [windowed(seconds(60)), windowed(seconds(60, 1.2))];
    const first = compareLoads(base, other);
    expect(compareLoads(base, other)).toEqual(first);
    expect(first.low).toBeLessThanOrEqual(first.change);
    expect(first.high).toBeGreaterThanOrEqual(first.change);
  });

  test("latencies of zero are compared", () => {
    expect(compareLoads(windowed(Array(20).fill(0)), windowed(Array(20).fill(0)))).toMatchObject({ verdict: "within_noise", change: 0 });
  });
});

describe("windowsOf", () => {
  const second = (...micros: number[]): LatencyHistogram => {
    const histogram = new LatencyHistogram();
    for (const value of micros) histogram.record(value);
    return histogram;
  };

  test("a window has as many seconds as hold queries enough for the percentile", () => {
    const all = Array.from({ length: 40 }, (_, at) => second(...Array(10).fill(1000 * (at + 1))));
    expect(windowsOf(50, 10, all)).toEqual({ percent: 50, windowS: 1, valuesMs: all.map((_, at) => at + 1) });
    expect(windowsOf(99, 10, all)).toEqual({ percent: 99, windowS: 10, valuesMs: [10, 20, 30, 40] });
    expect(windowsOf(99.9, 10, all).valuesMs).toEqual([]);
  });

  test("what is over at the end, and seconds without a query, give none", () => {
    expect(windowsOf(90, 5, [second(1000), second(2000), second(3000)])).toEqual({ percent: 90, windowS: 2, valuesMs: [2] });
    expect(windowsOf(50, 10, [second(), second(5000)]).valuesMs).toEqual([5]);
  });
});
