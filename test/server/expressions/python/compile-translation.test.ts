/**
 * What the evaluator of translated functions computes, and what it leaves to Python. Expected
 * values are those of CPython.
 */

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type Expression, ExpressionSchema } from "../../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { compileTranslation } from "../../../../src/server/expressions/python/compile-translation.ts";
import { type PythonType, pythonType } from "../../../../src/server/expressions/python/python-value.ts";
import { floatText } from "../../../../src/server/expressions/python/texts.ts";
import { call, ref, typeOf } from "../build-expression.ts";

type Word = "int" | "float" | "str" | "bool" | "datetime";
type LiteralKind = "int64Value" | "doubleValue" | "stringValue" | "boolValue" | "nullValue";

function python(word: Word): PythonType {
  const type = pythonType(typeOf(word));
  if (!type) throw new Error(`no type ${word}`);
  return type;
}

function literal(kind: LiteralKind, value: unknown): Expression {
  return create(ExpressionSchema, { node: { case: "literal", value: { kind: { case: kind, value } as never } } });
}

const int = (value: bigint) => literal("int64Value", value);
const float = (value: number) => literal("doubleValue", value);
const text = (value: string) => literal("stringValue", value);
const none = literal("nullValue", 0);

/** Runs a function of parameters a, b and c; undefined = Python has to. */
function run(type: Word, expression: Expression, values: readonly (readonly [Word, FeatureValue])[]): FeatureValue | undefined {
  const parameters = values.map(([word], at) => ({ path: "abc"[at] as string, type: python(word) }));
  const compiled = compileTranslation(parameters, [{ fqn: "t.x", expression, type: python(type) }]);
  if (!compiled) throw new Error("not compiled");
  return compiled.run(values.map(([, value]) => value))?.[0];
}

const MAX = 2n ** 63n - 1n;
const [a, b] = [ref("a"), ref("b")];

