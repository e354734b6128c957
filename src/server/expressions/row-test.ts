/**
 * Tests of rows: the part of a filter that a source of rows can evaluate, comparisons of a row's
 * own features with constants. A test is weaker than its filter: every row that passes the filter
 * passes the test, so rows that pass must still be filtered.
 */

import type { TypedExpression } from "../../domain/expressions/typing.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";

/** Comparisons by their names in the function table. */
export type TestOperator = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/** A constant, or an instant given as microseconds before the query's time. */
export type TestValue = { readonly literal: FeatureValue } | { readonly microsBeforeNow: bigint };

/** A test of a row. A null value passes no comparison. */
export type RowTest =
  | { readonly kind: "all" | "any"; readonly tests: readonly RowTest[] }
  | { readonly kind: "compare"; readonly path: string; readonly operator: TestOperator; readonly value: TestValue }
  | { readonly kind: "in"; readonly path: string; readonly values: readonly FeatureValue[] }
  | SpansTest;

/**
 * An instant in one of some times, of rows whose times can be read: another value may pass or not.
 */
export interface SpansTest {
  readonly kind: "spans";
  readonly path: string;
  readonly spans: readonly InstantSpan[];
}

/** The instants from one on until before another, microseconds since 1970. */
export interface InstantSpan {
  readonly from: bigint;
  readonly until: bigint;
}

const MIRRORED: Readonly<Record<TestOperator, TestOperator>> = { eq: "eq", ne: "ne", lt: "gt", le: "ge", gt: "lt", ge: "le" };
/** Most values of an `in` test; longer lists are left to the filter. */
const MAX_LISTED = 100;

/** The test of rows that pass all of these filters; undefined = every row may. */
export function rowTest(filters: readonly TypedExpression[], windowMicros: bigint): RowTest | undefined {
  return allOf(filters.map((filter) => testOf(filter, windowMicros)));
}

/** The conjunction of tests; an undefined one is passed by every row. */
export function allOf(tests: readonly (RowTest | undefined)[]): RowTest | undefined {
  return joined("all", distinct(tests.filter((test) => test !== undefined)));
}

/** The disjunction of tests; undefined when one of them is. */
export function anyOf(tests: readonly (RowTest | undefined)[]): RowTest | undefined {
  const known = tests.filter((test) => test !== undefined);
  if (known.length < tests.length) return undefined;
  const apart = distinct(known);
  return joined(
    "any",
    apart.filter(
      (test, at) => !apart.some((other, index) => index !== at && implies(test, other) && !(index > at && implies(other, test))),
    ),
  );
}

/**
 * Whether every row that passes a test certainly passes the other: a shorter window lies in a
 * longer one.
 */
function implies(test: RowTest, other: RowTest): boolean {
  if (other.kind === "all") return other.tests.every((one) => implies(test, one));
  if (test.kind === "all") return test.tests.some((one) => implies(one, other));
  if (testText(test) === testText(other)) return true;
  if (test.kind !== "compare" || other.kind !== "compare" || test.path !== other.path || test.operator !== other.operator) return false;
  const [own, others] = [test.value, other.value];
  if ("literal" in own || "literal" in others) return false;
  if (test.operator === "gt" || test.operator === "ge") return own.microsBeforeNow <= others.microsBeforeNow;
  return (test.operator === "lt" || test.operator === "le") && own.microsBeforeNow >= others.microsBeforeNow;
}

function joined(kind: "all" | "any", tests: readonly RowTest[]): RowTest | undefined {
  return tests.length < 2 ? tests[0] : { kind, tests };
}

function distinct(tests: readonly RowTest[]): RowTest[] {
  return [...new Map(tests.map((test) => [testText(test), test])).values()];
}

/** The operators in text, which are those of SQL. */
export const OPERATOR_SYMBOLS: Readonly<Record<TestOperator, string>> = { eq: "=", ne: "<>", lt: "<", le: "<=", gt: ">", ge: ">=" };

/** The text of a test; equal tests have equal texts. */
export function testText(test: RowTest): string {
  if (test.kind === "in") return `${test.path} in (${test.values.map(literalText).join(", ")})`;
  if (test.kind === "spans") {
    const texts = test.spans.map(
      ({ from, until }) => `${test.path} >= "${formatMicros(from)}" and ${test.path} < "${formatMicros(until)}"`,
    );
    return texts.length === 1 ? (texts[0] as string) : texts.map((text) => `(${text})`).join(" or ");
  }
  if (test.kind === "compare") {
    const { value } = test;
    const micros = "literal" in value ? 0n : value.microsBeforeNow;
    const text = "literal" in value ? literalText(value.literal) : micros === 0n ? "now" : `now - ${Number(micros) / 1_000_000}s`;
    return `${test.path} ${OPERATOR_SYMBOLS[test.operator]} ${text}`;
  }
  return test.tests
    .map((one) => (one.kind === "compare" || one.kind === "in" ? testText(one) : `(${testText(one)})`))
    .join(test.kind === "all" ? " and " : " or ");
}

