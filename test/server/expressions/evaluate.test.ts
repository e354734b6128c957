import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { AGGREGATIONS } from "../../../src/domain/expressions/aggregations.ts";
import { PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { parseInstant } from "../../../src/domain/timestamp.ts";
import { encodeStored, type FeatureValue } from "../../../src/domain/value.ts";
import { type CompileOptions, compileExpression, ExpressionError } from "../../../src/server/expressions/compile.ts";
import type { ChildRows, RowColumns } from "../../../src/server/expressions/compiled.ts";
import { aggregate, call, constant, graphOfTypes, now, ref, scopeOf, windowStart, withArguments } from "./build-expression.ts";

const MAX = 2n ** 63n - 1n;
const micros = (text: string): bigint => parseInstant(text)?.micros ?? 0n;
const context = { nowMicros: micros("2024-05-01T12:00:00Z") };
const graph = graphOfTypes({
  User: "id:int total:float? tries:int limit:int txns=>txn account->account? bank->account",
  Txn: "id:int amount:float? n:int? ok:bool? day:decimal? at@:datetime kind:str? lines=>line",
  Line: "id:int price:int",
  Account: "id:int rating:int visits=>line",
});
const user = scopeOf(graph, "user");

const rowsOf = (columns: Record<string, FeatureValue[]>, relations: Record<string, ChildRows> = {}): RowColumns => ({
  rows: Object.values(columns)[0]?.length ?? 0,
  columns: new Map(Object.entries(columns)),
  relations: new Map(Object.entries(relations)),
});
const children = (offsets: number[], columns: Record<string, FeatureValue[]>, relations: Record<string, ChildRows> = {}): ChildRows => ({
  ...rowsOf(columns, relations),
  rows: offsets.at(-1) as number,
  offsets,
});
const run = (
  expression: Parameters<typeof compileExpression>[0],
  rows: RowColumns,
  options: CompileOptions = {},
  at: Parameters<ReturnType<typeof compileExpression>["evaluate"]>[1] = context,
) => {
  const { values, errors } = compileExpression(expression, user, options).evaluate(rows, at);
  return { values: [...values], errors: Object.fromEntries(errors) };
};

describe("errors", () => {
  const ratio = call("div", ref("tries"), ref("limit"));
  const rows = rowsOf({ tries: [6, 5, 0], limit: [3, 0, 0] });

  test("are of the row that made them", () => {
    expect(run(ratio, rows)).toEqual({ values: [2, null, null], errors: { 1: "division by zero", 2: "division by zero" } });
  });

  test("go on through functions, before nulls", () => {
    expect(run(call("add", ratio, constant(null)), rows)).toEqual({
      values: [null, null, null],
      errors: { 1: "division by zero", 2: "division by zero" },
    });
    expect(run(call("clip", ratio, constant(0.5, PRIMITIVES.float), constant(1, PRIMITIVES.float)), rows).errors).toEqual({
      1: "division by zero",
      2: "division by zero",
    });
    expect(Object.keys(run(call("is_null", ratio), rows).errors)).toEqual(["1", "2"]);
  });

  test("do not count in what is not chosen", () => {
    const isZero = call("eq", ref("limit"), constant(0));
    const minus = constant(-1, PRIMITIVES.float);
    expect(run(call("if_then_else", isZero, minus, ratio), rows)).toEqual({ values: [2, -1, -1], errors: {} });
    expect(run(call("when", isZero, minus, constant(true), ratio), rows)).toEqual({ values: [2, -1, -1], errors: {} });
    const isLarge = call("gt", ratio, constant(1));
    expect(run(call("and", call("not", isZero), isLarge), rows)).toEqual({ values: [true, false, false], errors: {} });
    expect(run(call("or", isZero, isLarge), rows)).toEqual({ values: [true, true, true], errors: {} });
    expect(Object.keys(run(call("and", isLarge, call("not", isZero)), rows).errors)).toEqual(["1", "2"]);
    expect(run(call("coalesce", ref("tries"), ratio), rows).errors).toEqual({});
    expect(Object.keys(run(call("coalesce", ratio, ref("tries")), rows).errors)).toEqual(["1", "2"]);
  });

  test("are replaced by recover, those of its first argument alone", () => {
    const minus = constant(-1, PRIMITIVES.float);
    expect(run(call("recover", ratio), rows)).toEqual({ values: [2, null, null], errors: {} });
    expect(run(call("add", call("recover", ratio, minus), constant(1)), rows)).toEqual({ values: [3, 0, 0], errors: {} });
    expect(run(call("recover", minus, ratio), rows)).toEqual({ values: [-1, -1, -1], errors: {} });
    expect(run(call("recover", ratio, ratio), rows).errors).toEqual({ 1: "division by zero", 2: "division by zero" });
    expect(compileExpression(call("recover", ratio), user).nullable).toBe(true);
    expect(compileExpression(call("recover", constant(1), constant(2)), user).nullable).toBe(false);
  });

  test("a fault of the engine is none of the row", () => {
    expect(() => run(ratio, rowsOf({ tries: [1] }))).toThrow("the column limit was not given");
    expect(() => run(aggregate("txns", "count"), rowsOf({ tries: [1] }))).toThrow("the rows of txns were not given");
  });
});

describe("aggregations", () => {
  const at = ["2024-05-01T03:00:00.000000Z", "2024-05-01T01:00:00.000000Z", "2024-05-01T02:00:00.000000Z", "2024-05-01T00:00:00.000000Z"];
  const txns = children([0, 3, 3, 4], {
    amount: [1.5, null, 2.5, Number.NaN],
    n: [5, 7, null, null],
    ok: [true, null, false, null],
    day: ["1.10", "-2", null, null],
    at,
    kind: ["a", null, "b", "a"],
  });
  const rows = rowsOf({ id: [1, 2, 3] }, { txns });
  const given: Readonly<Record<string, [key: Parameters<typeof withArguments>[1], ...constants: FeatureValue[]]>> = {
    approx_percentile: [undefined, 0.5],
    approx_top_k: [undefined, 2],
    min_by: [ref("at")],
    max_by: [ref("at")],
    min_by_n: [ref("at"), 2],
    max_by_n: [ref("at"), 2],
  };
  const of = (name: string, column?: string) => {
    const made = aggregate("txns", name, column === undefined ? undefined : ref(column));
    return run(withArguments(made, ...(given[name] ?? ([undefined] as const))), rows).values;
  };

  const cases: [name: string, column: string | undefined, values: FeatureValue[]][] = [
    ["count", undefined, [3, 0, 1]],
    ["count", "amount", [2, 0, 1]],
    ["sum", "amount", [4, 0, Number.NaN]],
    ["sum", "n", [12, 0, 0]],
    ["sum", "ok", [1, 0, 0]],
    ["sum", "day", ["-0.90", "0", "0"]],
    ["min", "amount", [1.5, null, Number.NaN]],
    ["min", "n", [5, null, null]],
    ["min", "at", [at[1] as string, null, at[3] as string]],
    ["min", "day", ["-2", null, null]],
    ["max", "n", [7, null, null]],
    ["max", "kind", ["b", null, "a"]],
    ["max", "day", ["1.10", null, null]],
    ["mean", "amount", [2, null, Number.NaN]],
    ["mean", "n", [6, null, null]],
    ["mean", "ok", [0.5, null, null]],
    ["median", "n", [6, null, null]],
    ["median", "amount", [2, null, Number.NaN]],
    ["any", "ok", [true, false, false]],
    ["all", "ok", [false, true, true]],
    ["std", "n", [Math.SQRT2, null, null]],
    ["var", "n", [2, null, null]],
    ["var", "amount", [0.5, null, null]],
    ["first", "kind", [null, null, "a"]],
    ["last", "kind", ["a", null, "a"]],
    ["n_unique", "kind", [2, 0, 1]],
    ["n_unique", "day", [2, 0, 0]],
    ["array_agg", "kind", [["b", "a"], [], ["a"]]],
    ["approx_count_distinct", "kind", [2, 0, 1]],
    ["approx_count_distinct", "day", [2, 0, 0]],
    ["approx_percentile", "amount", [1.5, null, Number.NaN]],
    ["approx_percentile", "n", [5, null, null]],
    ["approx_top_k", "kind", [["a", "b"], [], ["a"]]],
    ["approx_top_k", "day", [["-2", "1.1"], [], []]],
    ["min_by", "kind", ["b", null, "a"]],
    ["max_by", "kind", ["a", null, "a"]],
    ["min_by_n", "at", [[at[1] as string, at[2] as string], [], [at[3] as string]]],
    ["max_by_n", "day", [["1.10", "-2"], [], []]],
  ];

  test.each(cases)("%s of %s", (name, column, values) => {
    expect(of(name, column).map(encodeStored)).toEqual(values.map(encodeStored));
  });

  test("all of the table are tried", () => {
    expect([...AGGREGATIONS.keys()].filter((name) => !cases.some(([tried]) => tried === name))).toEqual([]);
  });

  test("first and last without a feature time go by the order of the rows", () => {
    const lines = children([0, 2], { price: [7, 3] });
    const graphed = scopeOf(graphOfTypes({ User: "id:int lines=>line", Line: "id:int price:int" }), "user");
    const compiled = compileExpression(aggregate("lines", "first", ref("price")), graphed);
    expect(compiled.references.relations[0]?.references.columns).toEqual(["price"]);
    expect(compiled.evaluate(rowsOf({ id: [1] }, { lines }), context).values).toEqual([7]);
  });

  test("a sum of ints is exact and overflows as an error", () => {
    const big = children([0, 2, 5], { n: [MAX, 1, MAX, MAX, -MAX] });
    const result = run(aggregate("txns", "sum", ref("n")), rowsOf({ id: [1, 2] }, { txns: big }));
    expect(result.values).toEqual([null, MAX]);
    expect(result.errors[0]).toContain("integer overflow in sum");
    expect(run(aggregate("txns", "mean", ref("n")), rowsOf({ id: [1, 2] }, { txns: big })).values[1]).toBe(Number(MAX) / 3);
  });

  test("a median of ints is rounded once", () => {
    const beyond = 2n ** 53n + 1n;
    const large = children([0, 2, 3, 5], { n: [1, beyond, beyond, beyond, beyond + 2n] });
    const { values } = run(aggregate("txns", "median", ref("n")), rowsOf({ id: [1, 2, 3] }, { txns: large }));
    expect(values).toEqual([2 ** 52 + 1, 2 ** 53, 2 ** 53 + 2]);
  });

  test("decimals are the same by value, not by their digits", () => {
    const prices = children([0, 4], { day: ["1.0", "1.00", "1e0", "-0.0"] });
    expect(run(aggregate("txns", "n_unique", ref("day")), rowsOf({ id: [1] }, { txns: prices })).values).toEqual([2]);
  });

  test("lengths of time", () => {
    const graphed = scopeOf(graphOfTypes({ User: "id:int waits=>wait", Wait: "id:int took:timedelta?" }), "user");
    const waits = children([0, 3, 3], { took: [1_000_000, null, 2_000_001] });
    const of = (name: string) =>
      compileExpression(aggregate("waits", name, ref("took")), graphed).evaluate(rowsOf({ id: [1, 2] }, { waits }), context).values;
    expect([of("sum"), of("mean"), of("max")]).toEqual([
      [3_000_001, 0],
      [1_500_000, null],
      [2_000_001, null],
    ]);
  });

  test("filters: all must be true, null is not true, an error counts only when it is reached", () => {
    const many = call("gt", ref("n"), constant(5));
    expect(run(aggregate("txns", "count", undefined, many), rows).values).toEqual([1, 0, 0]);
    const broken = call("gt", call("mod", ref("n"), constant(0)), constant(1));
    expect(run(aggregate("txns", "count", undefined, broken), rows)).toEqual({ values: [null, 0, 0], errors: { 0: "division by zero" } });
    const nothing = call("gt", ref("n"), constant(100));
    expect(run(aggregate("txns", "count", undefined, nothing, broken), rows)).toEqual({ values: [0, 0, 0], errors: {} });
    const column = call("mod", constant(10), call("sub", ref("n"), constant(5)));
    expect(run(aggregate("txns", "sum", column), rows).errors).toEqual({ 0: "division by zero" });
    expect(run(aggregate("txns", "sum", column, many), rows)).toEqual({ values: [0, 0, 0], errors: {} });
  });

  test("ints become floats where the column must be float", () => {
    const mean = aggregate("txns", "sum", call("add", ref("n"), constant(0.5, PRIMITIVES.float)));
    expect(run(mean, rows).values).toEqual([13, 0, 0]);
  });

  test("a row around the brackets is read by its scope", () => {
    const above = aggregate("txns", "count", undefined, call("gt", ref("n"), ref("limit", 1)));
    const compiled = compileExpression(above, user);
    expect(compiled.references).toEqual({
      columns: ["limit"],
      relations: [{ path: "txns", namespace: "txn", references: { columns: ["n"], relations: [] } }],
    });
    expect(compiled.evaluate(rowsOf({ limit: [5, 0, 0] }, { txns }), context).values).toEqual([1, 0, 0]);
  });

  test("an aggregation in the brackets of another, with its references", () => {
    const lines = children([0, 2, 2, 3, 3], { price: [1, 2, 10] });
    const nested = { txns: children([0, 3, 3, 4], {}, { lines }) };
    const perTxn = aggregate("lines", "sum", ref("price"), call("lt", ref("price"), ref("limit", 2)));
    const compiled = compileExpression(aggregate("txns", "max", perTxn), user);
    expect(compiled.references).toEqual({
      columns: ["limit"],
      relations: [
        {
          path: "txns",
          namespace: "txn",
          references: { columns: [], relations: [{ path: "lines", namespace: "line", references: { columns: ["price"], relations: [] } }] },
        },
      ],
    });
    expect(compiled.evaluate(rowsOf({ limit: [100, 100, 100] }, nested), context).values).toEqual([10, null, 0]);
    expect(compiled.evaluate(rowsOf({ limit: [10, 100, 100] }, nested), context).values).toEqual([3, null, 0]);
  });

  test("a relation that is read twice is asked for once, with all that is read", () => {
    const both = call("div", aggregate("txns", "sum", ref("n")), aggregate("txns", "count", undefined, ref("ok")));
    expect(compileExpression(both, user).references.relations).toEqual([
      { path: "txns", namespace: "txn", references: { columns: ["n", "ok"], relations: [] } },
    ]);
  });

  test("a relation behind a has-one relation", () => {
    const compiled = compileExpression(aggregate("account.visits", "sum", ref("price")), user);
    expect(compiled.references.relations.map(({ path }) => path)).toEqual(["account.visits"]);
    const visits = children([0, 2], { price: [4, 5] });
    expect(compiled.evaluate(rowsOf({ id: [1] }, { "account.visits": visits }), context).values).toEqual([9]);
  });
});

describe("time", () => {
  const txns = children([0, 4], {
    at: ["2024-05-01T11:50:00.000000Z", "2024-05-01T11:50:00.000001Z", "2024-05-01T12:00:00.000000Z", "2024-05-01T12:00:00.000001Z"],
  });
  const inWindow = aggregate("txns", "count", undefined, call("gt", ref("at"), windowStart), call("le", ref("at"), now));

  test("a window is open at its start and closed at now", () => {
    const compiled = compileExpression(inWindow, user, { windowMicros: 600_000_000n });
    expect(compiled.readsClock).toBe(true);
    expect(compiled.evaluate(rowsOf({ id: [1] }, { txns }), context).values).toEqual([2]);
    expect(compiled.evaluate(rowsOf({ id: [1] }, { txns }), { nowMicros: context.nowMicros + 1n }).values).toEqual([2]);
    expect(compiled.evaluate(rowsOf({ id: [1] }, { txns }), { nowMicros: context.nowMicros - 1n }).values).toEqual([2]);
    expect(compiled.evaluate(rowsOf({ id: [1] }, { txns }), { nowMicros: micros("2024-05-01T11:50:00Z") }).values).toEqual([1]);
  });

  test("now may differ from row to row, in the rows of relations too", () => {
    const twice = children([0, 4, 8], { at: [...(txns.columns.get("at") ?? []), ...(txns.columns.get("at") ?? [])] });
    const nowMicros = [context.nowMicros, micros("2024-05-01T11:50:00Z")];
    expect(run(inWindow, rowsOf({ id: [1, 2] }, { txns: twice }), { windowMicros: 600_000_000n }, { nowMicros }).values).toEqual([2, 1]);
    expect(run(now, rowsOf({ id: [1, 2] }), {}, { nowMicros }).values).toEqual([
      "2024-05-01T12:00:00.000000Z",
      "2024-05-01T11:50:00.000000Z",
    ]);
  });

  test("a window that begins before the calendar begins with it", () => {
    const start = run(windowStart, rowsOf({ id: [1] }), { windowMicros: 10n ** 18n }).values;
    expect(start).toEqual(["0001-01-01T00:00:00.000000Z"]);
  });

  test("what reads no clock says so", () => {
    expect(compileExpression(ref("tries"), user).readsClock).toBe(false);
  });
});

describe("compilation", () => {
  test("results take the feature's type", () => {
    const total = call("add", ref("tries"), constant(MAX - 5n));
    const options = { type: PRIMITIVES.float };
    expect(run(total, rowsOf({ tries: [1] }), options).values).toEqual([2 ** 63]);
    expect(() => compileExpression(total, user, { type: PRIMITIVES.str })).toThrow("the expression is int, and str is wanted");
  });

  test("names and types that do not fit are refused", () => {
    expect(() => compileExpression(ref("totl"), user)).toThrow(ExpressionError);
    expect(() => compileExpression(ref("totl"), user)).toThrow("User has no feature 'totl'; did you mean 'total'?");
    expect(() => compileExpression(windowStart, user)).toThrow("windowed features only");
  });

  test("nullability follows the rules of the functions", () => {
    const nullable = (expression: Parameters<typeof compileExpression>[0]) => compileExpression(expression, user).nullable;
    expect(nullable(ref("tries"))).toBe(false);
    expect(nullable(ref("total"))).toBe(true);
    expect(nullable(ref("account.rating"))).toBe(true);
    expect(nullable(ref("bank.rating"))).toBe(false);
    expect(nullable(call("coalesce", ref("total"), ref("tries")))).toBe(false);
    expect(nullable(call("is_null", ref("total")))).toBe(false);
    expect(nullable(call("when", constant(true), ref("tries")))).toBe(true);
    expect(nullable(call("null_if", ref("tries"), constant(0)))).toBe(true);
    expect(nullable(aggregate("txns", "sum", ref("amount")))).toBe(false);
    expect(nullable(aggregate("txns", "mean", ref("n")))).toBe(true);
  });

  test("fields of a struct are read from the feature", () => {
    const city = create(DataTypeSchema, {
      kind: { case: "struct", value: { name: "Address", fields: [{ name: "city", dtype: PRIMITIVES.str, nullable: true }] } },
    });
    const graphed = graphOfTypes({ User: "id:int address:json" });
    const feature = graphed.featureSets[0]?.features[1];
    if (feature?.kind.case === "scalar") feature.kind.value.dtype = city;
    const compiled = compileExpression(call("upper", ref("address.city")), scopeOf(graphed, "user"));
    expect(compiled.references.columns).toEqual(["address"]);
    expect(compiled.nullable).toBe(true);
    const address: FeatureValue[] = [{ city: "Bonn" }, { city: null }];
    expect(compiled.evaluate(rowsOf({ address }), context).values).toEqual(["BONN", null]);
    expect(() => compileExpression(ref("address.citi"), scopeOf(graphed, "user"))).toThrow(
      "user.address has no field 'citi'; did you mean 'city'?",
    );
  });

  test("a comparison with the constant None asks for null", () => {
    expect(run(call("eq", ref("total"), constant(null)), rowsOf({ total: [null, 1] })).values).toEqual([true, false]);
    expect(run(call("ne", constant(null), ref("total")), rowsOf({ total: [null, 1] })).values).toEqual([false, true]);
  });

  test("no rows give no values", () => {
    expect(run(call("add", ref("tries"), constant(1)), rowsOf({ tries: [] }))).toEqual({ values: [], errors: {} });
    const none = { rows: 0, columns: new Map(), relations: new Map([["txns", children([0], {})]]) };
    expect(run(aggregate("txns", "count"), none)).toEqual({ values: [], errors: {} });
  });

  test("a pattern that backtracking engines never come to the end of is answered", () => {
    const result = run(call("regexp_like", constant("a".repeat(5000)), constant("^(a+)+$b|(a|aa)*c")), rowsOf({ id: [1] }));
    expect(result.values).toEqual([false]);
  });
});
