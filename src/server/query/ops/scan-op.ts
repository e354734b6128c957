/** Python resolvers that give rows of their class: run once for a query, their rows looked up by key. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { describeValue, encodeStored, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { withDeadline } from "../run/deadline.ts";
import type { Execution } from "../run/executor.ts";
import { accept, CallFailed, callFailure, failed, missingRow, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome, RunContext } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";
import { callWorker } from "./worker-call.ts";

/** How long after a resolver's own limit the engine waits for the pool to say that it overran. */
const POOL_GRACE_MS = 150;

/** The rows that a resolver gave. */
export class Scan {
  readonly #indexes = new Map<string, Map<string, number[]>>();

  constructor(
    readonly columns: ReadonlyMap<ScalarInfo, readonly FeatureValue[]>,
    readonly rows: number,
  ) {}

  /** Rows by the values of some features, encoded; a row whose key is null or not of its type is nobody's. */
  indexOf(keys: readonly ScalarInfo[]): ReadonlyMap<string, readonly number[]> {
    const name = keys.map((key) => key.fqn).join(" ");
    const known = this.#indexes.get(name);
    if (known) return known;
    const index = new Map<string, number[]>();
    const columns = keys.map((key) => this.columns.get(key) ?? []);
    for (let row = 0; row < this.rows; row++) {
      const id = idOf(keys, columns, row);
      if (id === undefined) continue;
      const rows = index.get(id);
      if (rows) rows.push(row);
      else index.set(id, [row]);
    }
    this.#indexes.set(name, index);
    return index;
  }
}

function idOf(keys: readonly ScalarInfo[], columns: readonly (readonly FeatureValue[])[], row: number): string | undefined {
  const values: FeatureValue[] = [];
  for (const [position, key] of keys.entries()) {
    const value = columns[position]?.[row] ?? null;
    if (value === null) return undefined;
    try {
      values.push(key.strict(value));
    } catch (error) {
      if (error instanceof TypeMismatch) return undefined;
      throw error;
    }
  }
  return encodeStored(values);
}

const scans = new WeakMap<RunContext, Map<ResolverInfo, Promise<Scan>>>();

/** The rows of an op's resolver, which runs once for a query. Rejects when it fails. */
export function scanOf(execution: Execution, op: PlanOp, resolver: ResolverInfo): Promise<Scan> {
  const { context } = execution;
  let known = scans.get(context);
  if (!known) {
    known = new Map();
    scans.set(context, known);
  }
  let scan = known.get(resolver);
  if (!scan) {
    scan = runScan(context, op, resolver);
    known.set(resolver, scan);
  }
  return scan;
}

async function runScan(context: RunContext, op: PlanOp, resolver: ResolverInfo): Promise<Scan> {
  const result = await withDeadline(resolver.timeoutMs + POOL_GRACE_MS, context.signal, () =>
    callWorker(context, op, { resolver: resolver.fqn, rows: 1, columns: {}, deadlineMs: resolver.timeoutMs }),
  );
  const [error] = result.errors;
  if (error) throw new CallFailed(error.code, error.message, error.exception);
  const rows = result.groups?.offsets.at(-1) ?? 0;
  const columns = new Map<ScalarInfo, readonly FeatureValue[]>();
  for (const feature of resolver.features) {
    const column = result.groups?.columns[feature.fqn];
    if (column) columns.set(feature, column);
  }
  return new Scan(columns, rows);
}

/** Takes rows by key. Never rejects: what goes wrong is in the results. */
export async function callScan(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const { context, plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const frame = plan.frames[op.frame] as PlanFrame;
  const slots = op.outputs.map((id) => plan.slots[id] as PlanSlot);
  const started = performance.now();
  let scan: Scan;
  try {
    scan = await scanOf(execution, op, resolver);
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return { outcomes: slots.map((slot) => rows.map(() => failed(callFailure(error, slot.path, resolver)))), observedAt: [] };
  }
  const index = scan.indexOf(op.keys);
  const time = frame.namespace.featureTime;
  const times = time && scan.columns.get(time);
  const observedAt: (number | undefined)[] = [];
  const found = rows.map((row, at) => {
    const key = op.inputs.map((input) => argumentOf(execution, input, row, context.nowText));
    const visible = (index.get(encodeStored(key)) ?? []).filter((one) => {
      const observed = observedTime(times?.[one]);
      return observed === undefined || observed <= context.nowMs;
    });
    const [only] = visible;
    observedAt[at] = only === undefined ? undefined : observedTime(times?.[only]);
    return { key, rows: visible };
  });
  context.trace?.ran(op, rows.length, found.filter((one) => one.rows.length === 1).length, performance.now() - started);
  return {
    outcomes: slots.map((slot) =>
      found.map(({ key, rows: matches }): Outcome => {
        const [only] = matches;
        if (matches.length === 1)
          return accept(slot, scan.columns.get(slot.feature)?.[only as number], slot.feature.strict, frame, resolver);
        const lookedFor = op.keys
          .map((feature, i) => `${feature.fqn} = ${describeValue(key[i]).replace(/^(?:int|float|str|bool) /, "")}`)
          .join(" and ");
        if (only === undefined) return missingRow(slot, frame, resolver, lookedFor, resolver.total);
        const message = `${resolver.fqn} gave ${matches.length} rows, expected at most one, with ${lookedFor}`;
        return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
      }),
    ),
    observedAt,
  };
}