function literalText(value: FeatureValue): string {
  return typeof value === "bigint"
    ? String(value)
    : typeof value === "number"
      ? String(Object.is(value, -0) ? 0 : value)
      : JSON.stringify(value);
}

/**
 * The test restricted to paths for which `isTestable` holds; undefined = nothing is left to test.
 */
export function restricted(test: RowTest | undefined, isTestable: (path: string) => boolean): RowTest | undefined {
  if (test === undefined) return undefined;
  if (!("tests" in test)) return isTestable(test.path) ? test : undefined;
  const left = test.tests.map((one) => restricted(one, isTestable));
  return test.kind === "all" ? allOf(left) : anyOf(left);
}

/** The test without comparisons of a path with times that follow from the query's. */
export function withoutTimes(test: RowTest | undefined, path: string): RowTest | undefined {
  if (test?.kind === "all") return allOf(test.tests.map((one) => withoutTimes(one, path)));
  return test?.kind === "compare" && test.path === path && "microsBeforeNow" in test.value ? undefined : test;
}

function testOf(typed: TypedExpression, windowMicros: bigint): RowTest | undefined {
  const path = pathOf(typed);
  if (path !== undefined) return isTrue(path, true);
  if (typed.kind !== "call") return undefined;
  const { name } = typed.definition;
  const [first, second, third] = typed.arguments;
  if (name === "and") return rowTest(typed.arguments, windowMicros);
  if (name === "or") return anyOf(typed.arguments.map((argument) => testOf(argument, windowMicros)));
  if (name === "not") return negated(first, windowMicros);
  if (!first || !second) return undefined;
  if (name in MIRRORED) return comparison(name as TestOperator, first, second, windowMicros);
  if (name === "between" && third)
    return allOf([comparison("ge", first, second, windowMicros), comparison("le", first, third, windowMicros)]);
  const listed = pathOf(first);
  if (name !== "is_in" || listed === undefined || second.kind !== "literal" || !Array.isArray(second.value)) return undefined;
  const values = second.value.filter((value) => value !== null);
  return values.length <= MAX_LISTED ? { kind: "in", path: listed, values } : undefined;
}

/**
 * The test of a negation. A negated order comparison is left to the filter: with NaN it is not the
 * opposite comparison.
 */
function negated(typed: TypedExpression | undefined, windowMicros: bigint): RowTest | undefined {
  const path = typed && pathOf(typed);
  if (path !== undefined) return isTrue(path, false);
  if (typed?.kind !== "call" || (typed.definition.name !== "eq" && typed.definition.name !== "ne")) return undefined;
  const [first, second] = typed.arguments;
  return first && second && comparison(typed.definition.name === "eq" ? "ne" : "eq", first, second, windowMicros);
}

function isTrue(path: string, literal: boolean): RowTest {
  return { kind: "compare", path, operator: "eq", value: { literal } };
}

function comparison(operator: TestOperator, left: TypedExpression, right: TypedExpression, windowMicros: bigint): RowTest | undefined {
  const [leftPath, rightPath] = [pathOf(left), pathOf(right)];
  const path = leftPath ?? rightPath;
  const value = constantOf(leftPath === undefined ? left : right, windowMicros);
  if (path === undefined || value === undefined) return undefined;
  return { kind: "compare", path, operator: leftPath === undefined ? MIRRORED[operator] : operator, value };
}

/** The path of an expression that is a feature of the row itself; undefined for any other. */
function pathOf(typed: TypedExpression): string | undefined {
  return typed.kind === "reference" && typed.scope === 0 && typed.fields.length === 0 ? typed.column : undefined;
}

function constantOf(typed: TypedExpression, windowMicros: bigint): TestValue | undefined {
  if (typed.kind === "now") return { microsBeforeNow: 0n };
  if (typed.kind === "window-start") return { microsBeforeNow: windowMicros };
  if (typed.kind === "call" && typed.definition.name === "sub") {
    const [from, length] = typed.arguments.map((argument) => constantOf(argument, windowMicros));
    if (!from || "literal" in from || !length || !("literal" in length)) return undefined;
    const { literal } = length;
    if (typeof literal !== "number" && typeof literal !== "bigint") return undefined;
    return { microsBeforeNow: from.microsBeforeNow + BigInt(literal) };
  }
  return typed.kind === "literal" && typed.value !== null ? { literal: typed.value } : undefined;
}
