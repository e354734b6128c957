/**
 * Sketches against plain counting and sorting: their bounds over several distributions and sizes,
 * the same state in any order and grouping, and states that are cut or changed.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compareValues } from "../../../src/domain/expressions/compare.ts";
import { EvaluationError } from "../../../src/domain/expressions/evaluation-error.ts";
import { DamagedState, MAX_STATE_BYTES } from "../../../src/domain/expressions/state-bytes.ts";
import { DISTINCT_ERROR, DistinctSketch, FEW as FEW_DISTINCT } from "../../../src/domain/sketches/distinct.ts";
import { ExtremeRows } from "../../../src/domain/sketches/extreme-rows.ts";
import { COUNTERS, FEWEST_COUNTERS, HeavyHitters, MAX_KEPT } from "../../../src/domain/sketches/heavy-hitters.ts";
import { FEW, QuantileSketch, rankOf } from "../../../src/domain/sketches/quantiles.ts";
import { opened, readValue, SKETCH_KINDS, sealed, stateOf } from "../../../src/domain/sketches/sealed.ts";
import { compareAny } from "../../../src/domain/sketches/total-order.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { seed, seeded } from "../../harness/seed.ts";

/** Mulberry32: uniform floats from 0 to 1. */
function randomOf(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

interface Sketch {
  merge(state: Uint8Array): void;
  encode(): Uint8Array;
}

/** The state of items that were dealt to several sketches, which were then merged in pairs. */
function mergedState<T, S extends Sketch>(make: () => S, add: (sketch: S, item: T) => void, items: readonly T[], deal: () => number): S {
  let parts = times(7, make);
  for (const item of items) add(parts[Math.floor(deal() * parts.length)] as S, item);
  while (parts.length > 1) {
    const from = Math.floor(deal() * parts.length);
    const [taken] = parts.splice(from, 1) as [S];
    const into = parts[Math.floor(deal() * parts.length)] as S;
    into.merge(taken.encode());
    parts = [...parts];
  }
  return parts[0] as S;
}

describe("different values", () => {
  const countOf = (values: Iterable<FeatureValue>): number => {
    const sketch = new DistinctSketch();
    for (const value of values) sketch.add(value);
    return sketch.result();
  };

  test("few are counted exactly, of every type", () => {
    const kinds: ((at: number) => FeatureValue)[] = [
      (at) => at,
      (at) => at / 7,
      (at) => BigInt(at) + 2n ** 60n,
      (at) => `merchant ${at}`,
      (at) => [at, null],
      (at) => ({ id: at }),
      (at) => new Uint8Array([at & 255, at >> 8]),
    ];
    for (const kind of kinds) {
      expect(countOf([...times(FEW_DISTINCT, kind), ...times(FEW_DISTINCT, kind)])).toBe(FEW_DISTINCT);
      const many = countOf(times(3000, kind));
      expect(Math.abs(many / 3000 - 1)).toBeLessThan(4 * DISTINCT_ERROR);
    }
    expect(countOf([0, -0, Number.NaN, Number.NaN])).toBe(2);
    expect(countOf([true, false, true])).toBe(2);
    expect(countOf([])).toBe(0);
  });

  test("many are estimated within the standard error, and without a bias", () => {
    const random = randomOf(seed);
    for (const size of [300, 1000, 5000, 10_000, 40_000]) {
      const errors = times(24, () => {
        const start = Math.floor(random() * 2 ** 40);
        return countOf(times(size, (at) => start + at)) / size - 1;
      });
      const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
      const spread = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
      expect(spread).toBeLessThan(1.6 * DISTINCT_ERROR);
      expect(Math.abs(mean)).toBeLessThan((4 * DISTINCT_ERROR) / Math.sqrt(errors.length));
    }
  });

  test("a million", () => {
    const sketch = new DistinctSketch();
    for (let at = 0; at < 1_000_000; at++) sketch.add(at);
    expect(Math.abs(sketch.result() / 1_000_000 - 1)).toBeLessThan(4 * DISTINCT_ERROR);
    expect(sketch.encode().length).toBeLessThan(2100);
  });

  test("any order and grouping, and repetitions, give the same state", () => {
    fc.assert(
      fc.property(fc.constantFrom(0, 1, 3, 200, 256, 257, 300, 2000), fc.nat(), (size, deal) => {
        const random = randomOf(deal);
        const values = times(size, (at) => `v${at}`);
        const repeated = [...values, ...values.filter(() => random() < 0.3)];
        const whole = mergedState(
          () => new DistinctSketch(),
          (sketch, value: string) => sketch.add(value),
          repeated,
          random,
        );
        const straight = new DistinctSketch();
        for (const value of values) straight.add(value);
        expect(whole.encode()).toEqual(straight.encode());
        expect(whole.result()).toBe(straight.result());
      }),
      seeded(40),
    );
  });
});

describe("quantiles", () => {
  const QUANTILES = [0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1];
  /** The error that a range of magnitudes allows: bins of all magnitudes fit at that many bits. */
  const DISTRIBUTIONS: Readonly<Record<string, { readonly draw: (random: () => number, at: number) => number; readonly error: number }>> = {
    "uniform from 100 to 1000": { draw: (random) => 100 + 900 * random(), error: 2 ** -10 },
    "log-normal": { draw: (random) => Math.exp(normal(random)), error: 2 ** -7 },
    "ints from 1 to a million": { draw: (random) => 1 + Math.floor(random() * 1_000_000), error: 2 ** -7 },
    "32 octaves": { draw: (random) => 2 ** (32 * random()), error: 2 ** -7 },
    "both signs": { draw: (random) => (random() < 0.4 ? -1 : 1) * 2 ** (15 * random()), error: 2 ** -7 },
    "with zeros": { draw: (random) => (random() < 0.3 ? 0 : 1 + random()), error: 2 ** -10 },
    Pareto: { draw: (random) => (1 - random()) ** -0.8, error: 2 ** -7 },
    sorted: { draw: (_, at) => at + 1, error: 2 ** -7 },
    constant: { draw: () => 42.5, error: 2 ** -10 },
    "two far apart": { draw: (random) => (random() < 0.5 ? 1e-300 : 1e300), error: 2 ** -10 },
  };

  test.each(Object.entries(DISTRIBUTIONS))("%s: within the bound at every rank", (_, { draw, error }) => {
    for (const size of [1, 2, FEW, FEW + 1, 1000, 20_000]) {
      const random = randomOf(seed + size);
      const sketch = new QuantileSketch();
      const values = new Float64Array(size).map((_, at) => draw(random, at));
      for (const value of values) sketch.add(value);
      values.sort();
      for (const quantile of QUANTILES) {
        const exact = values[Math.max(0, Math.ceil(quantile * size) - 1)] as number;
        const found = sketch.result(quantile) as number;
        if (size <= FEW || quantile === 0 || quantile === 1) expect(found).toBe(exact);
        else expect(Math.abs(found - exact)).toBeLessThanOrEqual(error * Math.abs(exact));
      }
      expect(sketch.encode().length).toBeLessThan(16_384);
    }
  });

  test("all doubles: the order holds, and the state stays bounded", () => {
    const random = randomOf(seed);
    const view = new DataView(new ArrayBuffer(8));
    const sketch = new QuantileSketch();
    for (let at = 0; at < 30_000; at++) {
      view.setUint32(0, random() * 2 ** 32);
      view.setUint32(4, random() * 2 ** 32);
      const value = view.getFloat64(0);
      if (!Number.isNaN(value)) sketch.add(value);
    }
    for (const value of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0]) sketch.add(value);
    const found = times(101, (at) => sketch.result(at / 100) as number);
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect([found[0], found[100]]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
    expect(sketch.encode().length).toBeLessThan(16_384);
  });

  test("NaN, nothing and infinities", () => {
    const sketch = new QuantileSketch();
    expect(sketch.result(0.5)).toBeNull();
    for (let at = 0; at < 400; at++) sketch.add(at % 4 === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    expect([sketch.result(0.25), sketch.result(0.26)]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
    sketch.add(Number.NaN);
    expect(sketch.result(0.5)).toBeNaN();
    const other = new QuantileSketch();
    other.merge(sketch.encode());
    expect(other.result(0)).toBeNaN();
  });

  test("a rank follows from the decimals of the quantile", () => {
    expect([rankOf(0.07, 100), rankOf(0.7, 10), rankOf(1e-7, 10_000_000), rankOf(0, 5), rankOf(1, 5), rankOf(0.5, 5)]).toEqual([
      7, 7, 1, 1, 5, 3,
    ]);
  });

  test("any order and grouping gives the same state", () => {
    const range = fc.constantFrom<(random: () => number) => number>(
      (random) => random() * 100,
      (random) => (random() - 0.5) * 2 ** (200 * random()),
      (random) => Math.floor(random() * 10) - 5,
      (random) => (random() < 0.01 ? Number.NEGATIVE_INFINITY : (2 * random() - 1) ** 9),
    );
    fc.assert(
      fc.property(range, fc.constantFrom(0, 1, 255, 256, 257, 900, 5000), fc.nat(), (draw, size, deal) => {
        const random = randomOf(deal);
        const values = times(size, () => draw(random));
        const whole = mergedState(
          () => new QuantileSketch(),
          (sketch, value: number) => sketch.add(value),
          values,
          random,
        );
        const straight = new QuantileSketch();
        for (const value of values.toSorted((a, b) => a - b)) straight.add(value);
        expect(whole.encode()).toEqual(straight.encode());
        const again = new QuantileSketch();
        again.merge(whole.encode());
        for (const quantile of QUANTILES) expect(again.result(quantile)).toBe(straight.result(quantile));
      }),
      seeded(40),
    );
  });
});

describe("frequent values", () => {
  const exactTop = (values: readonly FeatureValue[], most: number): FeatureValue[] => {
    const counts = new Map<FeatureValue, number>();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts]
      .sort(([a, x], [b, y]) => y - x || compareValues(a, b))
      .slice(0, most)
      .map(([value]) => value);
  };

  test("of a state's few values the counts are exact, in any order and grouping", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -40, max: 40 })), fc.nat(), (values, deal) => {
        const whole = mergedState(
          () => new HeavyHitters(),
          (sketch, value: number) => sketch.add(value),
          values,
          randomOf(deal),
        );
        const straight = new HeavyHitters();
        for (const value of values) straight.add(value);
        expect(whole.encode()).toEqual(straight.encode());
        expect(whole.result(10)).toEqual(exactTop(values, 10));
      }),
      seeded(100),
    );
  });

  test("rows in memory are counted exactly, however many differ", () => {
    const random = randomOf(seed);
    const values = times(20_000, () => Math.floor(1 / (random() + 1e-4)));
    const sketch = new HeavyHitters();
    for (const value of values) sketch.add(value);
    expect(sketch.result(100)).toEqual(exactTop(values, 100));
  });

  test("of many, whatever is more frequent than the bound is never missed, whatever the grouping", () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(0.8, 1, 1.3), (deal, exponent) => {
        const random = randomOf(deal);
        const size = 30_000;
        const values = times(size, () => Math.floor((1 - random()) ** (-1 / exponent)));
        for (const heavy of [-1, -2, -3]) values.push(...times(Math.ceil(size / COUNTERS) * 3, () => heavy));
        values.sort(() => random() - 0.5);
        const whole = mergedState(
          () => new HeavyHitters(),
          (sketch, value: number) => sketch.add(value),
          values,
          random,
        );
        const again = new HeavyHitters();
        again.merge(whole.encode());
        const counts = new Map<number, number>();
        for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
        const found = new Set(again.result(MAX_KEPT));
        const frequent = [...counts].filter(([, count]) => count > values.length / (COUNTERS + 1)).map(([value]) => value);
        expect(frequent.length).toBeGreaterThan(2);
        expect(frequent.filter((value) => !found.has(value))).toEqual([]);
        const reader = opened(SKETCH_KINDS.heavyHitters, whole.encode());
        const kept = times(reader.count(), () => [reader.count(), readValue(reader) as number] as const);
        for (const [count, value] of kept) {
          const exact = counts.get(value) as number;
          expect(count).toBeLessThanOrEqual(exact);
          expect(exact - count).toBeLessThanOrEqual(values.length / (COUNTERS + 1));
        }
      }),
      seeded(6, 60),
    );
  });

  test("values that are too long for a state are refused", () => {
    const sketch = new HeavyHitters();
    sketch.add("x".repeat(MAX_STATE_BYTES));
    expect(() => sketch.encode()).toThrow(EvaluationError);
  });

  test("of long values a state has fewer, the most frequent", () => {
    const sketch = new HeavyHitters();
    const long = (at: number) => `${at} ${"x".repeat(200)}`;
    for (let at = 0; at < 1000; at++) for (let time = 0; time < 1000 - at; time++) sketch.add(long(at));
    const state = sketch.encode();
    expect(state.length).toBeLessThanOrEqual(MAX_STATE_BYTES + 4);
    const again = new HeavyHitters();
    again.merge(state);
    expect(again.result(FEWEST_COUNTERS)).toEqual(times(FEWEST_COUNTERS, long));
  });
});

