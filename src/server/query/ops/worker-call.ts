/** Calls of Python workers. */

import type { ResolverCall, ResolverResult } from "../../python/pool.ts";
import type { PlanOp } from "../plan/plan.ts";
import type { RunContext } from "../run/run.ts";

/**
 * Milliseconds after a resolver's own limit that the engine waits for the pool to say that it
 * overran.
 */
export const POOL_GRACE_MS = 150;

/**
 * Calls a resolver for an op, or for none, telling it what it may know of the query. Rejects when
 * the pool breaks.
 */
export async function callWorker(
  context: RunContext,
  op: PlanOp | undefined,
  call: Omit<ResolverCall, "context">,
): Promise<ResolverResult> {
  const { deployment, observer, queryId, traceId, traceparent, carried, tags, queryContext, origin } = context;
  const whole: ResolverCall = {
    ...call,
    origin,
    context: { queryId, traceId, ...(traceparent === "" ? {} : { traceparent }), ...carried, tags, queryContext },
  };
  const result = await (observer && op ? observer.call(deployment.pool, op, whole) : deployment.pool.call(whole));
  for (const [fqn, values] of Object.entries(result.counted ?? {})) context.meter?.broke(fqn, values);
  return result;
}
