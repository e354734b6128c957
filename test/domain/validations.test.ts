/** Rules of validations, against Python's own operators, as each would say it of the value. */

import { expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ScalarFeatureSchema, type ValidationSchema } from "../../gen/svc/v1/graph_pb.ts";
import { type DataTypeSchema, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { toProtoValue } from "../../src/domain/proto-value.ts";
import { BrokenRule, compileRules, validationsText, withRules } from "../../src/domain/validations.ts";
import { compileCoercer, type FeatureValue } from "../../src/domain/value.ts";

const plain = (value: PrimitiveType): MessageInitShape<typeof DataTypeSchema> => ({ kind: { case: "primitive", value } });
const [INT, FLOAT, TEXT, BYTES, DECIMAL] = [
  PrimitiveType.INT64,
  PrimitiveType.FLOAT64,
  PrimitiveType.STRING,
  PrimitiveType.BYTES,
  PrimitiveType.DECIMAL,
].map(plain);
const TEXTS: MessageInitShape<typeof DataTypeSchema> = { kind: { case: "list", value: { element: TEXT } } };
const contains = (value: FeatureValue) => ({ contains: toProtoValue(value) });

function feature(dtype: MessageInitShape<typeof DataTypeSchema> | undefined, ...validations: MessageInitShape<typeof ValidationSchema>[]) {
  return create(ScalarFeatureSchema, { ...(dtype ? { dtype } : {}), validations });
}

test.each([
  [INT, { min: 0 }, [0, 5, 2n ** 62n], [-1, -(2n ** 62n)], "min=0"],
  [INT, { max: 2 ** 60 }, [2n ** 60n, 1], [2n ** 60n + 1n], "max=1152921504606846976"],
  [FLOAT, { min: 0.5 }, [0.5, Number.POSITIVE_INFINITY], [0.49, Number.NaN, -0], "min=0.5"],
  [DECIMAL, { max: 0.1 }, ["0.1", "-7"], ["0.11", "1E+3"], "max=0.1"],
  [TEXT, { minLength: 2n }, ["ab", "\u{1f600}b"], ["", "a", "\u{1f600}"], "min_length=2"],
  [TEXT, { maxLength: 1n }, ["", "\u{1f600}"], ["ab", "\ud83d\ud83d"], "max_length=1"],
  [TEXT, contains("a.b"), ["xa.by"], ["axb", ""], 'contains="a.b"'],
  [BYTES, { maxLength: 1n }, [new Uint8Array(1)], [new Uint8Array(2)], "max_length=1"],
  [TEXTS, { minLength: 1n }, [["a"]], [[]], "min_length=1"],
  [TEXTS, contains("a"), [["b", "a"]], [["ab"], []], 'contains="a"'],
] as const)("%#: of %j", (dtype, validation, kept, broken, text) => {
  const check = compileRules(feature(dtype, validation), false);
  for (const value of kept) expect([value, check?.(value as FeatureValue)]).toEqual([value, undefined]);
  for (const value of broken) expect([value, check?.(value as FeatureValue)]).toEqual([value, text]);
});

test("strict rules and others are apart, and the first that is broken is told", () => {
  const both = feature(INT, { min: 0, max: 10, strict: true }, { min: 5 });
  const [strict, soft] = [compileRules(both, true), compileRules(both, false)];
  expect([strict?.(-1), strict?.(11), strict?.(4)]).toEqual(["min=0", "max=10", undefined]);
  expect([soft?.(-1), soft?.(4), soft?.(5)]).toEqual(["min=5", "min=5", undefined]);
  expect(compileRules(feature(INT, { min: 5 }), true)).toBeUndefined();
  expect(validationsText(both.validations)).toBe("min=0, max=10 (strict); min=5");
});

test("a conversion refuses a value of the type that breaks a rule, in words", () => {
  const { dtype, validations } = feature(INT, { min: 0, strict: true });
  if (!dtype) throw new Error("it has a type");
  const coerce = withRules(compileCoercer(dtype, "lenient"), compileRules({ dtype, validations }, true), dtype);
  expect(coerce("7")).toBe(7);
  expect(() => coerce("-7")).toThrow(new BrokenRule("int with min=0", "int -7"));
  expect(() => coerce("x")).toThrow("expected int, got str");
});