describe("extreme rows", () => {
  const row = fc.tuple(fc.integer({ min: -5, max: 5 }), fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant("text"), fc.constant(null)));

  test("any order and grouping gives the rows that sorting gives", () => {
    fc.assert(
      fc.property(
        fc.array(row),
        fc.constantFrom(1 as const, -1 as const),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        (rows, sign, most, deal) => {
          const make = () => new ExtremeRows(sign, most, compareValues);
          const whole = mergedState(
            make,
            (sketch, [key, value]: readonly [number, FeatureValue]) => sketch.add(value, key),
            rows,
            randomOf(deal),
          );
          const rank = (value: FeatureValue) => (value === null ? -1 : value === "text" ? 9 : (value as number));
          const sorted = rows.toSorted(([a, x], [b, y]) => (b - a) * sign || rank(x) - rank(y));
          expect(whole.result()).toEqual(sorted.slice(0, most).map(([, value]) => value));
        },
      ),
      seeded(200),
    );
  });

  test("the total order is one", () => {
    const value: fc.Arbitrary<FeatureValue> = fc.oneof(
      fc.constantFrom<FeatureValue>(null, true, false, 0, -0, Number.NaN, 2n ** 60n, "", "a", "\u{1f600}", "\uffff", new Uint8Array([1])),
      fc.array(fc.constantFrom<FeatureValue>(1, "a", null)),
      fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom<FeatureValue>(1, 2)),
    );
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        expect(Math.sign(compareAny(a, b)) + Math.sign(compareAny(b, a))).toBe(0);
        expect(compareAny(a, a)).toBe(0);
        if (compareAny(a, b) <= 0 && compareAny(b, c) <= 0) expect(compareAny(a, c)).toBeLessThanOrEqual(0);
      }),
      seeded(500),
    );
  });
});

