/** Reading and writing the online store for a running query. Its failures never fail the query. */

import { formatDuration } from "../../../domain/duration.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { type OnlineFound, type RowsRead, type RowsWrite, storeKey, type ValuesRead, type ValueWrite } from "../../stores/online/store.ts";
import { expiryOf } from "../../writes/policy.ts";
import type { PlanFrame, PlanSlot } from "../plan/plan.ts";
import { CellOrigin, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";
import { handOver } from "./fresh-values.ts";
import type { StoreFound, StoreRead } from "./store-reads.ts";
import { rowsReadOf, serveRows } from "./stored-rows.ts";

/**
 * Takes a read's part of what the store found: a promise when child rows are computed of it.
 * Nothing was found when the store could not be read.
 */
type Take = (found: OnlineFound | undefined) => StoreFound | Promise<StoreFound>;

/** Gives what the store had for a read, by its place among those of a call. */
export type FoundOf = (place: number) => StoreFound | Promise<StoreFound>;

/**
 * Reads all that is wanted of the store in one call, synchronously when the store is. When it
 * cannot be read, nothing is found.
 */
export function readStore(execution: Execution, reads: readonly StoreRead[]): FoundOf | Promise<FoundOf> {
  const { online, scope } = execution.context.deployment;
  const values: ValuesRead[] = [];
  const rows: RowsRead[] = [];
  const takes = reads.map(({ rowsSlot, frame, cells }) =>
    rowsSlot ? askRows(execution, frame, rowsSlot, cells, rows) : askValues(execution, frame, cells, values),
  );
  const taken =
    (found: OnlineFound | undefined): FoundOf =>
    (place) =>
      (takes[place] as Take)(found);
  const fault = (error: unknown): FoundOf => {
    storeUnread(execution, reads, error);
    return taken(undefined);
  };
  try {
    const found = online.read(scope, { values, rows });
    return found instanceof Promise ? found.then(taken, fault) : taken(found);
  } catch (error) {
    return fault(error);
  }
}

/** Asks for the rows of cells of one slot, whose keys are known. */
function askRows(execution: Execution, frame: PlanFrame, slot: PlanSlot, cells: readonly number[], asked: RowsRead[]): Take {
  const at = asked.push(rowsReadOf(execution, frame, slot, cells)) - 1;
  return (found) => serveRows(execution, slot, cells, found?.rows[at]);
}

/**
 * Asks for cells of one frame, whose keys are known; takes for each cell the value, if it is fresh
 * enough.
 */
function askValues(execution: Execution, frame: PlanFrame, cells: readonly number[], asked: ValuesRead[]): Take {
  const { plan, rows } = execution;
  // Where the key of a row and the feature of a slot stand among those that are asked for; -1 = nowhere yet.
  const keyOfRow = new Int32Array(rows).fill(-1);
  const idOfSlot = new Int32Array(plan.slots.length).fill(-1);
  const keys: string[] = [];
  const keyIndex = new Map<string, number>();
  const featureIds: number[] = [];
  for (const cell of cells) {
    const row = cell % rows;
    const slot = (cell - row) / rows;
    if (keyOfRow[row] === -1) {
      const key = storeKey(execution.cells.values[frame.keySlot * rows + row] as FeatureValue);
      const known = rows > 1 ? keyIndex.get(key) : undefined;
      keyOfRow[row] = known ?? keys.length;
      if (known === undefined) {
        if (rows > 1) keyIndex.set(key, keys.length);
        keys.push(key);
      }
    }
    if (idOfSlot[slot] === -1) {
      idOfSlot[slot] = featureIds.length;
      featureIds.push((plan.slots[slot] as PlanSlot).feature.featureId as number);
    }
  }
  const at = asked.push({ namespace: frame.namespace.name, keys, featureIds, asOf: latestOf(execution, cells) }) - 1;
  return (found) => {
    const values = found?.values[at];
    if (!values) return cells.map(() => undefined);
    return cells.map((cell) => {
      const row = cell % rows;
      const slot = (cell - row) / rows;
      const stored = values[keyOfRow[row] as number]?.[idOfSlot[slot] as number];
      return fresh(execution, plan.slots[slot] as PlanSlot, cell, stored);
    });
  };
}

/** The latest time that the rows of some cells are answered as of, epoch milliseconds. */
export function latestOf(execution: Execution, cells: readonly number[]): number {
  if (!execution.times) return execution.context.now.ms;
  return cells.reduce((latest, cell) => Math.max(latest, execution.timeOf(cell % execution.rows).ms), Number.NEGATIVE_INFINITY);
}

/** Says that the store could not be read; the query goes on without it. */
function storeUnread({ context }: Execution, reads: readonly StoreRead[], error: unknown): void {
  const namespace = [...new Set(reads.map(({ frame }) => frame.namespace.name))].join(", ");
  context.log.warning("the online store could not be read", { namespace, queryId: context.queryId, error: textOf(error) });
}

/** What is stored for a cell, if it is not too old. */
export function fresh<T extends { readonly observedAt: number }>(
  execution: Execution,
  slot: PlanSlot,
  cell: number,
  stored: T | undefined,
): T | undefined {
  const { trace } = execution.context;
  const nowMs = execution.timeOf(cell % execution.rows).ms;
  if (!stored || stored.observedAt > nowMs) {
    trace?.missed(execution.cells, cell, "not stored");
    return undefined;
  }
  const age = nowMs - stored.observedAt;
  if (age <= slot.readMs) return stored;
  trace?.missed(execution.cells, cell, `${formatDuration(Math.round(age))} old, and at most ${formatDuration(slot.readMs)} is served`);
  return undefined;
}

/**
 * Queues the values that were computed for the online store, where the plan says so and the row's
 * key is known (of rows with the same key the newest, and of equally new ones the last one's), and
 * hands them to the deployment's sink. What was computed for a time yet to come is not stored: it
 * would hide the present.
 * @param present epoch milliseconds
 * @returns a promise only when the answer has to wait for the sink
 */
export function storeFresh(execution: Execution, present: number): undefined | Promise<void> {
  storeOnline(execution, present);
  return handOver(execution, present);
}

function storeOnline(execution: Execution, present: number): void {
  const { context } = execution;
  const { online, scope } = context.deployment;
  const values: ValueWrite[] = [];
  const rows: RowsWrite[] = [];
  collectWrites(execution, present, values, rows);
  if (values.length + rows.length === 0) return;
  const ended = context.observer?.writeBegan(values.length, rows.length);
  try {
    online.put(scope, { values, rows });
    ended?.();
  } catch (error) {
    ended?.(error);
    const written = { values: values.length, relations: rows.length };
    context.log.warning("values could not be stored online", { ...written, queryId: context.queryId, error: textOf(error) });
  }
}

/** When the online store may forget a slot's value. */
export function expiryOfSlot({ context }: Execution, { feature, readMs }: PlanSlot, observedAt: number): { readonly expiresAt?: number } {
  const ofGraph = context.deployment.longestStaleness?.get(feature.featureId as number) ?? feature.stalenessMs;
  return expiryOf(observedAt, Math.max(readMs, ofGraph));
}

function collectWrites(execution: Execution, present: number, writes: ValueWrite[], relations: RowsWrite[]): void {
  const { plan, rows, cells } = execution;
  for (const child of execution.children) collectWrites(child, present, writes, relations);
  for (const found of execution.foundRows) if (found.observedAt <= present) relations.push(found);
  if (!cells.hasFresh) return;
  for (const id of plan.storedSlots) {
    const slot = plan.slots[id] as PlanSlot;
    const frame = plan.frames[slot.frame] as PlanFrame;
    const newest = new Map<string, ValueWrite>();
    for (let row = rows - 1; row >= 0; row--) {
      const cell = id * rows + row;
      const isNull = cells.origin[cell] === CellOrigin.NULLED;
      if ((cells.origin[cell] !== CellOrigin.COMPUTED && !isNull) || execution.timeOf(row).ms > present) continue;
      const keyCell = frame.keySlot * rows + row;
      const value = cells.values[keyCell] as FeatureValue;
      if (cells.state[keyCell] !== CellState.OK || value === null) continue;
      const own = isNull ? null : (cells.values[cell] as FeatureValue);
      if (own === null && !slot.feature.storesNull) continue;
      const key = storeKey(value);
      const observedAt = cells.observed[cell] as number;
      if (observedAt <= (newest.get(key)?.observedAt ?? Number.NEGATIVE_INFINITY)) continue;
      newest.set(key, {
        namespace: frame.namespace.name,
        key,
        featureId: slot.feature.featureId as number,
        value: own,
        observedAt,
        resolver: plan.ops[slot.op]?.resolver?.fqn ?? "",
        ...expiryOfSlot(execution, slot, observedAt),
      });
    }
    writes.push(...newest.values());
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
