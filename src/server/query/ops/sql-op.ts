/** Running a SQL resolver for the rows of an op. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import { type Coercer, describeBare, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import { SqlError, type SqlResult, type SqlSource, type SqlType } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { Row, SlotId } from "../plan/ids.ts";
import type { PlanFrame, PlanOp } from "../plan/plan.ts";
import { withDeadline } from "../run/deadline.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import { accept, failed, hiddenBy, lookedFor, missingRow, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import { columnCoercer } from "./column-values.ts";
import { callEachTime, takesTime } from "./each-time.ts";
import { keyTextOf } from "./key-text.ts";
import type { Op } from "./op.ts";
import { columnPosition, runBodies } from "./sql-bodies.ts";
import { rowsByKey } from "./sql-keys.ts";
import { ForeignRow, SqlRefusal, sqlFailure } from "./sql-refusal.ts";
import { sourceOf } from "./sql-rows.ts";
import { exactColumnNames, type ScanStatement, scanStatement } from "./sql-statement.ts";
import { repetitionInRows } from "./unique-rows.ts";

/** The column of a feature in a result. */
interface ReadColumn {
  readonly position: number;
  readonly type: SqlType | undefined;
  readonly coerce: Coercer;
}

/** A row as the database returned it. */
interface FoundRow {
  readonly values: readonly unknown[];
  readonly columns: ReadonlyMap<ScalarInfo, ReadColumn>;
}

/** The feature time of a row that is not visible yet. */
class Hidden {
  constructor(readonly time: unknown) {}
}

/**
 * A row found; `undefined` = none, a text = the reason why there is not exactly one, an error = the
 * failure.
 */
type Found = FoundRow | Hidden | undefined | string | Error;

interface SqlCall {
  readonly run: Run;
  readonly op: PlanOp;
  /** The rows of the run. */
  readonly rows: readonly Row[];
  readonly resolver: ResolverInfo;
  readonly sql: SqlInfo;
  readonly frame: PlanFrame;
  /** The features to read. */
  readonly wanted: readonly ScalarInfo[];
}

/** Runs a query for all rows. */
export const sqlOp: Op<OpResults> = {
  verdict: verdictOf,
  run(run, op, rows) {
    const query = (part: readonly Row[]) => queryRows(run, op, part);
    return op.keys.length > 0 && takesTime(op.resolver as ResolverInfo) ? callEachTime(run, rows, query) : query(rows);
  },
  settle: settleOutcomes,
};

async function queryRows(run: Run, op: PlanOp, rows: readonly Row[]): Promise<OpResults> {
  const { context, plan } = run;
  const resolver = op.resolver as ResolverInfo;
  const sql = resolver.sql as SqlInfo;
  const frame = plan.frame(op.frame);
  const slots = op.outputs.map((id) => plan.slot(id));
  const time = frame.namespace.featureTime;
  const asked = [...slots.map((slot) => slot.feature), ...(time && sql.columns.has(time.fqn) ? [time] : [])];
  const wanted = [...new Set([...asked, ...resolver.uniqueOn])];
  const args = rows.map((row) => op.inputs.map((input) => argumentOf(run, input, row)));
  const call: SqlCall = { run, op, rows, resolver, sql, frame, wanted };
  const started = performance.now();
  let found: readonly Found[];
  try {
    const source = sourceOf(context, op, sql);
    found = await withDeadline(resolver.timeoutMs, context.signal, (signal) =>
      op.keys.length > 0 ? scan(call, source, args, signal) : queryBodies(call, source, args, signal),
    );
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return {
      outcomes: slots.map((slot) => rows.map(() => failed(sqlFailure(error, slot.path, resolver, sql)))),
      observedAt: [],
      found: rows.map(() => sqlFailure(error, frame.path, resolver, sql)),
    };
  }
  context.trace?.ran(op, rows.length, found.filter(isRow).length, performance.now() - started);
  const mustExist = sql.count === RowCount.ONE || sql.total;
  return {
    outcomes: slots.map((slot) =>
      found.map((row, index): Outcome => {
        if (row instanceof Error) return failed(sqlFailure(row, slot.path, resolver, sql));
        if (isRow(row)) {
          const { position, coerce } = row.columns.get(slot.feature) as ReadColumn;
          return accept(slot, row.values[position], coerce, frame, resolver);
        }
        const key = describeKeys(op, args[index] as FeatureValue[]);
        const by = row instanceof Hidden ? hiddenBy(key, row.time, run.timeOf(rows[index] as Row).text) : key;
        if (typeof row !== "string") return missingRow(slot, frame, { resolver, by, mustExist, isRowSource: op.isRowSource });
        const message = `${resolver.fqn} gave ${row} with ${by}`;
        return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
      }),
    ),
    observedAt: time ? found.map((row) => (isRow(row) ? observedTime(rawValue(row, time)) : undefined)) : [],
    found: found.map((row) => (row instanceof Error ? sqlFailure(row, frame.path, resolver, sql) : isRow(row) || typeof row === "string")),
  };
}

function isRow(found: Found): found is FoundRow {
  return typeof found === "object" && !(found instanceof Error || found instanceof Hidden);
}

function rawValue({ values, columns }: FoundRow, feature: ScalarInfo): unknown {
  return values[columns.get(feature)?.position ?? -1];
}

