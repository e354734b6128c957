/** Handing of rows to sinks: those of which a run has computed a column. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { RowSink, RowSinks } from "../../sinks/row-sinks.ts";
import { storeKey } from "../../stores/online/store.ts";
import { FIRST_ROW, type SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame } from "../plan/plan.ts";
import { CellOrigin } from "./cells.ts";
import type { Run } from "./run.ts";

/** A sink and the rows of a plan that it is given. */
interface PlanSink {
  readonly sink: RowSink;
  readonly keySlot: SlotId;
  /** By column; undefined = the plan does not have it. */
  readonly slots: readonly (SlotId | undefined)[];
}

/**
 * Gives the sinks of a deployment the rows of which a run, or one of child rows, computed a column;
 * what it does not know is null. Rows of later times than the present are left out.
 * @param present epoch milliseconds
 */
export function tellSinks(run: Run, present: number): void {
  const { deployment, tags } = run.context;
  if (!deployment.sinks) return;
  for (const child of run.children) tellSinks(child, present);
  if (!run.cells.hasFresh) return;
  for (const planned of sinksOf(run.plan, deployment.sinks)) if (planned.sink.takesTags(tags)) tell(run, planned, present);
}

function tell(run: Run, { sink, keySlot, slots }: PlanSink, present: number): void {
  const { cells, rows } = run;
  const found = new Map<string, readonly FeatureValue[]>();
  for (let row = FIRST_ROW; row < rows; row++) {
    const keyCell = cells.at(keySlot, row);
    if (!cells.isOk(keyCell) || cells.value(keyCell) === null || run.timeOf(row).ms > present) continue;
    const own = slots.map((slot) => (slot === undefined ? undefined : cells.at(slot, row)));
    const isFresh = own.some((cell, at) => cell !== undefined && slots[at] !== keySlot && cells.origin(cell) === CellOrigin.COMPUTED);
    if (!isFresh) continue;
    found.set(
      storeKey(cells.value(keyCell)),
      own.map((cell) => (cell !== undefined && cells.isOk(cell) ? cells.value(cell) : null)),
    );
  }
  for (const row of found.values()) sink.add(row);
}

function sinksOf(plan: Plan, sinks: RowSinks): readonly PlanSink[] {
  const frames = new Set(plan.slots.map(({ frame }) => frame));
  return [...frames].flatMap((frame) => planSinks(plan, plan.frame(frame), sinks));
}

function planSinks(plan: Plan, { id, keySlot, namespace }: PlanFrame, sinks: RowSinks): PlanSink[] {
  const known = sinks.of(namespace.name);
  if (keySlot === undefined || known.length === 0) return [];
  const own = new Map(
    plan.slots.filter(({ frame, feature }) => frame === id && !feature.rowsOf).map((slot) => [slot.feature.fqn, slot.id]),
  );
  const primary = namespace.primaryKey?.fqn;
  return known.flatMap((sink) => {
    const slots = sink.columns.map((column) => (column === primary ? keySlot : own.get(column)));
    return slots.every((slot) => slot === undefined || slot === keySlot) ? [] : [{ sink, keySlot, slots }];
  });
}
