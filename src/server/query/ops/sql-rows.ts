/** Rows of SQL queries for has-many relations: by the columns of the join, or from bodies that take them. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode, ExceptionInfoSchema } from "../../../../gen/svc/v1/error_pb.ts";
import { encodeStored, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import { type RowTest, testText } from "../../expressions/row-test.ts";
import { SqlError, type SqlSource } from "../../sql/source.ts";
import type { NamespaceInfo, ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { PlanOp } from "../plan/plan.ts";
import type { CellFailure } from "../run/cells.ts";
import { callFailure } from "../run/outcome.ts";
import type { RunContext } from "../run/run-context.ts";
import type { RawColumns } from "./rows-source.ts";
import { runStatement } from "./run-statement.ts";
import { forgetTypes, type SqlFilter, sqlFilter } from "./sql-filter.ts";
import { boundStatement, columnSpelling, MAX_KEYS, paddedCount, scanStatement } from "./sql-statement.ts";

/** Statements of one op that run at the same time. */
const MAX_STATEMENTS = 8;

/** What a query is run with. */
export interface RowsQuery {
  readonly op: PlanOp;
  readonly sql: SqlInfo;
  readonly source: SqlSource;
  /** The features to read. */
  readonly wanted: readonly ScalarInfo[];
  /** The class that the rows are of. */
  readonly namespace: NamespaceInfo;
  /** What rows have to pass to be of any use. */
  readonly test: RowTest | undefined;
  readonly context: RunContext;
  readonly signal: AbortSignal;
}

/** The source of an op's statements. Throws SqlError when there is none. */
export function sourceOf({ deployment, observer }: RunContext, op: PlanOp, sql: SqlInfo): SqlSource {
  const source = deployment.sources.get(sql.source);
  return observer?.source(source, op) ?? source;
}

/**
 * The rows of a body that takes no features, for each key. Keys with null have none. Rows that do not pass the call's test may be among them. A database that refuses
 * what is asked beside the keys, for a table that was changed, is asked for the keys alone.
 */
export async function queryByKey(call: RowsQuery, keys: readonly FeatureValue[][]): Promise<RawColumns> {
  const { op, sql, source, namespace, test, context } = call;
  const spell = await (columnSpelling(sql, source) ?? ((column: string) => column));
  const column = (feature: ScalarInfo) => {
    const name = spell(sql.columns.get(feature.fqn) ?? feature.name);
    return { name, quoted: `q.${source.quote(name)}` };
  };
  const filter = test && (await sqlFilter(test, { sql, source, namespace, column, nowMicros: context.nowMicros }));
  if (!filter) return readByKey(call, keys, spell, undefined);
  try {
    const found = await readByKey(call, keys, spell, filter);
    context.trace?.askedFor(op, testText(filter.test));
    return found;
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    forgetTypes(sql);
    return readByKey(call, keys, spell, undefined);
  }
}

async function readByKey(
  call: RowsQuery,
  keys: readonly FeatureValue[][],
  spell: (column: string) => string,
  filter: SqlFilter | undefined,
): Promise<RawColumns> {
  const { op, sql, source, wanted, context, signal } = call;
  const others = wanted.filter((feature) => !op.keys.includes(feature));
  const statement = scanStatement(sql, source, op.keys, others, spell, filter);
  const ids = keys.map((key) => (key.includes(null) ? undefined : encodeStored(key)));
  const distinct = new Map<string, FeatureValue[]>();
  for (const [at, id] of ids.entries()) if (id !== undefined) distinct.set(id, keys[at] as FeatureValue[]);
  const all = [...distinct.values()];
  const times = sql.places.map(() => context.nowText);
  const columns = statement.features.map((): unknown[] => []);
  const byKey = new Map<string, number[]>();
  const chunks = Array.from({ length: Math.ceil(all.length / MAX_KEYS) }, (_, i) => all.slice(i * MAX_KEYS, (i + 1) * MAX_KEYS));
  await eachOf(chunks, async (chunk) => {
    const count = paddedCount(chunk.length);
    const padded = [...chunk, ...Array.from({ length: count - chunk.length }, () => chunk.at(-1) as FeatureValue[])];
    const text = statement.text(count);
    const parameters = [...times, ...padded.flat(), ...(filter?.parameters ?? [])];
    const { rows } = await runStatement(context, source, text, parameters, signal).catch((error: unknown) =>
      relocate(error, sql, text, statement.linesBefore),
    );
    for (const row of rows) {
      const id = distinct.size === 1 ? [...distinct.keys()][0] : keyOf(op.keys, row);
      if (id === undefined) continue;
      const at = columns[0]?.length ?? 0;
      for (let i = 0; i < columns.length; i++) columns[i]?.push(row[i]);
      const known = byKey.get(id);
      if (known) known.push(at);
      else byKey.set(id, [at]);
    }
  });
  return {
    groups: ids.map((id) => (id === undefined ? [] : (byKey.get(id) ?? []))),
    columns: new Map(statement.features.map((feature, i) => [feature, columns[i] as unknown[]])),
    rows: columns[0]?.length ?? 0,
  };
}

