/**
 * Accumulators give what the rows give, however they were divided: ints, texts and times what the
 * fold of the same name gives, floats what Python's exact arithmetic gives.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import { ACCUMULATORS, type Accumulator, chooseAccumulator } from "../../../src/domain/expressions/accumulators.ts";
import { AGGREGATIONS, chooseFold } from "../../../src/domain/expressions/aggregations.ts";
import { EvaluationError } from "../../../src/domain/expressions/evaluation-error.ts";
import { DamagedState, MAX_STATE_BYTES } from "../../../src/domain/expressions/state-bytes.ts";
import { PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { type FeatureValue, normalizeInt } from "../../../src/domain/value.ts";
import { seeded } from "../../harness/seed.ts";
import { INTERPRETERS, SDK_ROOT } from "../../sdk/interpreters.ts";

setDefaultTimeout(300_000);

type Rows = readonly (readonly [value: FeatureValue, order: FeatureValue])[];

/** Constant arguments of those that have some; rows are chosen by their times. */
const CONSTANTS: Readonly<Record<string, readonly FeatureValue[]>> = {
  approx_percentile: [0.5],
  approx_top_k: [3],
  min_by_n: [3],
  max_by_n: [3],
};

function make(name: string, type: DataType | undefined): Accumulator {
  const chosen = chooseAccumulator(name, type, CONSTANTS[name] ?? [], PRIMITIVES.int);
  if (!chosen) throw new Error(`there is no accumulator '${name}'`);
  return chosen.make();
}

const outcome = (compute: () => FeatureValue): unknown => {
  try {
    return compute();
  } catch (error) {
    if (error instanceof EvaluationError) return error.message;
    throw error;
  }
};

/** The result when the rows are cut at the places, each part is kept as bytes, and all are merged. */
function merged(
  name: string,
  type: DataType | undefined,
  rows: Rows,
  cuts: readonly number[],
  order: (parts: Uint8Array[]) => Uint8Array[],
) {
  const ends = [...cuts.map((cut) => cut % (rows.length + 1)), rows.length].sort((a, b) => a - b);
  const parts = ends.map((end, index) => {
    const part = make(name, type);
    for (const [value, at] of rows.slice(ends[index - 1] ?? 0, end)) part.add(value, at, at);
    return part.encode();
  });
  const whole = make(name, type);
  for (const part of order(parts)) whole.merge(part);
  const again = make(name, type);
  again.merge(whole.encode());
  expect(outcome(() => again.result())).toEqual(outcome(() => whole.result()));
  return { result: outcome(() => whole.result()), bytes: whole.encode() };
}

const int = fc.oneof(fc.integer({ min: -50, max: 50 }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(normalizeInt));
const VALUES = {
  int,
  bool: fc.boolean(),
  str: fc.string({ unit: "grapheme", maxLength: 5 }),
  decimal: fc.oneof(
    fc.constantFrom("1.0", "1.00", "-0.5", "1e3"),
    fc.integer().map((value) => `${value}.25`),
  ),
  timedelta: fc.integer({ min: -(10 ** 12), max: 10 ** 12 }),
  date: fc.constantFrom("2024-01-01", "2024-02-29", "1999-12-31"),
} as const satisfies Partial<Record<keyof typeof PRIMITIVES, fc.Arbitrary<FeatureValue>>>;

const cases = Object.entries(VALUES).flatMap(([type, values]) =>
  [...ACCUMULATORS.keys()]
    .filter((name) => {
      const definition = AGGREGATIONS.get(name);
      return (
        definition &&
        chooseFold(definition, PRIMITIVES[type as keyof typeof VALUES], PRIMITIVES.int) &&
        chooseAccumulator(name, PRIMITIVES[type as keyof typeof VALUES], CONSTANTS[name] ?? [], PRIMITIVES.int)
      );
    })
    .map((name) => [name, type as keyof typeof VALUES, values as fc.Arbitrary<FeatureValue>] as const),
);

test("every bounded aggregation is among the cases", () => {
  expect(new Set(cases.map(([name]) => name))).toEqual(new Set(ACCUMULATORS.keys()));
});

describe.each(cases)("%s of %s", (name, type, values) => {
  const definition = AGGREGATIONS.get(name);
  const fold = definition && chooseFold(definition, PRIMITIVES[type], PRIMITIVES.int, CONSTANTS[name])?.fold;

  test("is what the fold gives of all rows, however they are divided", () => {
    const row = fc.tuple(fc.option(values, { freq: 5 }), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 6 }), (given, cuts) => {
        const rows = given.toSorted(([, a], [, b]) => a - b);
        const taken = rows.filter(([value]) => value !== null || definition?.keepsNulls);
        const [column, times] = [taken.map(([value]) => value), taken.map(([, at]) => at)];
        const expected = outcome(() => fold?.(column, times) ?? null);
        expect(merged(name, PRIMITIVES[type], rows, cuts, (parts) => parts).result).toEqual(expected);
        if (definition?.isOrdered) return;
        const backwards = merged(name, PRIMITIVES[type], rows, cuts, (parts) => parts.toReversed());
        if (type !== "decimal" || name === "sum") expect(backwards.result).toEqual(expected);
      }),
      seeded(150),
    );
  });

  test("refuses bytes that are damaged, or of another version", () => {
    const state = make(name, PRIMITIVES[type]);
    for (const value of fc.sample(values, { seed: 7, numRuns: 5 })) state.add(value, 1, 1);
    const bytes = state.encode();
    for (let length = 0; length < bytes.length; length++)
      expect(() => make(name, PRIMITIVES[type]).merge(bytes.slice(0, length))).toThrow(DamagedState);
    expect(() => make(name, PRIMITIVES[type]).merge(Uint8Array.of(2, ...bytes.slice(1)))).toThrow(DamagedState);
    expect(() => make(name, PRIMITIVES[type]).merge(Uint8Array.of(...bytes, 0))).toThrow(DamagedState);
  });
});

