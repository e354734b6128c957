import { expect, test } from "bun:test";
import { SpanSampler } from "../../../src/server/query-log/span-sampler.ts";

test("one query in so many is chosen, at distances that vary, and the first no sooner than others", () => {
  let draw = 0;
  const sampler = new SpanSampler(
    () => ({ rate: 0.01, perSecond: 10 }),
    () => 0,
    () => (draw++ % 10) / 10,
  );
  const chosen = Array.from({ length: 10_000 }, (_, at) => (sampler.begins() ? at : -1)).filter((at) => at >= 0);
  expect(chosen[0]).toBe(99);
  expect(chosen.length).toBeGreaterThan(90);
  expect(chosen.length).toBeLessThan(120);
  expect(new Set(chosen.slice(1).map((at, nth) => at - (chosen[nth] ?? 0))).size).toBeGreaterThan(5);
});

test("a rate of 1 chooses all, and one of 0 none, as soon as it is set", () => {
  const sampling = { rate: 1, perSecond: 10 };
  const sampler = new SpanSampler(
    () => sampling,
    () => 0,
  );
  expect([sampler.begins(), sampler.begins()]).toEqual([true, true]);
  sampling.rate = 0;
  expect(sampler.begins()).toBe(false);
});

test("half of a second's room is left for traces that failed or took long", () => {
  let now = 0;
  const sampler = new SpanSampler(
    () => ({ rate: 1, perSecond: 10 }),
    () => now,
  );
  for (let second = 0; second < 400; second++) {
    now = second * 1_000;
    sampler.keeps(10, false);
  }
  now += 1_000;
  const usual = Array.from({ length: 20 }, () => sampler.keeps(1, false)).filter(Boolean).length;
  const failed = Array.from({ length: 20 }, () => sampler.keeps(1, true)).filter(Boolean).length;
  expect([usual, failed]).toEqual([5, 5]);
  now += 1_000;
  expect(sampler.keeps(1_000, false)).toBe(true);
});
