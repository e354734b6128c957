/** Calling a Python resolver for the rows of an op. */

import { encodeStored, type FeatureValue } from "../../../domain/value.ts";
import type { ResolverCall, ResolverResult, RowError, RowGroups } from "../../python/pool.ts";
import type { ParameterInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { Partitions } from "../partitions.ts";
import type { Row, SlotId } from "../plan/ids.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { within } from "../run/deadline.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import { accept, callFailure, failed, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import { callEachTime, joinedResults } from "./each-time.ts";
import { keyTextOf } from "./key-text.ts";
import type { Op } from "./op.ts";
import { RowLookup } from "./row-lookup.ts";
import { rowGroups } from "./rows-argument.ts";
import { Scan } from "./scan.ts";
import { callWorker, POOL_GRACE_MS } from "./worker-call.ts";

/**
 * Most milliseconds of a call of many rows, whose timeout is the resolver's times the rows, unless
 * the timeout of one row is longer.
 */
const MAX_CALL_MS = 120_000;

/**
 * Calls a resolver for all rows, equal arguments once, and at most `max_batch_rows` a call; tables
 * and their partitions stay whole.
 */
export const pythonOp: Op<OpResults> = {
  verdict: verdictOf,
  run(run, op, rows) {
    if (op.inputs.some((input) => input.parameter.table)) return callEachTime(run, rows, (part) => callTable(run, op, part));
    if (op.resolver?.shape === "rows") return callEachTime(run, rows, (part) => callMerged(run, op, part));
    return callMerged(run, op, rows);
  },
  settle: settleOutcomes,
};

async function callMerged(run: Run, op: PlanOp, rows: readonly Row[]): Promise<OpResults> {
  if (rows.length === 1) return callOnce(run, op, rows);
  const { distinct, at } = mergeEqual(run, op, rows);
  const size = run.plan.options.maxBatchRows;
  const chunks = inChunks(distinct, size);
  const results = new Array<OpResults>(chunks.length);
  await inLanes(run, op, chunks.length, async (chunk) => {
    results[chunk] = await callOnce(run, op, chunks[chunk] as readonly Row[]);
  });
  const chunkOf = (index: number) => results[Math.floor(index / size)] as OpResults;
  return {
    outcomes: op.outputs.map((_, position) => at.map((index) => chunkOf(index).outcomes[position]?.[index % size] as Outcome)),
    observedAt: at.map((index) => chunkOf(index).observedAt[index % size]),
  };
}

/**
 * Calls a resolver that takes a table: for all rows at once, or, when it is partitioned, for whole
 * partitions of them, at most `max_batch_rows` a call where they are not larger.
 */
async function callTable(run: Run, op: PlanOp, rows: readonly Row[]): Promise<OpResults> {
  const { partitionedBy } = op.resolver as ResolverInfo;
  if (partitionedBy.length === 0) return callOnce(run, op, rows);
  const columns = partitionedBy.flatMap((feature) => op.inputs.find(({ parameter }) => isColumn(parameter, feature)) ?? []);
  const textOf = keyTextOf(partitionedBy);
  const partitions = new Partitions(rows.length);
  partitions.join(rows.map((row) => textOf(columns.map((input) => argumentOf(run, input, row)))));
  const calls = partitions.parts(run.plan.options.maxBatchRows);
  const parts = new Array<{ readonly positions: readonly number[]; readonly result: OpResults }>(calls.length);
  await inLanes(run, op, calls.length, async (call) => {
    const positions = calls[call] as readonly number[];
    const part = positions.map((position) => rows[position] as Row);
    parts[call] = { positions, result: await callOnce(run, op, part) };
  });
  return joinedResults(parts, rows.length);
}

/** Whether a parameter is the column of a table that has a feature of the row itself. */
function isColumn({ feature, relations, table }: ParameterInfo, wanted: ScalarInfo): boolean {
  return table !== undefined && relations.length === 0 && feature === wanted;
}

/** Makes calls by their number, as many beside each other as workers can take. */
async function inLanes({ context }: Run, op: PlanOp, calls: number, make: (call: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let call = next++; call < calls; call = next++) await make(call);
  };
  const lanes = Math.max(1, context.deployment.pool.health(op.resolver?.fqn).workers);
  await Promise.all(Array.from({ length: Math.min(lanes, calls) }, lane));
}

/** Rows in chunks of a maximum size. */
export function inChunks(rows: readonly Row[], size: number): (readonly Row[])[] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, chunk) => rows.slice(chunk * size, (chunk + 1) * size));
}

/**
 * The rows with distinct arguments, and for each row the position of the one with equal arguments.
 */
function mergeEqual(run: Run, op: PlanOp, rows: readonly Row[]): { distinct: Row[]; at: number[] } {
  if (op.inputs.some((input) => input.parameter.rows)) return { distinct: [...rows], at: rows.map((_, position) => position) };
  const known = new Map<string, number>();
  const distinct: Row[] = [];
  const at = rows.map((row) => {
    const key = encodeStored(op.inputs.map((input) => argumentOf(run, input, row)));
    let position = known.get(key);
    if (position === undefined) {
      position = distinct.length;
      known.set(key, position);
      distinct.push(row);
    }
    return position;
  });
  return { distinct, at };
}