test("rows are chosen by a key of a known type, or not at all", () => {
  expect(chooseAccumulator("max_by", PRIMITIVES.str, [])).toBeUndefined();
  expect(chooseAccumulator("max_by_n", PRIMITIVES.str, [2], PRIMITIVES.float)?.widenKey).toBeUndefined();
});

test("rows are counted without a column", () => {
  const rows: Rows = [true, true, true].map((value, at) => [value, at]);
  expect(merged("count", undefined, rows, [1, 2], (parts) => parts).result).toBe(3);
});

test("floats are added without rounding: any division gives Python's correctly rounded results", async () => {
  const { seed, numRuns } = seeded(400);
  const script = join(import.meta.dir, "accumulators.py");
  const child = Bun.spawn([INTERPRETERS.at(-1)?.path ?? "", "-B", script, String(seed), String(numRuns)], {
    env: { PATH: process.env.PATH, PYTHONPATH: SDK_ROOT },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  expect(stderr).toBe("");
  const told = JSON.parse(stdout) as readonly (readonly [values: readonly string[], ...results: readonly (string | null)[]])[];
  for (const [index, [texts, ...results]] of told.entries()) {
    const rows: Rows = texts.map((text, at) => [Number(text), at]);
    const found = ["sum", "mean", "var", "std"].map((name) => {
      const cuts = [index, index * 7, index * 13].slice(0, index % 4);
      const forwards = merged(name, PRIMITIVES.float, rows, cuts, (parts) => parts);
      const backwards = merged(name, PRIMITIVES.float, rows.toReversed(), cuts, (parts) => parts.toReversed());
      expect(backwards.bytes).toEqual(forwards.bytes);
      return forwards.result;
    });
    const expected = results.map((text) => (text === null ? null : Number(text.replace("inf", "Infinity"))));
    expect([texts, found]).toEqual([texts, expected]);
  }
});

test("NaN and the infinities follow IEEE 754", () => {
  const of = (name: string, ...values: number[]) =>
    merged(
      name,
      PRIMITIVES.float,
      values.map((value, at) => [value, at]),
      [1],
      (parts) => parts,
    ).result;
  const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
  expect([of("sum", 1, inf), of("sum", -inf, 1), of("sum", inf, -inf), of("mean", inf, nan)]).toEqual([inf, -inf, nan, nan]);
  expect([of("var", 1, inf), of("std", inf), of("min", 1, nan, 0), of("max", nan, 1)]).toEqual([nan, null, nan, nan]);
});

test("what grows with the rows has no accumulator, and a state that is too long is refused", () => {
  for (const name of ["n_unique", "array_agg", "median"]) expect(chooseAccumulator(name, PRIMITIVES.int, [])).toBeUndefined();
  const longest = make("max", PRIMITIVES.str);
  longest.add("x".repeat(MAX_STATE_BYTES), null);
  expect(() => longest.encode()).toThrow("larger than 64 KiB");
});
