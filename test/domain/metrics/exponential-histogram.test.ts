import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExponentialHistogram } from "../../../src/domain/metrics/exponential-histogram.ts";
import { seeded } from "../../harness/seed.ts";

const of = (values: readonly number[]): ExponentialHistogram => {
  const histogram = new ExponentialHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
};
const seen = (histogram: ExponentialHistogram) => [histogram.zeros, histogram.count, histogram.buckets()];
const values = fc.array(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), { maxLength: 60 });

describe("exponential histogram", () => {
  test("a value is in the bucket whose bounds are around it", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e14, noNaN: true }), (value) => {
        const index = ExponentialHistogram.indexOf(value) as number;
        expect(value).toBeLessThanOrEqual(ExponentialHistogram.upperBound(index) * (1 + 1e-12));
        expect(value).toBeGreaterThan(ExponentialHistogram.upperBound(index - 1) * (1 - 1e-12));
      }),
      seeded(500),
    );
  });

  test("what is no positive number counts as zero, and what is too large in the last bucket", () => {
    const histogram = of([0, -1, Number.NaN, 1e-12, Number.NEGATIVE_INFINITY]);
    expect(seen(histogram)).toEqual([5, 5, []]);
    expect(histogram.quantile(0.5)).toBe(0);
    expect(of([1e300, Number.POSITIVE_INFINITY]).buckets()).toEqual([[399, 2]]);
    expect(of([]).quantile(0.5)).toBeUndefined();
  });

  test("merging is the same in any order, and as if all values were in one", () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const left = of(a);
        left.merge(of(b));
        left.merge(of(c));
        const right = of(c);
        right.merge(of(a));
        right.mergeEncoded(of(b).encode());
        expect(seen(left)).toEqual(seen(right));
        expect(seen(left)).toEqual(seen(of([...a, ...b, ...c])));
        left.clear();
        expect(seen(left)).toEqual([0, 0, []]);
      }),
      seeded(200),
    );
  });

  test("ranges have all values but zeros, without gaps, within their bounds, and no more than were asked for", () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 40 }), (given, most) => {
        const ranges = of([...given, 0]).ranges(most);
        expect(ranges.length).toBeLessThanOrEqual(most);
        expect(ranges.reduce((sum, { count }) => sum + count, 0)).toBe(given.length);
        for (const [at, { from }] of ranges.entries()) if (at > 0) expect(from).toBe(ranges[at - 1]?.to as number);
        for (const { from, to, count } of ranges)
          expect(given.filter((value) => value > from * (1 + 1e-9) && value <= to * (1 - 1e-9)).length).toBeLessThanOrEqual(count);
      }),
      seeded(200),
    );
    expect(of([0]).ranges(10)).toEqual([]);
    expect(of([1.5, 3, 3.5, 12]).ranges(4)).toEqual([
      { from: 1, to: 2, count: 1 },
      { from: 2, to: 4, count: 2 },
      { from: 4, to: 8, count: 0 },
      { from: 8, to: 16, count: 1 },
    ]);
  });

  test("bytes lead back to it, and others are refused", () => {
    fc.assert(
      fc.property(values, (given) => {
        expect(seen(ExponentialHistogram.decode(of(given).encode()))).toEqual(seen(of(given)));
      }),
      seeded(200),
    );
    const many = of([1]);
    for (let doubling = 0; doubling < 40; doubling++) many.merge(ExponentialHistogram.decode(many.encode()));
    expect(ExponentialHistogram.decode(many.encode()).count).toBe(2 ** 40);
    expect(() => ExponentialHistogram.decode(new Uint8Array([]))).toThrow(RangeError);
    expect(() => ExponentialHistogram.decode(new Uint8Array([0, 200]))).toThrow(RangeError);
    expect(() => ExponentialHistogram.decode(new Uint8Array([0, 255, 127, 1]))).toThrow(RangeError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 30 }), (bytes) => {
        try {
          ExponentialHistogram.decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      seeded(300),
    );
  });

  test("a quantile is at most 9.1 % off", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (given, q) => {
          const exact = given.toSorted((one, other) => one - other)[Math.ceil(q * given.length) - 1] as number;
          expect(Math.abs((of(given).quantile(q) as number) / exact - 1)).toBeLessThan(0.091);
        },
      ),
      seeded(300),
    );
  });
});
