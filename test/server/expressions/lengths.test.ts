/**
 * Lengths of time over all years that there are, and deviations of ints beyond 2^53: Python says
 * what is right.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { encodeStored, type FeatureValue, untagged } from "../../../src/domain/value.ts";
import { compileExpression } from "../../../src/server/expressions/compile.ts";
import { seeded } from "../../harness/seed.ts";
import { INTERPRETERS, SDK_ROOT } from "../../sdk/interpreters.ts";
import { aggregate, call, graphOfTypes, ref, scopeOf } from "./build-expression.ts";

setDefaultTimeout(300_000);

interface Told {
  readonly calls: readonly (readonly [name: string, signature: string, values: readonly unknown[], result: unknown])[];
  readonly folds: readonly {
    readonly ints: readonly unknown[];
    readonly lengths: readonly unknown[];
    readonly std: number;
    readonly var: number;
    readonly mean: number;
    readonly sum: unknown;
    readonly average: unknown;
  }[];
}

/** The newest Python: `statistics` rounds deviations correctly from 3.11 on. */
const PYTHON = INTERPRETERS.at(-1);

async function ask(seed: number, number: number): Promise<Told> {
  const child = Bun.spawn([PYTHON?.path ?? "", "-B", join(import.meta.dir, "lengths.py"), String(seed), String(number)], {
    env: { PATH: process.env.PATH, PYTHONPATH: SDK_ROOT },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Told;
}

const context = { nowMicros: 0n };
const column = (values: readonly unknown[]): FeatureValue[] => values.map(untagged);

test("arithmetic is Python's, to the microsecond", async () => {
  const { seed, numRuns } = seeded(3000);
  const { calls } = await ask(seed, numRuns);
  for (const signature of new Set(calls.map(([name, text]) => `${name}: ${text}`))) {
    const own = calls.filter(([name, text]) => `${name}: ${text}` === signature);
    const [name, text] = own[0] as (typeof own)[number];
    const types = (text.split(" -> ")[0] as string).split(", ");
    const scope = scopeOf(graphOfTypes({ Row: types.map((type, index) => `a${index}:${type}`).join(" ") }), "row");
    const compiled = compileExpression(call(name, ...types.map((_, index) => ref(`a${index}`))), scope);
    const columns = new Map(types.map((_, index) => [`a${index}`, column(own.map(([, , values]) => values[index]))]));
    const { values, errors } = compiled.evaluate({ rows: own.length, columns }, context);
    for (const [row, [, , given, result]] of own.entries()) {
      const isError = result !== null && typeof result === "object" && "$error" in result;
      const got = errors.has(row) ? "an error" : encodeStored(values[row] as FeatureValue);
      expect(`${signature} of ${JSON.stringify(given)} is ${got}`).toBe(
        `${signature} of ${JSON.stringify(given)} is ${isError ? "an error" : encodeStored(untagged(result))}`,
      );
    }
  }
});

test("sums and means of lengths, and deviations of ints, are exact before they are rounded", async () => {
  const { seed } = seeded(1);
  const { folds } = await ask(seed, 1000);
  const scope = scopeOf(graphOfTypes({ Row: "id:int kids=>kid", Kid: "id:int n:int t:timedelta" }), "row");
  const offsets = [0];
  for (const { ints } of folds) offsets.push((offsets.at(-1) as number) + ints.length);
  const kids = {
    rows: offsets.at(-1) as number,
    offsets,
    columns: new Map([
      ["n", column(folds.flatMap((fold) => fold.ints))],
      ["t", column(folds.flatMap((fold) => fold.lengths))],
    ]),
  };
  const of = (name: string, path: string) => {
    const compiled = compileExpression(aggregate("kids", name, ref(path)), scope);
    const { values, errors } = compiled.evaluate({ rows: folds.length, columns: new Map(), relations: new Map([["kids", kids]]) }, context);
    expect(errors.size).toBe(0);
    return values;
  };
  for (const name of ["std", "var", "mean"] as const) expect([name, ...of(name, "n")]).toEqual([name, ...folds.map((fold) => fold[name])]);
  expect(of("sum", "t")).toEqual(folds.map((fold) => untagged(fold.sum)));
  expect(of("mean", "t")).toEqual(folds.map((fold) => untagged(fold.average)));
});