/** The rows of a body with placeholders, run once for each distinct set of arguments. */
export async function queryBodies(call: RowsQuery, args: readonly FeatureValue[][]): Promise<RawColumns> {
  const { sql, source, wanted, context, signal } = call;
  const statement = boundStatement(sql, source);
  const ids = args.map((values) => encodeStored(values));
  const distinct = new Map(ids.map((id, at) => [id, args[at] as FeatureValue[]]));
  const columns = wanted.map((): unknown[] => []);
  const found = new Map<string, number[]>();
  let total = 0;
  await eachOf([...distinct], async ([id, parameters]) => {
    const result = await runStatement(context, source, statement, parameters, signal).catch((error: unknown) =>
      relocate(error, sql, statement, 0),
    );
    const positions = wanted.map((feature) => columnPosition(result.columns, sql.columns.get(feature.fqn) ?? feature.name));
    for (const row of result.rows) for (let i = 0; i < columns.length; i++) columns[i]?.push(row[positions[i] as number]);
    const from = total;
    total += result.rows.length;
    found.set(
      id,
      Array.from({ length: result.rows.length }, (_, i) => from + i),
    );
  });
  return {
    groups: ids.map((id) => found.get(id) ?? []),
    columns: new Map(wanted.map((feature, i) => [feature, columns[i] as unknown[]])),
    rows: total,
  };
}

/** The id of a result row; undefined when its key is not of the key's type, so that it can be nobody's. */
export function keyOf(keys: readonly ScalarInfo[], row: readonly unknown[]): string | undefined {
  try {
    return encodeStored(keys.map((feature, position) => feature.lenient(row[position])));
  } catch (error) {
    if (error instanceof TypeMismatch) return undefined;
    throw error;
  }
}

/** Where a column stands in a result, whatever its case. Throws SqlError. */
export function columnPosition(columns: readonly string[], name: string): number {
  const exact = columns.indexOf(name);
  const position = exact >= 0 ? exact : columns.findIndex((column) => column.toLowerCase() === name.toLowerCase());
  if (position < 0) throw new SqlError(`the result has no column '${name}'; its columns are ${columns.join(", ")}`);
  return position;
}

/** Runs something for every item, some at the same time. */
export async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return run(only);
  let next = 0;
  const lane = async () => {
    while (next < items.length) await run(items[next++] as T);
  };
  await Promise.all(Array.from({ length: Math.min(MAX_STATEMENTS, items.length) }, lane));
}

/** A database's refusal with the line of the file that it speaks of. */
class SqlRefusal extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(message);
  }
}

/** Throws a database's refusal with the line of the file in place of the offset in the statement. */
export function relocate(error: unknown, sql: SqlInfo, statement: string, linesBefore: number): never {
  if (!(error instanceof SqlError)) throw error;
  const before = error.offset === undefined ? 0 : statement.slice(0, error.offset).split("\n").length - 1 - linesBefore;
  const lines = sql.body.split("\n").length;
  throw new SqlRefusal(error.message, sql.bodyLine + Math.min(Math.max(before, 0), lines - 1));
}

/** What a feature fails with when its SQL resolver failed. */
export function sqlFailure(error: unknown, path: string, resolver: ResolverInfo, sql: SqlInfo): CellFailure {
  if (!(error instanceof SqlError || error instanceof SqlRefusal)) return callFailure(error, path, resolver);
  const line = error instanceof SqlRefusal ? error.line : sql.bodyLine;
  return {
    code: ErrorCode.RESOLVER_FAILED,
    message: `${resolver.fqn}: ${error.message}`,
    path,
    resolver: resolver.fqn,
    exception: create(ExceptionInfoSchema, { kind: "SqlError", message: error.message, file: resolver.file, line }),
  };
}
