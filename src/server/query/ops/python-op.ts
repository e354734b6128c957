/** Calling a Python resolver for the rows of an op. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { encodeStored, type FeatureValue } from "../../../domain/value.ts";
import type { ResolverCall, ResolverResult, RowError, RowGroups } from "../../python/pool.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { within } from "../run/deadline.ts";
import type { Execution } from "../run/executor.ts";
import { accept, callFailure, failed, hiddenBy, lookedFor, missingRow, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";
import { callEachTime } from "./each-time.ts";
import { rowGroups } from "./rows-argument.ts";
import { keylessRow, Scan } from "./scan-op.ts";
import { callWorker } from "./worker-call.ts";

/** How long after a resolver's own limit the engine waits for the pool to say that it overran. */
const POOL_GRACE_MS = 150;
/** A resolver's time is for one row; a call of many rows has it for each, up to this many milliseconds unless one row alone may take longer. */
const MAX_CALL_MS = 120_000;

/** Calls the resolver for all rows, equal arguments once, and at most so many rows a call. Never rejects: what goes wrong is in the results. */
export async function callPython(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const isTable = op.inputs.some((input) => input.parameter.table);
  if (isTable) return callEachTime(execution, rows, (part) => callOnce(execution, op, part));
  if (op.resolver?.shape === "rows") return callEachTime(execution, rows, (part) => callMerged(execution, op, part));
  return callMerged(execution, op, rows);
}

async function callMerged(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  if (rows.length === 1) return callOnce(execution, op, rows);
  const { distinct, at } = mergeEqual(execution, op, rows);
  const size = execution.plan.options.maxBatchRows;
  const chunks = inChunks(distinct, size);
  const results = new Array<OpResults>(chunks.length);
  let next = 0;
  const lane = async () => {
    for (let chunk = next++; chunk < chunks.length; chunk = next++)
      results[chunk] = await callOnce(execution, op, chunks[chunk] as readonly number[]);
  };
  const lanes = Math.max(1, execution.context.deployment.pool.health().workers);
  await Promise.all(Array.from({ length: Math.min(lanes, chunks.length) }, lane));
  const chunkOf = (index: number) => results[Math.floor(index / size)] as OpResults;
  return {
    outcomes: op.outputs.map((_, position) => at.map((index) => chunkOf(index).outcomes[position]?.[index % size] as Outcome)),
    observedAt: at.map((index) => chunkOf(index).observedAt[index % size]),
  };
}

/** Rows in stretches of at most so many. */
export function inChunks(rows: readonly number[], size: number): (readonly number[])[] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, chunk) => rows.slice(chunk * size, (chunk + 1) * size));
}