describe("arithmetic", () => {
  test.each<[string, bigint | number, bigint | number, bigint | number | undefined]>([
    ["add", MAX, 1, undefined],
    ["add", MAX, -1, MAX - 1n],
    ["sub", -MAX, 2, undefined],
    ["mul", 2n ** 40n, 2n ** 40n, undefined],
    ["floordiv", -7, 2, -4],
    ["floordiv", 7, -2, -4],
    ["floordiv", 7, 0, undefined],
    ["mod", -7, 3, 2],
    ["mod", 7, -3, -2],
    ["mod", 7, 0, undefined],
    ["pow", 2, 62, 2n ** 62n],
    ["pow", 2, 63, undefined],
    ["pow", 2, -1, undefined],
    ["pow", 10, 10_000, undefined],
  ])("int: %s(%p, %p)", (name, x, y, wanted) => {
    expect(
      run("int", call(name, a, b), [
        ["int", x],
        ["int", y],
      ]),
    ).toBe(wanted as never);
  });

  test("int: what overflows on the way is exact", () => {
    expect(run("int", call("sub", call("add", a, int(MAX)), int(MAX)), [["int", MAX]])).toBe(MAX);
    expect(run("int", call("mul", call("pow", a, int(64n)), call("pow", a, int(64n))), [["int", MAX]])).toBe(undefined);
  });

  test.each<[string, number, number, number | undefined]>([
    ["truediv", 1, 0, undefined],
    ["truediv", 1, -0, undefined],
    ["floordiv", -7.5, 2, -4],
    ["floordiv", 1, 0, undefined],
    ["floordiv", -0.5, Number.POSITIVE_INFINITY, -1],
    ["mod", -7.5, 2, 0.5],
    ["mod", 5, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ["mod", -4, 2, 0],
    ["mod", 4, -2, -0],
    ["mul", Number.MAX_VALUE, 2, Number.POSITIVE_INFINITY],
    ["pow", 2, 0.5, undefined],
  ])("float: %s(%p, %p)", (name, x, y, wanted) => {
    expect(
      run("float", call(name, a, b), [
        ["float", x],
        ["float", y],
      ]),
    ).toBe(wanted as never);
  });

  test("ints that a float cannot hold are not mixed with floats", () => {
    expect(run("float", call("add", a, float(0.5)), [["int", 2n ** 53n + 1n]])).toBe(undefined);
    expect(run("float", call("add", a, float(0.5)), [["int", 2n ** 53n]])).toBe(2 ** 53);
    expect(run("float", call("truediv", a, b), [["int", MAX], ["int", 3]])).toBe(undefined); // biome-ignore format: one line
    expect(run("bool", call("lt", a, float(2 ** 53)), [["int", 2n ** 53n + 1n]])).toBe(false);
  });

  test("None and texts have no arithmetic", () => {
    expect(run("int", call("add", a, int(1n)), [["int", null]])).toBe(undefined);
    expect(run("float", call("neg", a), [["str", "1"]])).toBe(undefined);
    expect(run("str", call("add", a, int(1n)), [["str", "1"]])).toBe(undefined);
    expect(run("str", call("mul", a, int(2n)), [["str", "1"]])).toBe(undefined);
    expect(run("str", call("mod", a, int(2n)), [["str", "%d"]])).toBe(undefined);
  });

  test("a bool is an int", () => {
    expect(run("int", call("add", a, a), [["bool", true]])).toBe(2);
    expect(run("bool", call("eq", a, float(1)), [["bool", true]])).toBe(true);
    expect(run("str", call("str", a), [["bool", true]])).toBe("True");
  });

  test.each<[number, bigint, number | undefined]>([
    [2.5, 0n, 2],
    [2.675, 2n, 2.67],
    [0.125, 2n, 0.12],
    [-0, 1n, -0],
    [-0.04, 1n, -0],
    [705499309813603.75, 1n, 705499309813603.8],
    [1e15, 1n, undefined],
    [1.5, 16n, undefined],
    [1.5, -1n, undefined],
  ])("round(%p, %p)", (value, digits, wanted) => {
    expect(run("float", call("round", a, int(digits)), [["float", value]])).toBe(wanted as never);
  });

  test.each<[string, number, number | bigint | undefined]>([
    ["round", 2.5, 2],
    ["round", -0.5, 0],
    ["round", Number.NaN, undefined],
    ["int", -1.9, -1],
    ["int", Number.POSITIVE_INFINITY, undefined],
    ["int", 1e18, 10n ** 18n],
    ["int", 1e19, undefined],
    ["math.floor", -0.5, -1],
    ["math.ceil", -0.5, 0],
    ["math.sqrt", -1, undefined],
  ])("%s(%p)", (name, value, wanted) => {
    expect(run("int", call(name, a), [["float", value]])).toBe(wanted as never);
  });
});

describe("texts", () => {
  test.each<[Expression, string, FeatureValue | undefined]>([
    [call("len", a), "a😀b", 3],
    [call("item", a, int(1n)), "a😀b", "😀"],
    [call("item", a, int(-1n)), "a😀b", "b"],
    [call("item", a, int(3n)), "a😀b", undefined],
    [call("item", a, int(-4n)), "a😀b", undefined],
    [call("slice", a, int(1n), none), "a😀b", "😀b"],
    [call("slice", a, none, int(-5n)), "a😀b", ""],
    [call("slice", a, int(MAX), int(-MAX)), "abc", ""],
    [call("upper", a), "straße", undefined],
    [call("upper", a), "abc", "ABC"],
    [call("lower", a), "İ", undefined],
    [call("strip", a), " \x1cx\t ", "x"],
    [call("strip", a), "\u00a0x", undefined],
    [call("strip", a, text("é😀")), "😀xé", "x"],
    [call("lstrip", a, text("")), " x", " x"],
    [call("replace", a, text("a"), text("$&")), "bab", "b$&b"],
    [call("replace", a, text(""), text("-")), "ab", undefined],
    [call("contains", text(""), a), "", true],
    [call("int", a), "+07", 7],
    [call("int", a), " 7", undefined],
    [call("int", a), "7_0", undefined],
    [call("int", a), "٣", undefined],
    [call("float", a), ".5e1", 5],
    [call("float", a), "nan", undefined],
    [call("lt", a, text("￿")), "😀", false],
    [call("len", a), "\ud800", undefined],
  ])("%#", (expression, value, wanted) => {
    expect(run(typeof wanted === "string" ? "str" : typeof wanted === "boolean" ? "bool" : "float", expression, [["str", value]])).toBe(
      wanted as never,
    );
  });

  test.each<[number, string]>([
    [0, "0.0"],
    [-0, "-0.0"],
    [1, "1.0"],
    [123456789.125, "123456789.125"],
    [1e15, "1000000000000000.0"],
    [9999999999999998, "9999999999999998.0"],
    [1e16, "1e+16"],
    [1.5e300, "1.5e+300"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [-1.25e-7, "-1.25e-07"],
    [5e-324, "5e-324"],
    [Number.NaN, "nan"],
    [Number.NEGATIVE_INFINITY, "-inf"],
  ])("str(%p)", (value, wanted) => {
    expect(floatText(value)).toBe(wanted);
  });
});

describe("comparisons", () => {
  test("NaN is nothing's equal, and is not looked for among values", () => {
    expect(run("bool", call("eq", a, a), [["float", Number.NaN]])).toBe(false);
    expect(run("bool", call("le", a, a), [["float", Number.NaN]])).toBe(false);
    expect(run("bool", call("among", a, a), [["float", Number.NaN]])).toBe(undefined);
    expect(run("float", call("max", a, int(1n)), [["float", Number.NaN]])).toBe(Number.NaN);
    expect(run("float", call("max", int(1n), a), [["float", Number.NaN]])).toBe(1);
  });

  test("different kinds are not equal and have no order", () => {
    expect(run("bool", call("eq", a, int(1n)), [["str", "1"]])).toBe(false);
    expect(run("bool", call("lt", a, int(1n)), [["str", "1"]])).toBe(undefined);
    expect(run("bool", call("lt", a, int(1n)), [["int", null]])).toBe(undefined);
    expect(run("bool", call("eq", a, none), [["int", null]])).toBe(true);
    expect(run("bool", call("is", a, none), [["int", 0]])).toBe(false);
  });

  test("and, or and if compute what they need", () => {
    const fails = call("truediv", int(1n), int(0n));
    expect(run("int", call("or", a, fails), [["int", 3]])).toBe(3);
    expect(run("int", call("and", a, fails), [["int", 0]])).toBe(0);
    expect(run("int", call("or", a, fails), [["int", 0]])).toBe(undefined);
    expect(run("int", call("if", a, int(1n), fails), [["str", "yes"]])).toBe(1);
    expect(run("int", call("after", fails, int(1n)), [])).toBe(undefined);
    expect(run("int", call("if", a, int(1n), call("python")), [["bool", false]])).toBe(undefined);
  });
});

describe("times", () => {
  const days = call("days", call("sub", a, b));
  test("before 1970 and below zero", () => {
    const values = [
      ["datetime", "1969-12-31T23:59:59.999999Z"],
      ["datetime", "1970-01-01T00:00:00.000000Z"],
    ] as const;
    expect(run("int", days, values)).toBe(-1);
    expect(run("int", call("microsecond", a), values)).toBe(999_999);
    expect(run("int", call("weekday", a), values)).toBe(2);
    expect(run("float", call("total_seconds", call("sub", a, b)), values)).toBe(-1e-6);
    expect(run("bool", call("lt", a, b), values)).toBe(true);
    expect(run("datetime", a, values)).toBe("1969-12-31T23:59:59.999999Z");
    expect(run("str", call("str", a), values)).toBe(undefined);
    expect(run("int", call("days", a), values)).toBe(undefined);
  });
});

describe("results", () => {
  test("are of the feature's type, or Python's business", () => {
    expect(run("str", a, [["int", 1]])).toBe(undefined);
    expect(run("int", a, [["float", 1]])).toBe(undefined);
    expect(run("int", a, [["bool", true]])).toBe(undefined);
    expect(run("float", a, [["int", MAX]])).toBe(MAX);
    expect(run("bool", a, [["bool", null]])).toBe(null);
  });

  test("a translation that is not understood is none", () => {
    const parameters = [{ path: "a", type: python("int") }];
    const compile = (expression: Expression) => compileTranslation(parameters, [{ fqn: "t.x", expression, type: python("int") }]);
    expect(compile(call("sin", a))).toBeUndefined();
    expect(compile(call("add", a))).toBeUndefined();
    expect(compile(call("if", a, a))).toBeUndefined();
    expect(compile(ref("z"))).toBeUndefined();
    expect(compile(ref("a", 1))).toBeUndefined();
    expect(compile(create(ExpressionSchema))).toBeUndefined();
    expect(pythonType(typeOf("decimal"))).toBeUndefined();
  });

  test("what occurs several times is computed once a row", () => {
    const [x, y] = [call("add", a, int(1n)), call("add", a, int(1n))];
    const compiled = compileTranslation(
      [{ path: "a", type: python("int") }],
      [
        { fqn: "t.x", expression: call("mul", x, y), type: python("int") },
        { fqn: "t.y", expression: call("neg", x), type: python("int") },
      ],
    );
    expect(compiled?.outputs).toEqual(["t.x", "t.y"]);
    expect(compiled?.run([4])).toEqual([25, -5]);
    expect(compiled?.run([6])).toEqual([49, -7]);
  });
});
