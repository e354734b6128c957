/** Sketches of values against plain Python over the values themselves. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FrequentValues, KEPT_VALUES, NumberSketch, readSketch, stabilityIndex } from "../../../src/domain/metrics/value-sketch.ts";
import { seeded } from "../../harness/seed.ts";

const numbers = (values: readonly number[]): NumberSketch => {
  const sketch = new NumberSketch();
  for (const value of values) sketch.record(value);
  return sketch;
};
const texts = (values: readonly string[]): FrequentValues => {
  const sketch = new FrequentValues();
  for (const value of values) sketch.record(value);
  return sketch;
};
const again = <S extends NumberSketch | FrequentValues>(sketch: S): S => readSketch(JSON.parse(JSON.stringify(sketch))) as S;

/** Quantiles, and the index over tenths of the reference, by the values themselves. */
const PYTHON = `
import json, math, random, bisect
out = []
for seed, kind, shift in [(1, "normal", 0), (2, "normal", 0.5), (3, "normal", 2), (4, "lognormal", 0), (5, "lognormal", 1)]:
    r = random.Random(seed)
    draw = (lambda s: r.gauss(s * 10, 10)) if kind == "normal" else (lambda s: r.lognormvariate(s, 1))
    reference, actual = [draw(0) for _ in range(5000)], [draw(shift) for _ in range(5000)]
    ordered = sorted(reference)
    quantiles = [ordered[math.ceil(q * len(ordered)) - 1] for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
    ends = [ordered[math.ceil(i / 10 * len(ordered)) - 1] for i in range(1, 10)]
    def shares(values):
        counts = [0] * 10
        for value in values: counts[bisect.bisect_left(ends, value)] += 1
        return [max(c / len(values), 1e-4) for c in counts]
    index = sum((a - b) * math.log(a / b) for a, b in zip(shares(actual), shares(reference)))
    out.append({"reference": reference, "actual": actual, "quantiles": quantiles, "index": index})
print(json.dumps(out))
`;

test("no quantile is beyond the values: of one they all are that one", () => {
  for (const sketch of [numbers([124_711]), again(numbers([124_711])), again(numbers([]))]) {
    if (sketch.count === 0) sketch.merge(again(numbers([124_711])));
    expect([0, 0.05, 0.5, 0.95, 1].map((share) => sketch.quantile(share))).toEqual([124_711, 124_711, 124_711, 124_711, 124_711]);
  }
  const ends = again(numbers([-3, 7, 100]));
  expect([ends.quantile(0), ends.quantile(1)]).toEqual([-3, 100]);
});

test("quantiles and the stability index are near those of the values themselves", () => {
  const { stdout, stderr } = Bun.spawnSync(["python3", "-c", PYTHON]);
  if (stdout.length === 0) throw new Error(stderr.toString());
  type Case = { readonly reference: number[]; readonly actual: number[]; readonly quantiles: number[]; readonly index: number };
  for (const { reference, actual, quantiles, index } of JSON.parse(stdout.toString()) as Case[]) {
    const sketch = numbers(reference);
    for (const [at, share] of [0.05, 0.25, 0.5, 0.75, 0.95].entries()) {
      const exact = quantiles[at] as number;
      expect(Math.abs((sketch.quantile(share) as number) - exact)).toBeLessThanOrEqual(0.095 * Math.abs(exact) + 1e-9);
    }
    const found = stabilityIndex(numbers(actual), sketch) as number;
    expect(Math.abs(found - index)).toBeLessThan(0.03 + 0.2 * index);
  }
});

describe("numbers", () => {
  const values = fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { maxLength: 80 });

  test("merge in any order, and come back from JSON", () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const one = numbers(a);
        one.merge(numbers(b));
        const other = again(numbers(b));
        other.merge(again(numbers(a)));
        expect(one.buckets()).toEqual(other.buckets());
        expect(one.buckets()).toEqual(numbers([...a, ...b]).buckets());
        expect(one.count).toBe(a.length + b.length);
      }),
      seeded(200),
    );
  });

  test("are in the bucket around them, in their order", () => {
    const buckets = numbers([-8, -1, 0, 0, 3, Number.NaN]).buckets();
    expect(buckets.map(({ count }) => count)).toEqual([1, 1, 2, 1]);
    for (const [at, value] of [-8, -1, 0, 3].entries()) {
      const { from, to } = buckets[at] as (typeof buckets)[number];
      expect(from <= value && value <= to).toBe(true);
    }
  });
});

describe("other values", () => {
  test("what is frequent is never missed, and its count never too low", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.integer({ min: 0, max: 60 }).map((n) => `v${Math.floor(n ** 2 / 60)}`),
          { maxLength: 400 },
        ),
        fc.nat(400),
        (given, cut) => {
          const sketch = again(texts(given.slice(0, cut)));
          sketch.merge(texts(given.slice(cut)));
          const exact = Map.groupBy(given, (value) => value);
          const found = new Map(sketch.values());
          expect(sketch.count).toBe(given.length);
          for (const [value, { length }] of exact) {
            if (length > (2 * given.length) / KEPT_VALUES) expect([value, found.has(value)]).toEqual([value, true]);
            if (found.has(value)) expect(found.get(value)).toBeGreaterThanOrEqual(length);
          }
        },
      ),
      seeded(300),
    );
  });

  test("the stability index grows with what changed", () => {
    const of = (red: number, blue: number, more: readonly string[] = []) =>
      texts([...new Array<string>(red).fill("red"), ...new Array<string>(blue).fill("blue"), ...more]);
    expect(stabilityIndex(of(50, 50), of(500, 500))).toBeCloseTo(0, 10);
    expect(stabilityIndex(of(80, 20), of(50, 50))).toBeCloseTo(0.3 * Math.log(1.6) - 0.3 * Math.log(0.4), 10);
    expect(stabilityIndex(of(0, 0, ["green"]), of(50, 50))).toBeGreaterThan(5);
    expect(stabilityIndex(of(0, 0), of(50, 50))).toBeUndefined();
    expect(stabilityIndex(numbers([1]), of(50, 50))).toBeUndefined();
  });
});
