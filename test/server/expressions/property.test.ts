/** The evaluator against an interpreter that knows no columns, on random expressions and rows. */

import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import type { Expression } from "../../../gen/svc/v1/graph_pb.ts";
import { PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { type FeatureValue, normalizeInt } from "../../../src/domain/value.ts";
import { compileExpression } from "../../../src/server/expressions/compile.ts";
import { seeded } from "../../harness/seed.ts";
import { aggregate, call, constant, graphOfTypes, ref, scopeOf } from "./build-expression.ts";

setDefaultTimeout(300_000);

/** Ints are bigints here, floats numbers. */
type Plain = null | bigint | number | boolean | string;
type Row = Readonly<Record<string, Plain>> & { readonly txns?: never };
interface Parent {
  readonly row: Row;
  readonly children: readonly Row[];
}

class Failed extends Error {}

const inRange = (exact: bigint): bigint => {
  if (BigInt.asIntN(64, exact) !== exact) throw new Failed("overflow");
  return exact;
};
const floorDiv = (a: bigint, b: bigint): bigint => {
  let q = a / b;
  if (q * b > a !== b < 0n && q * b !== a) q -= 1n;
  return q;
};

/** What the language says of one row, as directly as it can be written down. */
function interpret({ node }: Expression, row: Row, children: readonly Row[]): Plain {
  if (node.case === "literal") {
    const { kind } = node.value;
    return kind.case === "nullValue" ? null : (kind.value as Plain);
  }
  if (node.case === "feature") return row[node.value.path.join(".")] ?? null;
  if (node.case === "aggregation") {
    const { filters, column, function: name } = node.value;
    const chosen = children.filter((child) => filters.every((filter) => interpret(filter, child, []) === true));
    const values = column ? chosen.map((child) => interpret(column, child, [])).filter((value) => value !== null) : chosen.map(() => 1n);
    switch (name) {
      case "count":
        return BigInt(values.length);
      case "sum":
        return inRange(values.reduce<bigint>((sum, value) => sum + (value as bigint), 0n));
      case "any":
        return values.some((value) => value === true);
      case "all":
        return values.every((value) => value === true);
      default: {
        if (values.length === 0) return null;
        const ordered = (values as bigint[]).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        return (name === "min" ? ordered[0] : ordered.at(-1)) as bigint;
      }
    }
  }
  if (node.case !== "call") throw new Error("not interpreted");
  const { function: name, arguments: args } = node.value;
  const at = (index: number): Plain => interpret(args[index] as Expression, row, children);
  if (name === "and" || name === "or") {
    const decides = name === "or";
    const left = at(0);
    if (left === decides) return decides;
    const right = at(1);
    return right === decides ? decides : left === null || right === null ? null : !decides;
  }
  if (name === "if_then_else") return at(0) === true ? at(1) : at(2);
  if (name === "coalesce") return at(0) ?? at(1);
  const given = args.map((_, index) => at(index));
  if (name === "is_null") return given[0] === null;
  if (given.includes(null)) return null;
  const [a, b] = given as [bigint, bigint];
  const [x, y] = given as unknown as [number, number];
  const isInt = typeof a === "bigint";
  if (["div", "floordiv", "mod"].includes(name) && (isInt ? b === 0n : y === 0)) throw new Failed("division by zero");
  switch (name) {
    case "add":
      return isInt ? inRange(a + b) : x + y;
    case "sub":
      return isInt ? inRange(a - b) : x - y;
    case "mul":
      return isInt ? inRange(a * b) : x * y;
    case "neg":
      return isInt ? inRange(-a) : -x;
    case "floordiv":
      return inRange(floorDiv(a, b));
    case "mod":
      return a - floorDiv(a, b) * b;
    case "div":
      return x / y;
    case "not":
      return !given[0];
    case "eq":
      return given[0] === given[1];
    case "ne":
      return given[0] !== given[1];
    case "lt":
      return typeof given[0] === "string" ? before(given[0], given[1] as string) : a < b;
    case "ge":
      return typeof given[0] === "string" ? !before(given[0], given[1] as string) : a >= b;
    case "concat":
      return given.join("");
    case "length":
      return BigInt([...(given[0] as string)].length);
    case "substr":
      return [...(given[0] as string)].slice(Number(given[1])).join("");
    default:
      throw new Error(`not interpreted: ${name}`);
  }
}

function before(a: string, b: string): boolean {
  const [left, right] = [[...a], [...b]].map((signs) => signs.map((sign) => sign.codePointAt(0) as number)) as [number[], number[]];
  for (let index = 0; ; index++) {
    const [x, y] = [left[index], right[index]];
    if (y === undefined) return false;
    if (x === undefined) return true;
    if (x !== y) return x < y;
  }
}

const edges = [0n, 1n, -1n, 2n, 7n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n) - 1n, 2n ** 62n, 2n ** 63n - 1n, -(2n ** 63n)];
const int = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: -20n, max: 20n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const float = fc.oneof(fc.constantFrom(0, -0, 1, -1.5, Number.NaN, Infinity, -Infinity, 1e308, 5e-324), fc.double());
const text = fc.oneof(fc.constantFrom("", "a", "b", "\uffee", "😀", "é"), fc.string({ unit: "binary", maxLength: 4 }));
const nullable = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 4 });

const ofChild = fc.record({ n: nullable(int), ok: nullable(fc.boolean()), kind: nullable(text) }) as unknown as fc.Arbitrary<Row>;
const ofRow = fc.record({
  a: nullable(int),
  b: int,
  x: nullable(float),
  y: float,
  p: nullable(fc.boolean()),
  q: fc.boolean(),
  s: nullable(text),
  t: text,
}) as unknown as fc.Arbitrary<Row>;
const parents: fc.Arbitrary<Parent[]> = fc.array(fc.record({ row: ofRow, children: fc.array(ofChild, { maxLength: 5 }) }), {
  maxLength: 12,
});