/** Looks up the rows of a body that takes no features by key. */
async function scan(call: SqlCall, source: SqlSource, args: readonly FeatureValue[][], signal: AbortSignal): Promise<Found[]> {
  const { op, rows, sql } = call;
  const { context } = call.run;
  const nowText = call.run.timeOf(rows[0] as Row).text;
  const exactName = exactColumnNames(sql, source);
  const statement = statementOf(call, source, exactName ? await exactName : (column) => column);
  const lookup = { sql, source, statement, keys: op.keys, filterValues: undefined, nowText, context, signal };
  const found = await rowsByKey(lookup, args);
  const columns = readColumns(statement.features, (_, position) => position, found.types);
  const repeated = repetitionInRows(call.resolver, found, (feature) => columns.get(feature)?.position);
  if (repeated) throw repeated;
  return found.groups.map((group, index) => {
    if (group instanceof Error) return group;
    const own = group.map((position) => ({ values: found.rows[position] ?? [], columns }));
    return single(call, own, rows[index] as Row);
  });
}

/**
 * Runs a body with placeholders. Of the rows of a body that returns all rows, the one with the
 * query's key is taken.
 */
async function queryBodies(call: SqlCall, source: SqlSource, args: readonly FeatureValue[][], signal: AbortSignal): Promise<Found[]> {
  const { sql, wanted, run, frame, rows } = call;
  const { context } = run;
  const primary = frame.namespace.primaryKey;
  const key = primary && sql.all && sql.columns.has(primary.fqn) && frame.primarySlot !== undefined ? primary : undefined;
  const read = key ? [...new Set([...wanted, key])] : wanted;
  const known = new Map<SqlResult, readonly FoundRow[] | SqlError>();
  return (await runBodies({ sql, source, context, signal }, args)).map((result, index) => {
    if (result instanceof SqlRefusal) return result;
    const found = known.get(result) ?? rowsOf(call, result, read);
    known.set(result, found);
    if (found instanceof SqlError) return found;
    const row = rows[index] as Row;
    const cell = key && run.cells.at(frame.primarySlot as SlotId, row);
    if (!key || cell === undefined || !run.cells.isOk(cell)) return single(call, found, row);
    return withKey(call, key, run.cells.value(cell), found, row);
  });
}

/** The rows of a result; the error of one that does not keep to what the resolver promises. */
function rowsOf(call: SqlCall, result: SqlResult, read: readonly ScalarInfo[]): readonly FoundRow[] | SqlError {
  const place = (feature: ScalarInfo) => columnPosition(result.columns, call.sql.columns.get(feature.fqn) ?? feature.name);
  const columns = readColumns(read, place, result.types ?? []);
  const repeated = repetitionInRows(call.resolver, result, (feature) => columns.get(feature)?.position);
  return repeated ?? result.rows.map((values) => ({ values, columns }));
}

function readColumns(
  features: readonly ScalarInfo[],
  place: (feature: ScalarInfo, index: number) => number,
  types: readonly (SqlType | undefined)[],
): FoundRow["columns"] {
  return new Map(
    features.map((feature, index) => {
      const position = place(feature, index);
      const type = types[position];
      return [feature, { position, type, coerce: columnCoercer(feature, type) }];
    }),
  );
}

/**
 * The row with a key. When there is none, but a row has a key of another type, the result is that
 * row's error.
 */
function withKey(call: SqlCall, primary: ScalarInfo, key: FeatureValue, rows: readonly FoundRow[], of: Row): Found {
  const { type, coerce } = rows[0]?.columns.get(primary) ?? {};
  if (!coerce) return undefined;
  const textOf = keyTextOf([primary], [type]);
  const wanted = textOf([key]);
  let broken: TypeMismatch | undefined;
  const found = rows.filter((row) => {
    const value = rawValue(row, primary);
    if (value === null || value === undefined) return false;
    try {
      return textOf([coerce(value)]) === wanted;
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error;
      broken = error;
      return false;
    }
  });
  return found.length === 0 && broken ? new ForeignRow(primary, broken, `${primary.fqn} = ${describeBare(key)}`) : single(call, found, of);
}

/** Rows whose feature time lies after the query time are not visible. */
function isVisible({ frame }: SqlCall, row: FoundRow, nowMs: number): boolean {
  const time = frame.namespace.featureTime;
  if (!time) return true;
  const observed = observedTime(rawValue(row, time));
  return observed === undefined || observed <= nowMs;
}

/** The one of a key's rows that is seen by a row of the run. */
function single(call: SqlCall, rows: readonly FoundRow[], of: Row): Found {
  const { ms } = call.run.timeOf(of);
  const seen = rows.filter((row) => isVisible(call, row, ms));
  if (seen.length > 1) return `${seen.length} rows, expected at most one,`;
  const [hidden] = rows;
  const time = call.frame.namespace.featureTime;
  return seen[0] ?? (hidden && time ? new Hidden(rawValue(hidden, time)) : undefined);
}

function statementOf(call: SqlCall, source: SqlSource, exactName: (column: string) => string): ScanStatement {
  const { op, sql, wanted } = call;
  const { lookups } = call.run.plan;
  const known = lookups.get(op.id);
  if (known?.source === source) return known.statement;
  const keys = op.keys;
  const statement = scanStatement(
    sql,
    source,
    keys,
    wanted.filter((feature) => !keys.includes(feature)),
    exactName,
  );
  lookups.set(op.id, { source, statement });
  return statement;
}

function describeKeys(op: PlanOp, args: readonly FeatureValue[]): string {
  if (op.inputs.length === 0) return "no arguments";
  const names = op.inputs.map(({ parameter }, i) =>
    parameter.constant ? parameter.name : parameter.now ? "now" : (op.keys[i]?.fqn ?? parameter.feature?.fqn ?? parameter.name),
  );
  return lookedFor(
    names.map((fqn) => ({ fqn })),
    args,
  );
}
