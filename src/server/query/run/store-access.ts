/** Reading and writing the online store for a running query. Its failures never fail the query. */

import { formatDuration } from "../../../domain/duration.ts";
import { errorText } from "../../../domain/error-text.ts";
import {
  EVICTED,
  type FoundValues,
  type OnlineFound,
  type RowsRead,
  type RowsWrite,
  type StoredValue,
  storeKey,
  type ValuesRead,
  type ValueWrite,
} from "../../stores/online/store.ts";
import { cachingOf } from "../../writes/policy.ts";
import { type CellId, FIRST_ROW, type Row, type SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame, PlanSlot } from "../plan/plan.ts";
import { type Awaitable, andThen, recovered } from "./awaitable.ts";
import { CellOrigin, type Cells } from "./cells.ts";
import { providerOf } from "./choice.ts";
import { expiryOfSlot } from "./expiry.ts";
import { handOver, type Unstored } from "./fresh-values.ts";
import type { Run } from "./run.ts";
import { tellSinks } from "./sink-rows.ts";
import type { StoreFound, StoreRead } from "./store-reads.ts";
import { rowsReadOf, serveRows } from "./stored-rows.ts";

/**
 * Takes a read's part of the store's result: a promise when child rows are computed from it.
 * @param found undefined = the store could not be read
 */
type Take = (found: OnlineFound | undefined) => Awaitable<StoreFound>;

/** The stores that take fresh values, where the features' options say so too. */
export interface StoredInto {
  readonly online: boolean;
  readonly offline: boolean;
  /** Leaves out what the history has already; default: nothing is. */
  readonly unstored?: Unstored | undefined;
}

const EVERYWHERE: StoredInto = { online: true, offline: true };

/** Returns the store's result for a read, by its index among those of a call. */
export type FoundOf = (place: number) => Awaitable<StoreFound>;

/**
 * Does all reads of the store in one call, synchronously when the store is. When it cannot be read,
 * nothing is found.
 */
export function readStore(run: Run, reads: readonly StoreRead[]): Awaitable<FoundOf> {
  const { online, scope } = run.context.deployment;
  const values: ValuesRead[] = [];
  const rows: RowsRead[] = [];
  const takes = reads.map(({ rowsSlot, frame, cells }) =>
    rowsSlot ? addRowsRead(run, frame, rowsSlot, cells, rows) : addValuesRead(run, frame, cells, values),
  );
  const taken =
    (found: OnlineFound | undefined): FoundOf =>
    (place) =>
      (takes[place] as Take)(found);
  return recovered(
    () => andThen(online.read(scope, { values, rows }), taken),
    (error) => {
      storeUnread(run, reads, error);
      return taken(undefined);
    },
  );
}

/**
 * Adds the read of stored rows for cells of one slot, whose keys are known; returns the function
 * that takes its result.
 */
function addRowsRead(run: Run, frame: PlanFrame, slot: PlanSlot, cells: readonly CellId[], reads: RowsRead[]): Take {
  const at = reads.push(rowsReadOf(run, frame, slot, cells)) - 1;
  return (found) => serveRows(run, slot, cells, found?.rows[at]);
}

/**
 * Adds the read of values for cells of one frame, whose keys are known; returns the function that
 * takes the values that are fresh enough.
 */
function addValuesRead(run: Run, frame: PlanFrame, cells: readonly CellId[], reads: ValuesRead[]): Take {
  const { keys, ids, find } = run.rows === 1 ? lookupsOfRow(run, frame, cells) : lookupsOf(run, frame, cells);
  const at = reads.push({ namespace: frame.namespace.name, keys, featureIds: ids, asOf: latestOf(run, cells) }) - 1;
  return (found) => {
    const values = found?.values[at];
    const served: (StoredValue | undefined)[] = new Array(cells.length);
    for (let index = 0; values && index < cells.length; index++) {
      const cell = cells[index] as CellId;
      const stored = find(values, cell, index);
      served[index] = fresh(run, run.plan.slot(run.cells.slotOf(cell)), cell, stored?.resolver === EVICTED ? undefined : stored);
    }
    return served;
  };
}

/** The parts of a read. */
interface Lookups {
  readonly keys: readonly string[];
  readonly ids: readonly number[];
  /** Returns the value that was found for the cell at an index of the read's cells. */
  readonly find: (found: FoundValues, cell: CellId, index: number) => StoredValue | undefined;
}

/** The lookups of a run of one row: a key, and the features in the order of their cells. */
function lookupsOfRow({ plan, cells: known }: Run, frame: PlanFrame, cells: readonly CellId[]): Lookups {
  const ids = new Array<number>(cells.length);
  for (let index = 0; index < cells.length; index++) ids[index] = featureIdOf(plan, known.slotOf(cells[index] as CellId));
  return { keys: [keyOf(known, frame, FIRST_ROW)], ids, find: (found, _, index) => found[0]?.[index] };
}

/** The lookups of a run of many rows: each key and each feature once. */
function lookupsOf({ plan, rows, cells: known }: Run, frame: PlanFrame, cells: readonly CellId[]): Lookups {
  // Position of the key by row, and of the feature id by slot; -1 = not read.
  const keyOfRow = new Int32Array(rows).fill(-1);
  const idOfSlot = new Int32Array(plan.slots.length).fill(-1);
  const keys: string[] = [];
  const positions = new Map<string, number>();
  const ids: number[] = [];
  for (const cell of cells) {
    const row = known.rowOf(cell);
    const slot = known.slotOf(cell);
    if (keyOfRow[row] === -1) {
      const key = keyOf(known, frame, row);
      const position = positions.get(key) ?? keys.length;
      keyOfRow[row] = position;
      if (position === keys.length) {
        positions.set(key, position);
        keys.push(key);
      }
    }
    if (idOfSlot[slot] === -1) {
      idOfSlot[slot] = ids.length;
      ids.push(featureIdOf(plan, slot));
    }
  }
  const find = (found: FoundValues, cell: CellId): StoredValue | undefined =>
    found[keyOfRow[known.rowOf(cell)] as number]?.[idOfSlot[known.slotOf(cell)] as number];
  return { keys, ids, find };
}

