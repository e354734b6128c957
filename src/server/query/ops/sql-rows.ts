/**
 * Rows of SQL queries for has-many relations: by the columns of the join, or from bodies that take
 * them.
 */

import type { FeatureValue } from "../../../domain/value.ts";
import { type RowTest, testText } from "../../expressions/row-test.ts";
import type { SqlResult, SqlSource, SqlType } from "../../sql/source.ts";
import type { NamespaceInfo, ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { PlanOp } from "../plan/plan.ts";
import { type QueryTime, rangeOf } from "../run/query-time.ts";
import type { RunContext } from "../run/run.ts";
import type { RawColumns } from "./rows-source.ts";
import { columnPosition, runBodies } from "./sql-bodies.ts";
import { forgetTypes, type SqlFilter, sqlFilter } from "./sql-filter.ts";
import { rowsByKey } from "./sql-keys.ts";
import { SqlRefusal, sqlFailure } from "./sql-refusal.ts";
import { exactColumnNames, scanStatement } from "./sql-statement.ts";
import { repetitionInRows } from "./unique-rows.ts";

/** The parameters of one query for child rows. */
export interface RowsQuery {
  readonly op: PlanOp;
  readonly sql: SqlInfo;
  readonly source: SqlSource;
  /** The features to read. */
  readonly wanted: readonly ScalarInfo[];
  /** The class that the rows are of. */
  readonly namespace: NamespaceInfo;
  readonly resolver: ResolverInfo;
  /** Of the relation, for failures. */
  readonly path: string;
  /** The test without which a row is of no use. */
  readonly test: RowTest | undefined;
  /** The query time of each set of arguments; the same for all when the query takes the time. */
  readonly times: readonly QueryTime[];
  readonly context: RunContext;
  readonly signal: AbortSignal;
}

/** The source of an op's statements. Throws SqlError when there is none. */
export function sourceOf({ deployment, observer }: RunContext, op: PlanOp, sql: SqlInfo): SqlSource {
  const source = deployment.sources.get(sql.source);
  return observer?.source(source, op) ?? source;
}

/**
 * The rows of a body that takes no features, for each key. Keys with null have none. Rows that do
 * not pass the call's test may be among them. A database that refuses what is asked beside the
 * keys, for a table that was changed, is asked for the keys alone.
 */
export async function queryByKey(call: RowsQuery, keys: readonly FeatureValue[][]): Promise<RawColumns> {
  const { op, sql, source, namespace, test, times, context } = call;
  const exactName = await (exactColumnNames(sql, source) ?? ((column: string) => column));
  const column = (feature: ScalarInfo) => {
    const name = exactName(sql.columns.get(feature.fqn) ?? feature.name);
    return { name, quoted: `q.${source.quote(name)}` };
  };
  const filter = test && (await sqlFilter(test, { sql, source, namespace, keys: op.keys, column, times: rangeOf(times) }));
  if (!filter) return readByKey(call, keys, exactName, undefined);
  try {
    const found = await readByKey(call, keys, exactName, filter);
    context.trace?.recordTest(op, testText(filter.test));
    return found;
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    forgetTypes(sql);
    return readByKey(call, keys, exactName, undefined);
  }
}

async function readByKey(
  { op, sql, source, wanted, resolver, path, times, context, signal }: RowsQuery,
  keys: readonly FeatureValue[][],
  exactName: (column: string) => string,
  filter: SqlFilter | undefined,
): Promise<RawColumns> {
  const others = [...new Set([...wanted, ...resolver.uniqueOn])].filter((feature) => !op.keys.includes(feature));
  const statement = scanStatement(sql, source, op.keys, others, exactName, filter);
  const lookup = {
    sql,
    source,
    statement,
    keys: op.keys,
    filterValues: filter?.parameters,
    nowText: times[0]?.text ?? "",
    context,
    signal,
  };
  const { rows, types, groups } = await rowsByKey(lookup, keys);
  const repeated = repetitionInRows(resolver, { rows, types }, (feature) => statement.features.indexOf(feature));
  if (repeated) throw repeated;
  return {
    groups: groups.map((group) => (group instanceof Error ? sqlFailure(group, path, resolver, sql) : group)),
    columns: new Map(statement.features.map((feature, position) => [feature, rows.map((row) => row[position])])),
    types: new Map(statement.features.map((feature, position) => [feature, types[position]])),
    rows: rows.length,
  };
}

/** The rows of a body with placeholders, for each set of arguments. */
export async function queryBodies(call: RowsQuery, args: readonly FeatureValue[][]): Promise<RawColumns> {
  const { sql, wanted, resolver, path } = call;
  const columns = wanted.map((): unknown[] => []);
  const types = new Map<ScalarInfo, SqlType | undefined>();
  const found = new Map<SqlResult, readonly number[]>();
  let total = 0;
  const groups = (await runBodies(call, args)).map((result) => {
    if (result instanceof SqlRefusal) return sqlFailure(result, path, resolver, sql);
    const known = found.get(result);
    if (known) return known;
    const placeOf = (feature: ScalarInfo) => columnPosition(result.columns, sql.columns.get(feature.fqn) ?? feature.name);
    const repeated = repetitionInRows(resolver, result, placeOf);
    if (repeated) return sqlFailure(repeated, path, resolver, sql);
    const from = total;
    for (const [at, feature] of wanted.entries()) {
      const position = placeOf(feature);
      types.set(feature, result.types?.[position]);
      for (const row of result.rows) columns[at]?.push(row[position]);
    }
    total += result.rows.length;
    const group = Array.from(result.rows, (_, at) => from + at);
    found.set(result, group);
    return group;
  });
  return { groups, columns: new Map(wanted.map((feature, at) => [feature, columns[at] as unknown[]])), types, rows: total };
}