/** The rows with different arguments, and for each row the position of the one that stands for it. */
function mergeEqual(execution: Execution, op: PlanOp, rows: readonly number[]): { distinct: number[]; at: number[] } {
  if (op.inputs.some((input) => input.parameter.rows)) return { distinct: [...rows], at: rows.map((_, position) => position) };
  const known = new Map<string, number>();
  const distinct: number[] = [];
  const at = rows.map((row) => {
    const key = encodeStored(op.inputs.map((input) => argumentOf(execution, input, row)));
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

async function callOnce(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const { context, plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const slots = op.outputs.map((id) => plan.slots[id] as PlanSlot);
  const started = performance.now();
  let result: ResolverResult;
  try {
    result = await callPool(execution, op, rows);
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return { outcomes: slots.map((slot) => rows.map(() => failed(callFailure(error, slot.path, resolver)))), observedAt: [] };
  }
  const errors = new Map(result.errors.map((error) => [error.row, error]));
  context.trace?.ran(op, rows.length, rows.length - errors.size, performance.now() - started);
  if (resolver.shape === "rows") return takeTable(execution, op, rows, result, errors);
  return {
    outcomes: slots.map((slot) => outcomesOf(slot, plan.frames[op.frame] as PlanFrame, resolver, result, errors, rows.length)),
    observedAt: observedTimes(result, plan.frames[op.frame] as PlanFrame, rows.length),
  };
}

/** Calls the resolver of an op for some rows. Rejects when the pool does not answer in time. */
export function callPool(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<ResolverResult> {
  const { context } = execution;
  const resolver = op.resolver as ResolverInfo;
  const { columns, groups, tables } = argumentsOf(execution, op, rows);
  const calls = tables ? 1 : rows.length;
  const deadlineMs = Math.max(resolver.timeoutMs, Math.min(resolver.timeoutMs * calls, MAX_CALL_MS));
  return within(
    deadlineMs + POOL_GRACE_MS,
    callWorker(context, op, {
      resolver: resolver.fqn,
      rows: rows.length,
      now: rows.map((row) => execution.timeOf(row).text),
      columns,
      ...(groups ? { groups } : {}),
      ...(tables ? { tables } : {}),
      deadlineMs,
    }),
  );
}

function argumentsOf(execution: Execution, op: PlanOp, rows: readonly number[]): Pick<ResolverCall, "columns" | "groups" | "tables"> {
  const columns: Record<string, FeatureValue[]> = {};
  let groups: Record<string, RowGroups> | undefined;
  let tables: Record<string, Record<string, FeatureValue[]>> | undefined;
  for (const input of op.inputs) {
    const { parameter } = input;
    if (parameter.now || parameter.name === "") continue;
    if (parameter.rows) {
      groups ??= {};
      groups[parameter.name] = rowGroups(execution, input, parameter.rows, rows);
      continue;
    }
    const column = new Array<FeatureValue>(rows.length);
    for (let i = 0; i < rows.length; i++) column[i] = argumentOf(execution, input, rows[i] as number);
    if (parameter.table) {
      tables ??= {};
      const table = tables[parameter.table.parameter] ?? {};
      tables[parameter.table.parameter] = table;
      table[parameter.table.column] = column;
    } else columns[parameter.name] = column;
  }
  return { columns, ...(groups ? { groups } : {}), ...(tables ? { tables } : {}) };
}

/** Rows of the class that a resolver gave for a batch, matched by primary key. */
function takeTable(
  execution: Execution,
  op: PlanOp,
  rows: readonly number[],
  result: ResolverResult,
  errors: ReadonlyMap<number, RowError>,
): OpResults {
  const { plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const frame = plan.frames[op.frame] as PlanFrame;
  const [primary] = op.keys;
  const keyInput = op.inputs.find((input) => input.parameter.feature === primary && input.parameter.relations.length === 0);
  const given = new Map(
    resolver.features.flatMap((feature) => {
      const column = result.groups?.columns[feature.fqn];
      return column ? [[feature, column] as const] : [];
    }),
  );
  const index = primary && new Scan(given, result.groups?.offsets.at(-1) ?? 0).indexOf([primary]);
  const times = frame.namespace.featureTime && given.get(frame.namespace.featureTime);
  const found = rows.map((row) => {
    const key = keyInput ? argumentOf(execution, keyInput, row) : null;
    const all = index?.find([key]) ?? [];
    const now = execution.timeOf(row);
    const matches = all.filter((one) => (observedTime(times?.[one]) ?? now.ms) <= now.ms);
    return { key, matches, hidden: matches.length === 0 ? all[0] : undefined };
  });
  return {
    outcomes: op.outputs.map((id) => {
      const slot = plan.slots[id] as PlanSlot;
      return found.map(({ key, matches, hidden }, at): Outcome => {
        const error = errors.get(at);
        if (error)
          return failed({ code: error.code, message: error.message, path: slot.path, resolver: resolver.fqn, exception: error.exception });
        const by =
          hidden === undefined
            ? lookedFor(op.keys, [key])
            : hiddenBy(lookedFor(op.keys, [key]), times?.[hidden], execution.timeOf(rows[at] as number).text);
        const [only] = matches;
        if (only === undefined && index?.broken) return failed(keylessRow(slot.path, resolver, by, index.broken));
        if (only === undefined) return missingRow(slot, frame, { resolver, by, mustExist: resolver.total, isRowSource: false });
        if (matches.length === 1) return accept(slot, given.get(slot.feature)?.[only], slot.feature.strict, frame, resolver);
        const message = `${resolver.fqn} gave ${matches.length} rows, expected at most one, with ${by}`;
        return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
      });
    }),
    observedAt: found.map(({ matches: [only] }) => (only === undefined ? undefined : observedTime(times?.[only]))),
  };
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
    return failed({ code: error.code, message: error.message, path: slot.path, resolver: resolver.fqn, exception: error.exception });
  });
}

function observedTimes(result: ResolverResult, frame: PlanFrame, rows: number): OpResults["observedAt"] {
  const time = frame.namespace.featureTime;
  const column = time && result.columns[time.fqn];
  if (!column) return [];
  return Array.from({ length: rows }, (_, row) => observedTime(column[row]));
}
