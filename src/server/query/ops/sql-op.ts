/** Running a SQL resolver for the rows of an op. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import { describeValue, encodeStored, type FeatureValue } from "../../../domain/value.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { withDeadline } from "../run/deadline.ts";
import type { Execution } from "../run/executor.ts";
import { accept, failed, missingRow, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";
import { runStatement } from "./run-statement.ts";
import { columnPosition, eachOf, keyOf, relocate, sourceOf, sqlFailure } from "./sql-rows.ts";
import { boundStatement, columnSpelling, MAX_KEYS, paddedCount, type ScanStatement, scanStatement } from "./sql-statement.ts";

/** A row as the database gave it, by feature; `undefined` = none; a text = why there is no single one. */
type Found = ReadonlyMap<ScalarInfo, unknown> | undefined | string;

interface SqlCall {
  readonly execution: Execution;
  readonly op: PlanOp;
  readonly resolver: ResolverInfo;
  readonly sql: SqlInfo;
  readonly frame: PlanFrame;
  /** The features to read. */
  readonly wanted: readonly ScalarInfo[];
}

/** Runs the query for all rows. Never rejects: what goes wrong is in the results. */
export async function callSql(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const { context, plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const sql = resolver.sql as SqlInfo;
  const frame = plan.frames[op.frame] as PlanFrame;
  const slots = op.outputs.map((id) => plan.slots[id] as PlanSlot);
  const time = frame.namespace.featureTime;
  const wanted = [...new Set([...slots.map((slot) => slot.feature), ...(time && sql.columns.has(time.fqn) ? [time] : [])])];
  const args = rows.map((row) => op.inputs.map((input) => argumentOf(execution, input, row, context.nowText)));
  const call: SqlCall = { execution, op, resolver, sql, frame, wanted };
  const started = performance.now();
  let found: readonly Found[];
  try {
    const source = sourceOf(context, op, sql);
    found = await withDeadline(resolver.timeoutMs, context.signal, (signal) =>
      op.keys.length > 0 ? scan(call, source, args, signal) : runBodies(call, source, args, rows, signal),
    );
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return { outcomes: slots.map((slot) => rows.map(() => failed(sqlFailure(error, slot.path, resolver, sql)))), observedAt: [] };
  }
  context.trace?.ran(op, rows.length, found.filter((row) => typeof row === "object").length, performance.now() - started);
  const mustExist = sql.count === RowCount.ONE || sql.total;
  return {
    outcomes: slots.map((slot) =>
      found.map((row, index): Outcome => {
        if (typeof row === "object") return accept(slot, row.get(slot.feature), slot.feature.lenient, frame, resolver);
        const lookedFor = describeKeys(op, args[index] as FeatureValue[]);
        if (row === undefined) return missingRow(slot, frame, resolver, lookedFor, mustExist);
        const message = `${resolver.fqn} gave ${row} with ${lookedFor}`;
        return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
      }),
    ),
    observedAt: time ? found.map((row) => (typeof row === "object" ? observedTime(row.get(time)) : undefined)) : [],
  };
}

/** Looks up the rows of a body that takes no features by key. */
async function scan(call: SqlCall, source: SqlSource, args: readonly FeatureValue[][], signal: AbortSignal): Promise<Found[]> {
  const { op, sql } = call;
  const { context } = call.execution;
  const spelling = columnSpelling(sql, source);
  const statement = statementOf(call, source, spelling ? await spelling : (column) => column);
  const distinct = new Map<string, FeatureValue[]>();
  const ids = args.map((key) => (key.includes(null) ? undefined : encodeStored(key)));
  for (const [index, id] of ids.entries()) if (id !== undefined) distinct.set(id, args[index] as FeatureValue[]);
  const keys = [...distinct.values()];
  const chunks: FeatureValue[][][] = [];
  for (let at = 0; at < keys.length; at += MAX_KEYS) chunks.push(keys.slice(at, at + MAX_KEYS));
  const times = sql.places.map(() => context.nowText);
  const byKey = new Map<string, ReadonlyMap<ScalarInfo, unknown>[]>();
  await eachOf(chunks, async (chunk) => {
    const count = paddedCount(chunk.length);
    while (chunk.length < count) chunk.push(chunk.at(-1) as FeatureValue[]);
    const text = statement.text(count);
    const { rows } = await runStatement(context, source, text, [...times, ...chunk.flat()], signal).catch((error: unknown) =>
      relocate(error, sql, text, statement.linesBefore),
    );
    for (const row of rows) {
      const id = distinct.size === 1 ? ids.find((known) => known !== undefined) : keyOf(op.keys, row);
      const values = new Map(statement.features.map((feature, position) => [feature, row[position]]));
      if (id === undefined || !isVisible(call, values)) continue;
      const known = byKey.get(id);
      if (known) known.push(values);
      else byKey.set(id, [values]);
    }
  });
  return ids.map((id) => single(id === undefined ? [] : (byKey.get(id) ?? [])));
}

/** Runs a body with placeholders, once for each distinct set of arguments. */
async function runBodies(
  call: SqlCall,
  source: SqlSource,
  args: readonly FeatureValue[][],
  rows: readonly number[],
  signal: AbortSignal,
): Promise<Found[]> {
  const { sql, wanted, execution, frame } = call;
  const statement = boundStatement(sql, source);
  const distinct = new Map<string, FeatureValue[]>();
  const ids = args.map((values) => encodeStored(values));
  for (const [index, id] of ids.entries()) distinct.set(id, args[index] as FeatureValue[]);
  const results = new Map<string, ReadonlyMap<ScalarInfo, unknown>[]>();
  const primary = frame.namespace.primaryKey;
  const read = primary && sql.columns.has(primary.fqn) ? [...new Set([...wanted, primary])] : wanted;
  await eachOf([...distinct], async ([id, parameters]) => {
    const result = await runStatement(execution.context, source, statement, parameters, signal).catch((error: unknown) =>
      relocate(error, sql, statement, 0),
    );
    const positions = read.map((feature) => columnPosition(result.columns, sql.columns.get(feature.fqn) ?? feature.name));
    const found = result.rows.map((row) => new Map(read.map((feature, i) => [feature, row[positions[i] as number]])));
    results.set(
      id,
      found.filter((row) => isVisible(call, row)),
    );
  });
  return ids.map((id, index) => {
    const found = results.get(id) ?? [];
    if (found.length < 2 || !sql.all || !primary || frame.primarySlot < 0) return single(found);
    const key = execution.cells.values[frame.primarySlot * execution.rows + (rows[index] as number)];
    return single(found.filter((row) => sameKey(primary, row.get(primary), key)));
  });
}

function sameKey(primary: ScalarInfo, raw: unknown, key: FeatureValue | undefined): boolean {
  return key !== undefined && keyOf([primary], [raw]) === encodeStored([key]);
}

/** Rows whose feature time lies after the time asked about are not seen. */
function isVisible({ execution, frame }: SqlCall, row: ReadonlyMap<ScalarInfo, unknown>): boolean {
  const { nowMs } = execution.context;
  const time = frame.namespace.featureTime;
  if (!time) return true;
  const observed = observedTime(row.get(time));
  return observed === undefined || observed <= nowMs;
}

function single(rows: readonly ReadonlyMap<ScalarInfo, unknown>[]): Found {
  return rows.length > 1 ? `${rows.length} rows, expected at most one,` : rows[0];
}

const statements = new WeakMap<PlanOp, { readonly source: SqlSource; readonly statement: ScanStatement }>();

function statementOf(call: SqlCall, source: SqlSource, spell: (column: string) => string): ScanStatement {
  const { op, sql, wanted } = call;
  const known = statements.get(op);
  if (known?.source === source) return known.statement;
  const keys = op.keys;
  const statement = scanStatement(
    sql,
    source,
    keys,
    wanted.filter((feature) => !keys.includes(feature)),
    spell,
  );
  statements.set(op, { source, statement });
  return statement;
}

function describeKeys(op: PlanOp, args: readonly FeatureValue[]): string {
  const parts = op.inputs.map(({ parameter }, i) => {
    const name = parameter.now ? "now" : (op.keys[i]?.fqn ?? parameter.feature?.fqn ?? parameter.name);
    return `${name} = ${describeValue(args[i]).replace(/^(?:int|float|str|bool) /, "")}`;
  });
  return parts.length > 0 ? parts.join(" and ") : "no arguments";
}
