/** Python resolvers that give rows of their class: run once for a query, their rows looked up by key. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { LruMap } from "../lru.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import type { CellFailure } from "../run/cells.ts";
import { withDeadline } from "../run/deadline.ts";
import type { Execution } from "../run/executor.ts";
import { accept, CallFailed, callFailure, failed, hiddenBy, lookedFor, missingRow, observedTime } from "../run/outcome.ts";
import type { QueryTime } from "../run/query-time.ts";
import type { OpResults, Outcome, RunContext } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";
import { callEachTime, takesTime } from "./each-time.ts";
import { keyTextOf } from "./key-text.ts";
import { callWorker } from "./worker-call.ts";

/** How long after a resolver's own limit the engine waits for the pool to say that it overran. */
const POOL_GRACE_MS = 150;

/** The rows that a resolver gave. */
export class Scan {
  readonly #indexes = new Map<string, ScanIndex>();

  constructor(
    readonly columns: ReadonlyMap<ScalarInfo, readonly FeatureValue[]>,
    readonly rows: number,
  ) {}

  /** Rows by the values of some features. */
  indexOf(keys: readonly ScalarInfo[]): ScanIndex {
    const name = keys.map((key) => key.fqn).join(" ");
    const known = this.#indexes.get(name);
    if (known) return known;
    const textOf = keyTextOf(keys);
    const found = new Map<string, number[]>();
    let broken: string | undefined;
    const columns = keys.map((key) => this.columns.get(key) ?? []);
    for (let row = 0; row < this.rows; row++) {
      const key = keyAt(keys, columns, row);
      if (key === null) continue;
      if (!Array.isArray(key)) {
        broken ??= `row ${row + 1} of its ${this.rows} has no key: ${key.reason}`;
        continue;
      }
      const text = textOf(key);
      const rows = found.get(text);
      if (rows) rows.push(row);
      else found.set(text, [row]);
    }
    const index: ScanIndex = { find: (key) => found.get(textOf(key)) ?? [], broken };
    this.#indexes.set(name, index);
    return index;
  }
}

/** Rows by key. */
export interface ScanIndex {
  /** Positions of a key's rows. A row with null in what is no primary key is nobody's. */
  find(key: FeatureValue[]): readonly number[];
  /** Why the first row that has no key to be found by has none, in words; undefined = every row has one. */
  readonly broken: string | undefined;
}

/** The key of a row; null when it is nobody's, or why it is none. */
function keyAt(
  keys: readonly ScalarInfo[],
  columns: readonly (readonly FeatureValue[])[],
  row: number,
): FeatureValue[] | null | { readonly reason: string } {
  const values: FeatureValue[] = [];
  for (const [position, key] of keys.entries()) {
    const value = columns[position]?.[row] ?? null;
    if (value === null) return key.primary ? { reason: `${key.fqn} is null` } : null;
    try {
      values.push(key.strict(value));
    } catch (error) {
      if (error instanceof TypeMismatch) return { reason: `${key.fqn}: ${error.message}` };
      throw error;
    }
  }
  return values;
}

/** What a lookup fails with that finds no row among some that have no key. */
export function keylessRow(path: string, resolver: ResolverInfo, by: string, broken: string): CellFailure {
  const message = `${nameResolver(resolver)} found no row with ${by}, and ${broken}`;
  return { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn };
}

/** Scans that a query keeps of those that are run for each time of its rows. */
const MAX_TIMED = 64;

const scans = new WeakMap<RunContext, Map<ResolverInfo, Promise<Scan>>>();
const timedScans = new WeakMap<RunContext, LruMap<Promise<Scan>>>();

