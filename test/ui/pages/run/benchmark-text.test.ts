/** Benchmarks in words. */

import { expect, test } from "bun:test";
import { intervalText, latencyBars, loadText, percentileText, verdictOf } from "../../../../src/ui/pages/run/benchmark-text.ts";

test("a rate for a time, or none", () => {
  expect([loadText(50, "30s"), loadText("0.5", "90.5s"), loadText(50, undefined)]).toEqual([
    "50 a second for 30s",
    "0.5 a second for 1m30s500ms",
    "none",
  ]);
});

test("a percentile is that of its name, and - where there is none", () => {
  const result = { percentiles: [{ percent: 50, ms: 1.005 }, { percent: 99.9 }] };
  expect([percentileText(result, 50), percentileText(result, 99.9), percentileText(result, 99), percentileText(undefined, 50)]).toEqual([
    "1.00",
    "0.00",
    "-",
    "-",
  ]);
});

test("bars have the bounds and counts of the histogram", () => {
  expect(
    latencyBars({
      histogram: [
        { toMs: 1.5, count: "3" },
        { fromMs: 1.5, toMs: 2 },
      ],
    }),
  ).toEqual([
    { from: 0, to: 1.5, count: 3 },
    { from: 1.5, to: 2, count: 0 },
  ]);
});

test.each([
  ["FASTER", "good", "faster", "-20.0 % to -10.0 %"],
  ["SLOWER", "bad", "slower", "-20.0 % to -10.0 %"],
  ["WITHIN_NOISE", "dim", "no difference that the noise allows to see", "-20.0 % to -10.0 %"],
  ["TOO_SHORT", "warn", "too few queries to tell: run longer, or faster", ""],
] as const)("%s has a tone and words", (name, tone, text, interval) => {
  const difference = { verdict: `BENCHMARK_VERDICT_${name}`, changeLow: -20, changeHigh: -10 } as const;
  expect(verdictOf(difference)).toEqual({ tone, text });
  expect(intervalText(difference)).toBe(interval);
});