async function callOnce(run: Run, op: PlanOp, rows: readonly Row[]): Promise<OpResults> {
  const { context, plan } = run;
  const resolver = op.resolver as ResolverInfo;
  const slots = op.outputs.map((id) => plan.slot(id));
  const started = performance.now();
  let result: ResolverResult;
  try {
    result = await callPool(run, op, rows);
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return { outcomes: slots.map((slot) => rows.map(() => failed(callFailure(error, slot.path, resolver)))), observedAt: [] };
  }
  const errors = new Map(result.errors.map((error) => [error.row, error]));
  context.trace?.ran(op, rows.length, rows.length - errors.size, performance.now() - started);
  if (resolver.shape === "rows") return rowsByKey(run, op, rows, result, errors);
  return {
    outcomes: slots.map((slot) => outcomesOf(slot, plan.frame(op.frame), resolver, result, errors, rows.length)),
    observedAt: observedTimes(result, plan.frame(op.frame), rows.length),
  };
}

/** Calls the resolver of an op for some rows. Rejects when the pool does not answer in time. */
export async function callPool(run: Run, op: PlanOp, rows: readonly Row[]): Promise<ResolverResult> {
  const { context } = run;
  const resolver = op.resolver as ResolverInfo;
  const { columns, groups, tables } = argumentsOf(run, op, rows);
  const calls = tables ? 1 : rows.length;
  const deadlineMs = Math.max(resolver.timeoutMs, Math.min(resolver.timeoutMs * calls, MAX_CALL_MS));
  const result = await within(
    deadlineMs + POOL_GRACE_MS,
    callWorker(context, op, resolver, {
      rows: rows.length,
      now: rows.map((row) => run.timeOf(row).text),
      columns,
      ...(groups ? { groups } : {}),
      ...(tables ? { tables } : {}),
      deadlineMs,
    }),
  );
  if (result.usage) context.meter?.asked(resolver, result.usage);
  return result;
}

function argumentsOf(run: Run, op: PlanOp, rows: readonly Row[]): Pick<ResolverCall, "columns" | "groups" | "tables"> {
  const columns: Record<string, FeatureValue[]> = {};
  let groups: Record<string, RowGroups> | undefined;
  let tables: Record<string, Record<string, FeatureValue[]>> | undefined;
  for (const input of op.inputs) {
    const { parameter } = input;
    if (parameter.now || parameter.name === "") continue;
    if (parameter.rows) {
      groups ??= {};
      groups[parameter.name] = rowGroups(run, input, parameter.rows, rows);
      continue;
    }
    const column = new Array<FeatureValue>(rows.length);
    for (let i = 0; i < rows.length; i++) column[i] = argumentOf(run, input, rows[i] as Row);
    if (parameter.table) {
      tables ??= {};
      const table = tables[parameter.table.parameter] ?? {};
      tables[parameter.table.parameter] = table;
      table[parameter.table.column] = column;
    } else columns[parameter.name] = column;
  }
  return { columns, ...(groups ? { groups } : {}), ...(tables ? { tables } : {}) };
}

/** The rows of its class that a resolver returned for a batch, matched by primary key. */
function rowsByKey(
  run: Run,
  op: PlanOp,
  rows: readonly Row[],
  { groups }: ResolverResult,
  errors: ReadonlyMap<number, RowError>,
): OpResults {
  const resolver = op.resolver as ResolverInfo;
  const [primary] = op.keys;
  const keyInput = op.inputs.find((input) => input.parameter.feature === primary && input.parameter.relations.length === 0);
  const given = new Map(
    resolver.features.flatMap((feature) => {
      const column = groups?.columns[feature.fqn];
      return column ? [[feature, column] as const] : [];
    }),
  );
  const scan = new Scan(given, groups?.offsets.at(-1) ?? 0);
  const looked = new RowLookup(run, op, rows, scan, (row) => [keyInput ? argumentOf(run, keyInput, row) : null]).results();
  const outcomes = looked.outcomes.map((column, output) => {
    const slot = run.plan.slot(op.outputs[output] as SlotId);
    return column.map((outcome, at) => {
      const error = errors.get(at);
      return error ? rowFailed(slot, resolver, error) : outcome;
    });
  });
  return { outcomes, observedAt: looked.observedAt };
}

function rowFailed({ path }: PlanSlot, { fqn }: ResolverInfo, { code, message, exception }: RowError): Outcome {
  return failed({ code, message, path, resolver: fqn, exception });
}

function outcomesOf(
  slot: PlanSlot,
  frame: PlanFrame,
  resolver: ResolverInfo,
  result: ResolverResult,
  errors: ReadonlyMap<number, RowError>,
  rows: number,
): OpResults["outcomes"][number] {
  const column = result.columns[slot.feature.fqn];
  return Array.from({ length: rows }, (_, row) => {
    const error = errors.get(row);
    if (!error) return accept(slot, column?.[row], slot.feature.strict, frame, resolver);
    return rowFailed(slot, resolver, error);
  });
}

function observedTimes(result: ResolverResult, frame: PlanFrame, rows: number): OpResults["observedAt"] {
  const time = frame.namespace.featureTime;
  const column = time && result.columns[time.fqn];
  if (!column) return [];
  return Array.from({ length: rows }, (_, row) => observedTime(column[row]));
}
