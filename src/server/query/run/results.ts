/** Settling the cells of an op with what it gave. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { StoredRows, StoredValue } from "../../stores/online/store.ts";
import { type OpVerdict, upstreamFailure } from "../ops/arguments.ts";
import type { RowsResults } from "../ops/rows-op.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { CellOrigin } from "./cells.ts";
import type { OpResults } from "./run-context.ts";
import type { Settlement } from "./settlement.ts";
import type { StoredRowsFound } from "./stored-rows.ts";

/** Settles what stands for child rows. */
export function takeRows(settlement: Settlement, op: PlanOp, rows: readonly number[], results: RowsResults): void {
  const { plan, cells } = settlement;
  const slot = plan.slots[op.outputs[0] as number] as PlanSlot;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    const cell = slot.id * cells.rows + row;
    if (cells.settled(cell)) continue;
    const result = results[index] as RowsResults[number];
    if ("code" in result) settlement.fail(cell, slot, row, result);
    else {
      cells.rowsAt.set(cell, result);
      settlement.value(cell, slot, row, null, CellOrigin.COMPUTED, settlement.nowMs(row));
    }
  }
}

/** Settles cells with the values that the online store had for them. */
export function takeStored(settlement: Settlement, cellsRead: readonly number[], stored: readonly (StoredValue | undefined)[]): void {
  const { plan, cells } = settlement;
  for (let position = 0; position < cellsRead.length; position++) {
    const cell = cellsRead[position] as number;
    const hit = stored[position];
    if (!hit || cells.settled(cell)) continue;
    const row = cell % cells.rows;
    const slot = plan.slots[(cell - row) / cells.rows] as PlanSlot;
    const { nullable, defaultValue } = slot.feature;
    const value = hit.value === null && !nullable ? defaultValue : hit.value;
    if (value === undefined) continue;
    cells.storedBy[cell] = hit.resolver;
    settlement.value(cell, slot, row, value, CellOrigin.STORED, hit.observedAt);
  }
}

/** Settles what stands for child rows that the online store had. */
export function takeStoredRows(settlement: Settlement, { op, rows, results, stored }: StoredRowsFound): void {
  const { plan, cells } = settlement;
  const slot = plan.slots[op.outputs[0] as number] as PlanSlot;
  for (const [index, row] of rows.entries()) {
    const cell = slot.id * cells.rows + row;
    if (cells.settled(cell)) continue;
    const result = results[index] as RowsResults[number];
    const { observedAt, resolver } = stored[index] as StoredRows;
    if ("code" in result) settlement.fail(cell, slot, row, result);
    else {
      cells.rowsAt.set(cell, result);
      cells.storedBy[cell] = resolver;
      settlement.value(cell, slot, row, null, CellOrigin.STORED, observedAt);
    }
  }
}

/** A join gives the far side the near side's value. */
export function takeJoin(settlement: Settlement, op: PlanOp, rows: readonly number[]): void {
  const { plan, cells } = settlement;
  for (const id of op.outputs)
    for (const row of rows) {
      const cell = id * cells.rows + row;
      if (cells.settled(cell)) continue;
      const value = cells.values[(op.inputSlots[0] as number) * cells.rows + row] as FeatureValue;
      settlement.value(cell, plan.slots[id] as PlanSlot, row, value, CellOrigin.JOINED, settlement.nowMs(row));
    }
}

/** Settles the cell of an op that cannot run for a row. */
export function takeVerdict(settlement: Settlement, id: number, row: number, verdict: Exclude<OpVerdict, "run">): void {
  const { plan, cells } = settlement;
  const cell = id * cells.rows + row;
  if (cells.settled(cell)) return;
  const slot = plan.slots[id] as PlanSlot;
  if (verdict === "absent") settlement.absent(cell, slot, row);
  else settlement.fail(cell, slot, row, upstreamFailure(slot.path, verdict.input, verdict.failure));
}

/** Settles what a resolver or an expression gave. */
export function takeResults(settlement: Settlement, op: PlanOp, rows: readonly number[], results: OpResults): void {
  const { plan, cells } = settlement;
  for (let position = 0; position < op.outputs.length; position++) {
    const slot = plan.slots[op.outputs[position] as number] as PlanSlot;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      const cell = slot.id * cells.rows + row;
      const outcome = results.outcomes[position]?.[index];
      if (!outcome || cells.settled(cell)) continue;
      if (outcome.kind === "value")
        settlement.value(cell, slot, row, outcome.value, CellOrigin.COMPUTED, results.observedAt[index] ?? settlement.nowMs(row));
      else if (outcome.kind === "absent") settlement.absent(cell, slot, row);
      else if (outcome.isNull) settlement.nothing(cell, slot, row, outcome.failure, results.observedAt[index] ?? settlement.nowMs(row));
      else settlement.fail(cell, slot, row, outcome.failure, outcome.final);
    }
  }
}