/** The rows of an op's resolver, which runs once for a query, or, when it takes the time, for each time. Rejects when it fails. */
export function scanOf(execution: Execution, op: PlanOp, resolver: ResolverInfo, now: QueryTime): Promise<Scan> {
  const { context } = execution;
  if (execution.times && takesTime(resolver)) {
    const timed = timedScans.get(context) ?? new LruMap(MAX_TIMED);
    timedScans.set(context, timed);
    const key = `${resolver.fqn} ${now.text}`;
    const scan = timed.get(key) ?? runScan(context, op, resolver, now);
    timed.set(key, scan);
    return scan;
  }
  const known = scans.get(context) ?? new Map<ResolverInfo, Promise<Scan>>();
  scans.set(context, known);
  const scan = known.get(resolver) ?? runScan(context, op, resolver, now);
  known.set(resolver, scan);
  return scan;
}

async function runScan(context: RunContext, op: PlanOp, resolver: ResolverInfo, now: QueryTime): Promise<Scan> {
  const result = await withDeadline(resolver.timeoutMs + POOL_GRACE_MS, context.signal, () =>
    callWorker(context, op, { resolver: resolver.fqn, rows: 1, now: [now.text], columns: {}, deadlineMs: resolver.timeoutMs }),
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
export function callScan(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const take = (part: readonly number[]) => takeScanned(execution, op, part);
  return takesTime(op.resolver as ResolverInfo) ? callEachTime(execution, rows, take) : take(rows);
}

async function takeScanned(execution: Execution, op: PlanOp, rows: readonly number[]): Promise<OpResults> {
  const { context, plan } = execution;
  const resolver = op.resolver as ResolverInfo;
  const frame = plan.frames[op.frame] as PlanFrame;
  const slots = op.outputs.map((id) => plan.slots[id] as PlanSlot);
  const started = performance.now();
  let scan: Scan;
  try {
    scan = await scanOf(execution, op, resolver, execution.timeOf(rows[0] as number));
  } catch (error) {
    context.trace?.ran(op, rows.length, 0, performance.now() - started);
    return {
      outcomes: slots.map((slot) => rows.map(() => failed(callFailure(error, slot.path, resolver)))),
      observedAt: [],
      found: rows.map(() => callFailure(error, frame.path, resolver)),
    };
  }
  const index = scan.indexOf(op.keys);
  const time = frame.namespace.featureTime;
  const times = time && scan.columns.get(time);
  const observedAt: (number | undefined)[] = [];
  const found = rows.map((row, at) => {
    const key = op.inputs.map((input) => argumentOf(execution, input, row));
    const matches = index.find(key);
    const visible = matches.filter((one) => {
      const observed = observedTime(times?.[one]);
      return observed === undefined || observed <= execution.timeOf(row).ms;
    });
    const [only] = visible;
    observedAt[at] = only === undefined ? undefined : observedTime(times?.[only]);
    return { key, rows: visible, hidden: only === undefined ? matches[0] : undefined };
  });
  context.trace?.ran(op, rows.length, found.filter((one) => one.rows.length === 1).length, performance.now() - started);
  return {
    outcomes: slots.map((slot) =>
      found.map(({ key, rows: matches, hidden }, at): Outcome => {
        const [only] = matches;
        if (matches.length === 1)
          return accept(slot, scan.columns.get(slot.feature)?.[only as number], slot.feature.strict, frame, resolver);
        const by =
          hidden === undefined
            ? lookedFor(op.keys, key)
            : hiddenBy(lookedFor(op.keys, key), times?.[hidden], execution.timeOf(rows[at] as number).text);
        if (only === undefined && index.broken) return failed(keylessRow(slot.path, resolver, by, index.broken));
        if (only === undefined) return missingRow(slot, frame, { resolver, by, mustExist: resolver.total, isRowSource: op.isRowSource });
        const message = `${resolver.fqn} gave ${matches.length} rows, expected at most one, with ${by}`;
        return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
      }),
    ),
    observedAt,
    found: found.map(({ key, rows: matches }) =>
      matches.length === 0 && index.broken ? keylessRow(frame.path, resolver, lookedFor(op.keys, key), index.broken) : matches.length > 0,
    ),
  };
}
