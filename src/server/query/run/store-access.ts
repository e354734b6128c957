/** Reading and writing the online store for a running query. Its failures never fail the query. */

import { formatDuration } from "../../../domain/duration.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { type OnlineWrite, type RelationWrite, type StoredValue, storeKey } from "../../stores/online.ts";
import type { PlanFrame, PlanSlot } from "../plan/plan.ts";
import { CellOrigin, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";
import { handOver } from "./fresh-values.ts";

type Hits = (StoredValue | undefined)[];

/** For each cell, all of one frame and with known keys, the stored value if it is fresh enough. Synchronous when the store is. */
export function readStored(execution: Execution, frame: PlanFrame, cells: readonly number[]): Hits | Promise<Hits> {
  const { plan, rows, context } = execution;
  const { online, scope } = context.deployment;
  // Where the key of a row and the feature of a slot stand among those that are asked for; -1 = nowhere yet.
  const keyOfRow = new Int32Array(rows).fill(-1);
  const idOfSlot = new Int32Array(plan.slots.length).fill(-1);
  const keys: string[] = [];
  const keyIndex = new Map<string, number>();
  const ids: number[] = [];
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
      idOfSlot[slot] = ids.length;
      ids.push((plan.slots[slot] as PlanSlot).feature.featureId as number);
    }
  }
  const pick = (found: (StoredValue | undefined)[][]): Hits =>
    cells.map((cell) => {
      const row = cell % rows;
      const slot = (cell - row) / rows;
      const stored = found[keyOfRow[row] as number]?.[idOfSlot[slot] as number];
      return fresh(execution, plan.slots[slot] as PlanSlot, cell, stored);
    });
  const fault = (error: unknown): Hits => {
    storeUnread(execution, frame, error);
    return cells.map(() => undefined);
  };
  try {
    const found = online.getMany(scope, frame.namespace.name, keys, ids, latestOf(execution, cells));
    return found instanceof Promise ? found.then(pick).catch(fault) : pick(found);
  } catch (error) {
    return fault(error);
  }
}

/** The latest time that the rows of some cells are answered as of, epoch milliseconds. */
export function latestOf(execution: Execution, cells: readonly number[]): number {
  if (!execution.times) return execution.context.now.ms;
  return cells.reduce((latest, cell) => Math.max(latest, execution.timeOf(cell % execution.rows).ms), Number.NEGATIVE_INFINITY);
}

/** Says that the store could not be read; the query goes on without it. */
export function storeUnread({ context }: Execution, { namespace }: PlanFrame, error: unknown): void {
  context.log.warning("the online store could not be read", { namespace: namespace.name, queryId: context.queryId, error: textOf(error) });
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
 * Stores the values that were computed, online where the plan says so and the row's key is known (of rows with the same key the newest, and of equally new ones the
 * last one's), and hands them to the deployment's sink. What was computed for a time yet to come is not stored: it would hide the present.
 * @param present epoch milliseconds
 */
export function storeFresh(execution: Execution, present: number): undefined | Promise<void> {
  const handing = handOver(execution, present);
  const storing = storeOnline(execution, present);
  return handing && storing ? handing.then(() => storing) : (handing ?? storing);
}

function storeOnline(execution: Execution, present: number): undefined | Promise<void> {
  const { context } = execution;
  const { online, scope } = context.deployment;
  const values: OnlineWrite[] = [];
  const rows: RelationWrite[] = [];
  collectWrites(execution, present, values, rows);
  if (values.length + rows.length === 0) return undefined;
  const ended = context.observer?.writeBegan(values.length, rows.length);
  const fault = (error: unknown): undefined => {
    ended?.(error);
    const written = { values: values.length, relations: rows.length };
    context.log.warning("values could not be stored online", { ...written, queryId: context.queryId, error: textOf(error) });
  };
  try {
    const writing = [
      values.length > 0 ? online.putMany(scope, values) : undefined,
      rows.length > 0 ? online.putRelation(scope, rows) : undefined,
    ].filter((one) => one instanceof Promise);
    if (writing.length > 0) return Promise.all(writing).then(() => ended?.(), fault);
    ended?.();
    return undefined;
  } catch (error) {
    return fault(error);
  }
}

function collectWrites(execution: Execution, present: number, writes: OnlineWrite[], relations: RelationWrite[]): void {
  const { plan, rows, cells } = execution;
  for (const child of execution.children) collectWrites(child, present, writes, relations);
  for (const found of execution.foundRows) if (found.observedAt <= present) relations.push(found);
  if (!cells.hasFresh) return;
  for (const id of plan.storedSlots) {
    const slot = plan.slots[id] as PlanSlot;
    const frame = plan.frames[slot.frame] as PlanFrame;
    const newest = new Map<string, OnlineWrite>();
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
      });
    }
    writes.push(...newest.values());
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
