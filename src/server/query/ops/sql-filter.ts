/** Tests of rows as SQL, by which a database leaves out rows that every filter would exclude. */

import { SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { formatMicros } from "../../../domain/timestamp.ts";
import { type FeatureValue, primitiveOf } from "../../../domain/value.ts";
import { allOf, anyOf, type RowTest, type SpansTest, type TestOperator, type TestValue } from "../../expressions/row-test.ts";
import { type AddParameter, type ColumnType, type ComparedColumn, comparisonSql, spansSql } from "../../sql/condition.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { LearnedTypes, NamespaceInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { TimeRange } from "../run/query-time.ts";
import { boundStatement } from "./sql-statement.ts";

/** A condition on the rows of a statement. */
export interface SqlFilter {
  /** The part of the test that the condition expresses. */
  readonly test: RowTest;
  readonly parameters: readonly FeatureValue[];
  /**
   * The condition with placeholders from a position on.
   * @param key another condition, which becomes a part of it
   */
  text(from: number, key?: string): string;
}

/** The target of a filter: the query whose rows it tests. */
export interface FilterTarget {
  readonly sql: SqlInfo;
  readonly source: SqlSource;
  /** The class that the rows are of. */
  readonly namespace: NamespaceInfo;
  /** The features that rows are looked up by. */
  readonly keys: readonly ScalarInfo[];
  /** The column as the wrapping statement names it. */
  readonly column: (feature: ScalarInfo) => { readonly name: string; readonly quoted: string };
  /** Of the times that the rows are looked for at. */
  readonly times: TimeRange;
}

/** The condition for a test; undefined when no part of it can be expressed. */
export async function sqlFilter(test: RowTest, target: FilterTarget): Promise<SqlFilter | undefined> {
  const types = await columnTypes(target.sql, target.source);
  if (!types || target.keys.some((key) => isConverted(key, target, types))) return undefined;
  const tested = testablePart(test, target, types);
  if (!tested) return undefined;
  const parameters: FeatureValue[] = [];
  whole(tested, target, types, undefined, (value) => {
    parameters.push(value);
    return "";
  });
  return {
    test: tested,
    parameters,
    text(from, key) {
      let position = from;
      return whole(tested, target, types, key, () => target.source.placeholder(position++));
    },
  };
}

/**
 * The condition of a test and a key. SQLite uses an index of key and time for alternatives of times
 * only if the key stands in each of them.
 */
function whole(
  test: RowTest,
  target: FilterTarget,
  types: ReadonlyMap<string, ColumnType>,
  key: string | undefined,
  add: AddParameter,
): string {
  const parts = test.kind === "all" ? test.tests : [test];
  const spans = target.sql.sourceKind === SourceKind.SQLITE && key !== undefined ? parts.find((one) => one.kind === "spans") : undefined;
  const written = parts.map((one) => {
    if (one !== spans) return write(one, target, types, add);
    const alternatives = writeSpans(one, target, types, add) ?? [];
    return `(${alternatives.map((text) => `(${key} and ${text})`).join(" or ")})`;
  });
  return [...(key === undefined || spans ? [] : [key]), ...written].join(" and ");
}

/**
 * Milliseconds for which the types of a body's columns are cached: tables may be changed under a
 * running deployment.
 */
const KEPT_MS = 60_000;

/**
 * The types of a body's columns; undefined when the database does not say, which the query itself
 * will show.
 */
function columnTypes(sql: SqlInfo, source: SqlSource): LearnedTypes["found"] {
  const before = sql.learned.types;
  if (before && performance.now() - before.since < KEPT_MS) return before.found;
  const found = source.columnTypes(boundStatement(sql, source)).catch(() => {
    forgetTypes(sql);
    return undefined;
  });
  sql.learned.types = { found, since: performance.now() };
  return found;
}

/** Clears the cached types of a body's columns. */
export function forgetTypes(sql: SqlInfo): void {
  sql.learned.types = undefined;
}

/** The part of a test that the source can evaluate: every row that passes the test passes it. */
function testablePart(test: RowTest, target: FilterTarget, types: ReadonlyMap<string, ColumnType>): RowTest | undefined {
  if (!("tests" in test)) return write(test, target, types, () => "") === undefined ? undefined : test;
  const parts = test.tests.map((one) => testablePart(one, target, types));
  return test.kind === "all" ? allOf(parts) : anyOf(parts);
}

function write(test: RowTest, target: FilterTarget, types: ReadonlyMap<string, ColumnType>, add: AddParameter): string | undefined {
  if ("tests" in test) {
    const parts = test.tests.map((one) => write(one, target, types, add));
    return parts.every((part) => part !== undefined) ? `(${parts.join(test.kind === "all" ? " and " : " or ")})` : undefined;
  }
  if (test.kind === "spans") {
    const alternatives = writeSpans(test, target, types, add);
    return alternatives && `(${alternatives.join(" or ")})`;
  }
  const column = columnOf(test.path, target, types);
  if (!column) return undefined;
  const base = column.feature;
  const values = test.kind === "in" ? test.values : [boundValue(test.value, base, test.operator, target.times)];
  const operator = test.kind === "in" ? "in" : test.operator;
  return comparisonSql(target.sql.sourceKind, { ...column, operator, values }, add);
}

function writeSpans(
  { path, spans }: SpansTest,
  target: FilterTarget,
  types: ReadonlyMap<string, ColumnType>,
  add: AddParameter,
): readonly string[] | undefined {
  const column = columnOf(path, target, types);
  return column && spansSql(target.sql.sourceKind, column, spans, add);
}

/** The column of a feature of the rows, as comparisons need it. */
function columnOf(path: string, target: FilterTarget, types: ReadonlyMap<string, ColumnType>): ComparedColumn | undefined {
  const feature = target.namespace.members.get(path);
  if (feature?.kind !== "scalar") return undefined;
  const type = typeOf(feature, target, types);
  return type && { column: target.column(feature).quoted, type, feature: primitiveOf(feature.dtype), nullable: feature.nullable };
}

function typeOf(feature: ScalarInfo, target: FilterTarget, types: ReadonlyMap<string, ColumnType>): ColumnType | undefined {
  const { name } = target.column(feature);
  return types.get(name) ?? [...types].find(([column]) => column.toLowerCase() === name.toLowerCase())?.[1];
}

/**
 * Whether a key's column is converted to be compared, as MySQL does with text and numbers. Then a
 * row that has no key of its type, which is a failure, can be among the rows, and a filter would
 * hide it.
 */
function isConverted(key: ScalarInfo, target: FilterTarget, types: ReadonlyMap<string, ColumnType>): boolean {
  const isNumber = NUMBERS.has(primitiveOf(key.dtype));
  return isNumber && target.sql.sourceKind === SourceKind.MYSQL && typeOf(key, target, types) === "text";
}

const NUMBERS: ReadonlySet<PrimitiveType> = new Set([PrimitiveType.INT64, PrimitiveType.FLOAT64, PrimitiveType.BOOL]);

/**
 * Instants are compared with instants alone. Of several times it is the one at which most rows
 * pass; null when there is no such.
 */
function boundValue(value: TestValue, base: PrimitiveType, operator: TestOperator, { earliest, latest }: TimeRange): FeatureValue {
  if ("literal" in value) return value.literal;
  if ((operator === "eq" || operator === "ne") && earliest !== latest) return null;
  const micros = (operator === "lt" || operator === "le" ? latest : earliest) - value.microsBeforeNow;
  return base === PrimitiveType.DATETIME && micros > FIRST_MICROS ? formatMicros(micros) : null;
}

/** The year 1 does not reach back to where windows may. */
const FIRST_MICROS = BigInt(Date.parse("0002-01-01T00:00:00Z")) * 1000n;
