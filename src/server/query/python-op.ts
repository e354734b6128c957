/** Calling a Python resolver for the rows of an op. */

import type { FeatureValue } from "../../domain/value.ts";
import type { ResolverResult, RowError } from "../python/pool.ts";
import { argumentOf } from "./arguments.ts";
import { withDeadline } from "./deadline.ts";
import type { Execution } from "./executor.ts";
import type { ResolverInfo } from "./index-types.ts";
import { accept, callFailure, failed, observedTime } from "./outcome.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "./plan.ts";
import type { OpResults } from "./run-context.ts";

/** How long after a resolver's own limit the engine waits for the pool to say that it overran. */
const POOL_GRACE_MS = 150;

/** Calls the resolver once for all rows. Never rejects: what goes wrong is in the results. */
export async function callPython(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const { context, plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const slots = op.outputs.map((id) => plan.slots[id] as PlanSlot);
  const columns = columnsOf(execution, op, rows);
  const started = performance.now();
  let result: ResolverResult;
  try {
    result = await withDeadline(resolver.timeoutMs + POOL_GRACE_MS, context.signal, () =>
      context.deployment.pool.call({
        resolver: resolver.fqn,
        rows: rows.length,
        columns,
        now: new Array<string>(rows.length).fill(context.nowText),
        deadlineMs: resolver.timeoutMs,
        context: {
          queryId: context.queryId,
          traceId: context.queryId.replaceAll("-", ""),
          tags: context.tags,
          queryContext: context.queryContext,
        },
      }),
    );
  } catch (error) {
    context.trace?.ran(op.id, rows.length, 0, performance.now() - started);
    return { outcomes: slots.map((slot) => rows.map(() => failed(callFailure(error, slot, resolver)))), observedAt: [] };
  }
  const errors = new Map(result.errors.map((error) => [error.row, error]));
  context.trace?.ran(op.id, rows.length, rows.length - errors.size, performance.now() - started);
  return {
    outcomes: slots.map((slot) => outcomesOf(slot, plan.frames[op.frame] as PlanFrame, resolver, result, errors, rows.length)),
    observedAt: observedTimes(result, plan.frames[op.frame] as PlanFrame, rows.length),
  };
}

function columnsOf(execution: Execution, op: PlanOp, rows: readonly number[]): Record<string, FeatureValue[]> {
  const columns: Record<string, FeatureValue[]> = {};
  for (const input of op.inputs) {
    if (input.parameter.now) continue;
    const column = new Array<FeatureValue>(rows.length);
    for (let i = 0; i < rows.length; i++) column[i] = argumentOf(execution, input, rows[i] as number, execution.context.nowText);
    columns[input.parameter.name] = column;
  }
  return columns;
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
