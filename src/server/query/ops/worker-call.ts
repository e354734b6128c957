/** Calls of Python workers. */

import type { ResolverCall, ResolverResult } from "../../python/pool.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanOp } from "../plan/plan.ts";
import type { RunContext } from "../run/run.ts";
import { runReturned } from "./returned-statements.ts";
import { withUniqueRows } from "./unique-rows.ts";

/**
 * Milliseconds after a resolver's own limit that the engine waits for the pool to say that it
 * overran.
 */
export const POOL_GRACE_MS = 150;

/**
 * Calls a resolver for an op, or for none, telling it what it may know of the query, and runs the
 * statements that it returns. When the query's caller goes away, the worker is made to end the
 * call. Rejects when the pool breaks, or its statements take too long.
 */
export async function callWorker(
  context: RunContext,
  op: PlanOp | undefined,
  resolver: ResolverInfo,
  call: Omit<ResolverCall, "context" | "resolver">,
): Promise<ResolverResult> {
  const { deployment, observer, queryId, traceId, traceparent, carried, tags, queryContext, origin, signal } = context;
  const whole: ResolverCall = {
    ...call,
    resolver: resolver.fqn,
    origin,
    ...(signal && { signal }),
    context: { queryId, traceId, ...(traceparent === "" ? {} : { traceparent }), ...carried, tags, queryContext },
  };
  const started = performance.now();
  const given = await (observer && op ? observer.call(deployment.pool, op, whole) : deployment.pool.call(whole));
  const result = withUniqueRows(resolver, given, call.rows, call.tables !== undefined);
  for (const [fqn, values] of Object.entries(result.counted ?? {})) context.meter?.broke(fqn, values);
  if (!result.statements) return result;
  const leftMs = Math.max(1, call.deadlineMs - (performance.now() - started));
  return runReturned({ context, op, resolver, call: whole, leftMs }, result, result.statements);
}
