/**
 * Cases of every function: `[types -> type, arguments, result]` in the stored form of values; a
 * result `{"$error": part of the message}` is an error of the row, `{"$near": x}` is x up to the
 * last digits. Every case is computed over columns and over constants.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { FUNCTIONS } from "../../../src/domain/expressions/functions.ts";
import { encodeStored, type FeatureValue, typeName, untagged } from "../../../src/domain/value.ts";
import { compileExpression, ExpressionError } from "../../../src/server/expressions/compile.ts";
import type { CompiledExpression } from "../../../src/server/expressions/compiled.ts";
import { call, constant, graphOfTypes, ref, scopeOf, typeOf } from "./build-expression.ts";

type Case = readonly [signature: string, values: readonly unknown[], result: unknown];

const FOLDER = join(import.meta.dir, "../../domain/expressions/vectors");
const vectors = new Map<string, readonly Case[]>();
for (const file of [...new Bun.Glob("*.json").scanSync(FOLDER)].sort())
  for (const [name, cases] of Object.entries((await Bun.file(join(FOLDER, file)).json()) as Record<string, Case[]>))
    vectors.set(name, cases);

const context = { nowMicros: 0n };

function expectResult(value: FeatureValue, error: string | undefined, wanted: unknown): void {
  const special = wanted !== null && typeof wanted === "object" ? (wanted as { $error?: string; $near?: number }) : {};
  if (special.$error !== undefined) {
    expect(error).toContain(special.$error);
    expect(value).toBeNull();
    return;
  }
  expect(error).toBeUndefined();
  if (special.$near !== undefined) expect(Math.abs(Number(value) / special.$near - 1)).toBeLessThan(1e-13);
  else expect(encodeStored(value)).toBe(encodeStored(untagged(wanted)));
}

test("every function has five cases or more, and every case a function", () => {
  const few = [...FUNCTIONS.keys()].filter((name) => (vectors.get(name)?.length ?? 0) < 5);
  expect(few).toEqual([]);
  expect([...vectors.keys()].filter((name) => !FUNCTIONS.has(name))).toEqual([]);
});

describe.each([...vectors])("%s", (name, cases) => {
  for (const signature of new Set(cases.map(([text]) => text))) {
    const own = cases.filter(([text]) => text === signature);
    const [left = "", right = ""] = signature.split(" -> ");
    const types = left.split(", ");

    test(`${signature} over columns`, () => {
      const scope = scopeOf(graphOfTypes({ Row: types.map((type, index) => `a${index}:${type}?`).join(" ") }), "row");
      const compiled = compileExpression(call(name, ...types.map((_, index) => ref(`a${index}`))), scope);
      expect(typeName(compiled.type)).toBe(typeName(typeOf(right)));
      expect(compiled.references).toEqual({ columns: types.map((_, index) => `a${index}`), relations: [] });
      const columns = new Map(types.map((_, index) => [`a${index}`, own.map(([, values]) => untagged(values[index]))]));
      const { values, errors } = compiled.evaluate({ rows: own.length, columns }, context);
      expect(values.length).toBe(own.length);
      for (const [row, [, , wanted]] of own.entries()) expectResult(values[row] as FeatureValue, errors.get(row), wanted);
    });

    test(`${signature} over constants`, () => {
      const scope = scopeOf(graphOfTypes({ Row: "id:int" }), "row");
      for (const [, given, wanted] of own) {
        const literals = given.map((value, index) => constant(untagged(value), typeOf((types[index] as string).replace("?", ""))));
        const options = wanted === null ? {} : { type: typeOf(right) };
        let compiled: CompiledExpression;
        try {
          compiled = compileExpression(call(name, ...literals), scope, options);
        } catch (error) {
          if (!(error instanceof ExpressionError) || FUNCTIONS.get(name)?.checkConstants === undefined) throw error;
          expectResult(null, error.message, wanted);
          continue;
        }
        const { values, errors } = compiled.evaluate({ rows: 1, columns: new Map() }, context);
        if (["eq", "ne"].includes(name) && given.filter((value) => value === null).length === 1) expect(values).toEqual([name === "ne"]);
        else expectResult(values[0] as FeatureValue, errors.get(0), wanted);
      }
    });
  }
});