function keyOf(cells: Cells, frame: PlanFrame, row: Row): string {
  return storeKey(cells.value(cells.at(frame.keySlot as SlotId, row)));
}

function featureIdOf(plan: Plan, slot: SlotId): number {
  return plan.slot(slot).feature.featureId as number;
}

/** The latest time that the rows of some cells are answered as of, epoch milliseconds. */
export function latestOf(run: Run, cells: readonly CellId[]): number {
  if (!run.times) return run.context.now.ms;
  return cells.reduce((latest, cell) => Math.max(latest, run.timeOf(run.cells.rowOf(cell)).ms), Number.NEGATIVE_INFINITY);
}

/** Logs that the store could not be read; the query continues without it. */
function storeUnread({ context }: Run, reads: readonly StoreRead[], error: unknown): void {
  const namespace = [...new Set(reads.map(({ frame }) => frame.namespace.name))].join(", ");
  context.log.warning("the online store could not be read", { namespace, queryId: context.queryId, error: errorText(error) });
}

/** The stored value or rows of a cell; undefined when too old or absent. */
export function fresh<T extends { readonly observedAt: number }>(
  run: Run,
  slot: PlanSlot,
  cell: CellId,
  stored: T | undefined,
): T | undefined {
  const { trace } = run.context;
  const nowMs = run.timeOf(run.cells.rowOf(cell)).ms;
  if (!stored || stored.observedAt > nowMs) {
    trace?.missed(run.cells, cell, "not stored");
    return undefined;
  }
  const age = nowMs - stored.observedAt;
  if (age <= slot.readMs) return stored;
  trace?.missed(run.cells, cell, `${formatDuration(Math.round(age))} old, and at most ${formatDuration(slot.readMs)} is served`);
  return undefined;
}

/**
 * Queues the values that were computed for the online store, where the plan says so and the row's
 * key is known (of rows with the same key the newest, and of equally new ones the last one's), and
 * hands them to the deployment's sinks. Values computed for a future time are not stored: they
 * would hide present ones.
 * @param present epoch milliseconds
 * @param into the stores that take them, beside what follows those into the online store; default:
 * both
 * @returns a promise only when the answer has to wait for the sink
 */
export function storeFresh(run: Run, present: number, into: StoredInto = EVERYWHERE): Awaitable<void> {
  if (into.online || into.offline) tellSinks(run, present);
  if (into.online) storeOnline(run, present, "all");
  else if (into.offline) storeOnline(run, present, "followers");
  if (into.offline) return handOver(run, present, into.unstored);
}

/** @param which "followers" = only those of features whose offline values go online as well */
function storeOnline(run: Run, present: number, which: "all" | "followers"): void {
  const { context } = run;
  const { online, scope } = context.deployment;
  const values: ValueWrite[] = [];
  const rows: RowsWrite[] = [];
  collectWrites(run, present, which, values, rows);
  if (values.length + rows.length === 0) return;
  const ended = context.observer?.writeBegan(values.length, rows.length);
  try {
    online.put(scope, { values, rows });
    ended?.();
  } catch (error) {
    ended?.(error);
    const written = { values: values.length, relations: rows.length };
    context.log.warning("values could not be stored online", { ...written, queryId: context.queryId, error: errorText(error) });
  }
}

function collectWrites(run: Run, present: number, which: "all" | "followers", writes: ValueWrite[], relations: RowsWrite[]): void {
  for (const child of run.children) collectWrites(child, present, which, writes, relations);
  if (which === "all") for (const found of run.foundRows) if (found.observedAt <= present) relations.push(found);
  if (!run.cells.hasFresh) return;
  for (const id of run.plan.storedSlots) {
    const slot = run.plan.slot(id);
    if (which === "all" || slot.feature.followsOffline) writes.push(...freshWrites(run, slot, present));
  }
}

/**
 * The values of a slot that were computed and are to be stored: of rows with the same key the
 * newest.
 */
function freshWrites(run: Run, slot: PlanSlot, present: number): Iterable<ValueWrite> {
  const { plan, rows, cells } = run;
  const frame = plan.frame(slot.frame);
  const newest = new Map<string, ValueWrite>();
  for (let row = (rows - 1) as Row; row >= 0; row--) {
    const cell = cells.at(slot.id, row);
    const isNull = cells.origin(cell) === CellOrigin.NULLED;
    if ((cells.origin(cell) !== CellOrigin.COMPUTED && !isNull) || run.timeOf(row).ms > present) continue;
    const keyCell = cells.at(frame.keySlot as SlotId, row);
    if (!cells.isOk(keyCell) || cells.value(keyCell) === null) continue;
    const value = isNull ? null : cells.value(cell);
    const caching = cachingOf(slot.feature, value, isNull);
    if (caching === "keep") continue;
    const key = storeKey(cells.value(keyCell));
    const observedAt = cells.observed(cell);
    if (observedAt <= (newest.get(key)?.observedAt ?? Number.NEGATIVE_INFINITY)) continue;
    newest.set(key, {
      namespace: frame.namespace.name,
      key,
      featureId: slot.feature.featureId as number,
      value: caching === "evict" ? null : value,
      observedAt,
      resolver: caching === "evict" ? EVICTED : (providerOf(run, slot, row)?.resolver?.fqn ?? ""),
      ...expiryOfSlot(run, slot, observedAt),
    });
  }
  return newest.values();
}