describe("damaged states", () => {
  const full = (): readonly (readonly [string, Sketch, () => Sketch])[] => {
    const [few, distinct] = [new DistinctSketch(), new DistinctSketch()];
    const [values, bins] = [new QuantileSketch(), new QuantileSketch()];
    const [hitters, rows] = [new HeavyHitters(), new ExtremeRows(1, 20, compareValues)];
    for (let at = 0; at < 2000; at++) {
      if (at < 20) few.add(at);
      distinct.add(at);
      if (at < 20) values.add(at);
      bins.add(at - 1000);
      hitters.add(`v${at % 50}`);
      rows.add(`v${at}`, at);
    }
    return [
      ["few values", few, () => new DistinctSketch()],
      ["registers", distinct, () => new DistinctSketch()],
      ["few numbers", values, () => new QuantileSketch()],
      ["bins", bins, () => new QuantileSketch()],
      ["counters", hitters, () => new HeavyHitters()],
      ["rows", rows, () => new ExtremeRows(1, 20, compareValues)],
    ];
  };

  test.each(full())("%s", (_, sketch, make) => {
    const state = sketch.encode();
    const again = make();
    again.merge(state);
    expect(again.encode()).toEqual(state);
    const random = randomOf(seed);
    for (let run = 0; run < 300; run++) {
      const at = Math.floor(random() * state.length);
      const flipped = state.slice();
      flipped[at] = (flipped[at] as number) ^ (1 << Math.floor(random() * 8));
      expect(() => make().merge(flipped)).toThrow(DamagedState);
      expect(() => make().merge(state.slice(0, at))).toThrow(DamagedState);
    }
    expect(() => make().merge(new Uint8Array([...state, 0]))).toThrow(DamagedState);
  });

  test("of another kind, or with a checksum that fits what makes no sense", () => {
    const kinds = Object.values(SKETCH_KINDS);
    for (const [, sketch, make] of full()) {
      const own = sketch.encode()[1];
      for (const kind of kinds) {
        const random = randomOf(seed + kind);
        for (let run = 0; run < 200; run++) {
          const writer = stateOf(kind);
          const length = Math.floor(random() * 12);
          for (let at = 0; at < length; at++) writer.byte(Math.floor(random() * (random() < 0.5 ? 4 : 256)));
          const given = make();
          try {
            given.merge(sealed(writer));
            expect(kind).toBe(own as typeof kind);
            given.encode();
          } catch (error) {
            expect(error).toBeInstanceOf(DamagedState);
          }
        }
      }
    }
  });
});

/** A normally distributed number (Box and Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
