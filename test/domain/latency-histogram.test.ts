import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LatencyHistogram } from "../../src/domain/latency-histogram.ts";
import { seeded } from "../harness/seed.ts";

const PERCENTS = [0, 1, 50, 75, 90, 95, 99, 99.9, 100];
/**
 * Values of every size: small ones, powers of two and their neighbours, and whole numbers up to the
 * largest.
 */
const latency = fc.oneof(
  fc.integer({ min: 0, max: 5000 }),
  fc.tuple(fc.integer({ min: 0, max: 52 }), fc.integer({ min: -2, max: 2 })).map(([power, off]) => Math.max(0, 2 ** power + off)),
  fc.maxSafeNat(),
);

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** The definition, on the values themselves. */
function exactPercentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const needed = sorted.findIndex((_, at) => (at + 1) * 1000 >= Math.round(percent * 10) * sorted.length);
  return sorted[needed] as number;
}

describe("LatencyHistogram", () => {
  test("percentiles are within a thousandth of the true ones, and exact below 2,048", () => {
    fc.assert(
      fc.property(fc.array(latency, { minLength: 1, maxLength: 300 }), (values) => {
        const histogram = histogramOf(values);
        for (const percent of PERCENTS) {
          const exact = exactPercentile(values, percent);
          const got = histogram.percentile(percent);
          expect(got).toBeGreaterThanOrEqual(exact);
          expect(got).toBeLessThanOrEqual(exact < 2048 ? exact : exact * (1 + 1 / 1024));
        }
        expect([histogram.count, histogram.min, histogram.max]).toEqual([values.length, Math.min(...values), Math.max(...values)]);
        expect(histogram.percentile(100)).toBe(histogram.max);
        const mean = values.reduce((sum, value) => sum + value / values.length, 0);
        expect(Math.abs(histogram.mean - mean)).toBeLessThanOrEqual(1e-9 * mean + 1e-9);
      }),
      seeded(300),
    );
  });

  test("every value lies in the one bucket that counts it, and buckets neither overlap nor leave gaps in order", () => {
    fc.assert(
      fc.property(latency, (value) => {
        const [bucket, ...others] = [...histogramOf([value]).buckets()];
        expect(others).toEqual([]);
        expect(bucket?.from).toBeLessThanOrEqual(value);
        expect(bucket?.to).toBeGreaterThanOrEqual(value);
        const [next] = [...histogramOf([Math.min((bucket?.to ?? 0) + 1, Number.MAX_SAFE_INTEGER)]).buckets()];
        if ((bucket?.to ?? 0) < Number.MAX_SAFE_INTEGER) expect(next?.from).toBe((bucket?.to ?? 0) + 1);
      }),
      seeded(300),
    );
  });

  test("bins cover all values once, in order", () => {
    fc.assert(
      fc.property(fc.array(latency, { minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (values, count) => {
        const histogram = histogramOf(values);
        const bins = histogram.bins(count);
        expect(bins.length).toBeLessThanOrEqual(count);
        expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(values.length);
        expect(bins[0]?.from).toBe(histogram.min);
        expect(bins.at(-1)?.to).toBe(histogram.max);
        for (const [at, { from }] of bins.entries()) if (at > 0) expect(from).toBe((bins[at - 1]?.to ?? 0) + 1);
      }),
      seeded(300),
    );
  });

  test("nothing recorded", () => {
    const empty = new LatencyHistogram();
    expect([empty.count, empty.min, empty.max, empty.mean, empty.percentile(99), empty.bins(5)]).toEqual([0, 0, 0, 0, 0, []]);
  });

  test("fractions are rounded, negative values count as 0", () => {
    expect([...histogramOf([0.4, -3, 1.5]).buckets()]).toEqual([
      { from: 0, to: 0, count: 2 },
      { from: 2, to: 2, count: 1 },
    ]);
  });
});