const one = (name: string, ...args: fc.Arbitrary<Expression>[]) => fc.tuple(...args).map((given) => call(name, ...given));
const named = (names: readonly string[], ...args: fc.Arbitrary<Expression>[]) =>
  fc.tuple(fc.constantFrom(...names), ...args).map(([name, ...given]) => call(name, ...given));

interface ByType {
  readonly int: Expression;
  readonly float: Expression;
  readonly bool: Expression;
  readonly str: Expression;
}

/** Expressions by type; `inside` = of a child row, which has no rows of its own. */
function expressions(inside: boolean): fc.LetrecValue<ByType> {
  const refs = (...names: string[]) => fc.constantFrom(...names).map((name) => ref(name));
  const inner = inside ? undefined : expressions(true);
  return fc.letrec<ByType>((tie: fc.LetrecTypedTie<ByType>): fc.LetrecValue<ByType> => {
    const depth = { maxDepth: 4, depthSize: "medium" as const };
    const [i, f, b, s] = [tie("int"), tie("float"), tie("bool"), tie("str")];
    const rows = inner
      ? [
          fc
            .tuple(fc.constantFrom("count", "sum", "min", "max"), inner.int, fc.array(inner.bool, { maxLength: 2 }))
            .map(([name, column, filters]) => aggregate("txns", name, column, ...filters)),
          fc.array(inner.bool, { maxLength: 2 }).map((filters) => aggregate("txns", "count", undefined, ...filters)),
        ]
      : [];
    const tests = inner
      ? [fc.tuple(fc.constantFrom("any", "all"), inner.bool).map(([name, column]) => aggregate("txns", name, column))]
      : [];
    return {
      int: fc.oneof(
        depth,
        int.map((value) => constant(normalizeInt(value), PRIMITIVES.int)),
        inside ? refs("n") : refs("a", "b"),
        named(["add", "sub", "mul", "floordiv", "mod", "coalesce"], i, i),
        one("neg", i),
        one("length", s),
        one("if_then_else", b, i, i),
        ...rows,
      ),
      float: inside
        ? fc.constant(constant(1.5, PRIMITIVES.float))
        : fc.oneof(
            depth,
            float.map((value) => constant(value, PRIMITIVES.float)),
            refs("x", "y"),
            named(["add", "sub", "mul", "div", "coalesce"], f, f),
            one("neg", f),
            one("if_then_else", b, f, f),
          ),
      bool: fc.oneof(
        depth,
        fc.boolean().map((value) => constant(value)),
        inside ? refs("ok") : refs("p", "q"),
        named(["and", "or", "eq", "coalesce"], b, b),
        one("not", b),
        named(["eq", "ne", "lt", "ge"], i, i),
        named(["eq", "ne", "lt", "ge"], s, s),
        named(["eq", "lt", "ge"], f, f),
        one("is_null", fc.oneof(i, f, b, s)),
        ...tests,
      ),
      str: fc.oneof(
        depth,
        text.map((value) => constant(value)),
        inside ? refs("kind") : refs("s", "t"),
        named(["concat", "coalesce"], s, s),
        fc.tuple(s, fc.integer({ min: -3, max: 3 })).map(([given, start]) => call("substr", given, constant(start))),
        one("if_then_else", b, s, s),
      ),
    };
  });
}

const memory = (value: Plain): FeatureValue => (typeof value === "bigint" ? normalizeInt(value) : value);
const column = (rows: readonly Row[], name: string): FeatureValue[] => rows.map((row) => memory(row[name] ?? null));

const graph = graphOfTypes({
  User: "id:int a:int? b:int x:float? y:float p:bool? q:bool s:str? t:str txns=>txn",
  Txn: "id:int n:int? ok:bool? kind:str?",
});
const scope = scopeOf(graph, "user");
const { int: ints, float: floats, bool: bools, str: texts } = expressions(false);

test("random expressions", () => {
  let [failures, nulls, values] = [0, 0, 0];
  fc.assert(
    fc.property(fc.oneof(ints, floats, bools, texts), parents, (expression, given) => {
      const compiled = compileExpression(expression, scope);
      const rows = given.map(({ row }) => row);
      const children = given.flatMap((parent) => parent.children);
      const offsets = [0];
      for (const parent of given) offsets.push((offsets.at(-1) as number) + parent.children.length);
      const relations = new Map(
        compiled.references.relations.map(({ path, references }) => [
          path,
          { rows: children.length, offsets, columns: new Map(references.columns.map((name) => [name, column(children, name)])) },
        ]),
      );
      const columns = new Map(compiled.references.columns.map((name) => [name, column(rows, name)]));
      const result = compiled.evaluate({ rows: rows.length, columns, relations }, { nowMicros: 0n });
      for (const [row, parent] of given.entries()) {
        let wanted: Plain | Failed;
        try {
          wanted = interpret(expression, parent.row, parent.children);
        } catch (error) {
          if (!(error instanceof Failed)) throw error;
          wanted = error;
        }
        if (wanted instanceof Failed) {
          failures++;
          expect(result.errors.get(row)).toContain(wanted.message);
          expect(result.values[row]).toBeNull();
        } else {
          if (wanted === null) nulls++;
          else values++;
          expect(result.errors.has(row)).toBe(false);
          expect(result.values[row]).toBe(memory(wanted) as never);
          if (wanted === null) expect(compiled.nullable).toBe(true);
        }
      }
    }),
    seeded(3000),
  );
  expect(Math.min(failures, nulls, values)).toBeGreaterThan(50);
});
