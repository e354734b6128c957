/**
 * Execution of `scan` operations: Python resolvers that return rows of their class run once per
 * query, and their rows are looked up by key.
 */

import type { ResultValue } from "../../python/pool.ts";
import type { ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp } from "../plan/plan.ts";
import { withDeadline } from "../run/deadline.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import { CallFailed, callFailure, failed } from "../run/outcome.ts";
import type { QueryTime } from "../run/query-time.ts";
import type { OpResults, Run, RunContext } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import { callEachTime, takesTime } from "./each-time.ts";
import type { Op } from "./op.ts";
import { RowLookup } from "./row-lookup.ts";
import { Scan } from "./scan.ts";
import { callWorker, POOL_GRACE_MS } from "./worker-call.ts";

/** Takes rows of a resolver by key. */
export const scanOp: Op<OpResults> = {
  verdict: verdictOf,
  run(run, op, rows) {
    const look = (part: readonly Row[]) => lookUp(run, op, part);
    return takesTime(op.resolver as ResolverInfo) ? callEachTime(run, rows, look) : look(rows);
  },
  settle: settleOutcomes,
};

/**
 * The rows of an op's resolver, which runs once for a query, or, when it takes the time, for each
 * time. Rejects when it fails.
 */
export function scanOf({ context, times }: Run, op: PlanOp, resolver: ResolverInfo, now: QueryTime): Promise<Scan> {
  const { scans, timedScans } = context.caches;
  if (times && takesTime(resolver)) {
    const key = `${resolver.fqn} ${now.text}`;
    const scan = timedScans.get(key) ?? runScan(context, op, resolver, now);
    timedScans.set(key, scan);
    return scan;
  }
  const scan = scans.get(resolver) ?? runScan(context, op, resolver, now);
  scans.set(resolver, scan);
  return scan;
}

/**
 * The rows that a resolver returns now.
 * @param op the step that the call is recorded for; undefined = it is not recorded
 */
export async function runScan(context: RunContext, op: PlanOp | undefined, resolver: ResolverInfo, now: QueryTime): Promise<Scan> {
  const result = await withDeadline(resolver.timeoutMs + POOL_GRACE_MS, context.signal, () =>
    callWorker(context, op, resolver, { rows: 1, now: [now.text], columns: {}, deadlineMs: resolver.timeoutMs }),
  );
  const [error] = result.errors;
  if (error) throw new CallFailed(error.code, error.message, error.exception);
  const rows = result.groups?.offsets.at(-1) ?? 0;
  const columns = new Map<ScalarInfo, readonly ResultValue[]>();
  for (const feature of resolver.features) {
    const column = result.groups?.columns[feature.fqn];
    if (column) columns.set(feature, column);
  }
  return new Scan(columns, rows);
}

async function lookUp(run: Run, op: PlanOp, rows: readonly Row[]): Promise<OpResults> {
  const { context, plan } = run;
  const resolver = op.resolver as ResolverInfo;
  const started = performance.now();
  let scan: Scan;
  try {
    scan = await scanOf(run, op, resolver, run.timeOf(rows[0] as Row));
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return {
      outcomes: op.outputs.map((id) => rows.map(() => failed(callFailure(error, plan.slot(id).path, resolver)))),
      observedAt: [],
      found: rows.map(() => callFailure(error, plan.frame(op.frame).path, resolver)),
    };
  }
  const looked = new RowLookup(run, op, rows, scan, (row) => op.inputs.map((input) => argumentOf(run, input, row)));
  context.trace?.ran(op, rows.length, looked.single, performance.now() - started);
  return looked.results();
}
