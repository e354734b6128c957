import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Bounds,
  backoffMs,
  DOWN_WINDOW_MS,
  type Measure,
  stillCounting,
  UP_WINDOW_MS,
  wantedByLoad,
} from "../../../src/server/scaling-groups/autoscaling.ts";
import { seeded } from "../../harness/seed.ts";

const BOUNDS: Bounds = { minReplicas: 1, maxReplicas: 10, targetCpu: 50 };
const NOW = 10_000_000;

/** Measures of one use, every five seconds until now. */
function steady(cpu: number, replicas: number, forMs: number): Measure[] {
  const count = Math.ceil(forMs / 5_000);
  return Array.from({ length: count + 1 }, (_, at) => ({ at: NOW - (count - at) * 5_000, cpu, replicas }));
}

describe("how many replicas a group should have", () => {
  test.each([
    ["as many as there are, at the target", steady(50, 2, DOWN_WINDOW_MS), 2, 2],
    ["as many as there are, near the target", steady(54, 2, DOWN_WINDOW_MS), 2, 2],
    ["as many as there are, before anything was measured", [], 3, 3],
    ["more, when they use more for long enough", steady(100, 2, UP_WINDOW_MS), 2, 4],
    ["no more, when they use more for a moment", [...steady(50, 2, UP_WINDOW_MS).slice(0, -1), { at: NOW, cpu: 100, replicas: 2 }], 2, 2],
    ["no more, before it was measured for long enough", steady(100, 2, 5_000), 2, 2],
    ["no more than the most", steady(100, 9, UP_WINDOW_MS), 9, 10],
    ["not all at once", steady(100, 1, UP_WINDOW_MS).map((one) => ({ ...one, cpu: 1_000 })), 1, 5],
    ["fewer, when they use less for long enough", steady(10, 5, DOWN_WINDOW_MS), 5, 1],
    [
      "not fewer, when they used more within five minutes",
      [{ at: NOW - DOWN_WINDOW_MS + 1, cpu: 50, replicas: 5 }, ...steady(10, 5, 60_000)],
      5,
      5,
    ],
    ["not fewer, before it was measured for five minutes", steady(10, 5, DOWN_WINDOW_MS - 10_000), 5, 5],
  ] as const)("%s", (_name, measures, current, wanted) => {
    expect(wantedByLoad(measures, BOUNDS, current, NOW)).toBe(wanted);
  });

  test("never fewer than the fewest, nor none", () => {
    expect(wantedByLoad(steady(0, 5, DOWN_WINDOW_MS), { ...BOUNDS, minReplicas: 2 }, 5, NOW)).toBe(2);
    expect(wantedByLoad(steady(0, 5, DOWN_WINDOW_MS), { ...BOUNDS, minReplicas: 0 }, 5, NOW)).toBe(1);
  });

  test("a use that stays leads to one number, which keeps the use at the target", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.05, max: 8, noNaN: true }), fc.integer({ min: 1, max: 100 }), (load, targetCpu) => {
        const bounds = { minReplicas: 1, maxReplicas: 1_000, targetCpu };
        let replicas = 1;
        let now = 0;
        let measures: Measure[] = [];
        for (let step = 0; step < 400; step++) {
          now += 5_000;
          measures = stillCounting([...measures, { at: now, replicas, cpu: (100 * load) / replicas }], now);
          replicas = wantedByLoad(measures, bounds, replicas, now);
        }
        const use = (100 * load) / replicas;
        expect(use).toBeLessThanOrEqual(targetCpu * 1.1 + 1e-9);
        // One less would use too much, but for the tolerance on the way down.
        if (replicas > 1) expect((100 * load) / (replicas - 1)).toBeGreaterThan(targetCpu * 0.9 - 1e-9);
      }),
      seeded(100),
    );
  });
});

test("measures are kept as long as they may count", () => {
  const measures = steady(1, 1, 2 * DOWN_WINDOW_MS);
  const kept = stillCounting(measures, NOW);
  expect(kept[0]?.at).toBe(NOW - DOWN_WINDOW_MS);
  expect(kept.at(-1)?.at).toBe(NOW);
});

test("the pause before another try grows to a minute", () => {
  expect([0, 1, 2, 3, 6, 7, 50].map(backoffMs)).toEqual([0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
});
