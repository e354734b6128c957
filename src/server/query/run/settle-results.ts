/** Settling cells with the results of ops and of reads of the online store. */

import type { StoredRows, StoredValue } from "../../stores/online/store.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { CellOrigin } from "./cells.ts";
import type { RowsResults } from "./child-rows.ts";
import { type OpVerdict, upstreamFailure } from "./op-inputs.ts";
import type { OpResults, Outcome, RowFound } from "./run.ts";
import type { Settlement } from "./settlement.ts";

/** Settles the cells of an op that cannot run for a row. */
export function settleVerdict(settlement: Settlement, op: PlanOp, row: Row, verdict: Exclude<OpVerdict, "run">): void {
  const { plan, cells } = settlement;
  for (const id of op.outputs) {
    const cell = cells.at(id, row);
    if (cells.isSettled(cell)) continue;
    const slot = plan.slot(id);
    const settle = () => {
      if (verdict === "absent") settlement.absent(cell, slot, row);
      else settlement.fail(cell, slot, row, upstreamFailure(slot.path, verdict.input, verdict.failure));
    };
    if (settlement.provides(op, cell, slot, row, settle)) settle();
  }
}

/**
 * Settles the cells of an op with the values that it computed; returns whether each row exists, if
 * the op decides that.
 */
export function settleOutcomes(
  settlement: Settlement,
  op: PlanOp,
  rows: readonly Row[],
  results: OpResults,
): readonly RowFound[] | undefined {
  const { plan, cells } = settlement;
  for (let position = 0; position < op.outputs.length; position++) {
    const id = op.outputs[position] as SlotId;
    const slot = plan.slot(id);
    const outcomes = results.outcomes[position];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as Row;
      const cell = cells.at(id, row);
      const outcome = outcomes?.[index];
      if (!outcome || cells.isSettled(cell)) continue;
      const observed = results.observedAt[index];
      if (
        slot.choices.length === 0 ||
        settlement.provides(op, cell, slot, row, () => settleOutcome(settlement, slot, row, outcome, observed))
      )
        settleOutcome(settlement, slot, row, outcome, observed);
    }
  }
  return results.found;
}

/** @param observed epoch milliseconds; undefined = the row's time */
function settleOutcome(settlement: Settlement, slot: PlanSlot, row: Row, outcome: Outcome, observed: number | undefined): void {
  const cell = settlement.cells.at(slot.id, row);
  if (outcome.kind === "value") {
    if (slot.feature.softRules) settlement.run.context.meter?.checked(slot.feature, outcome.value);
    settlement.value(cell, slot, row, outcome.value, CellOrigin.COMPUTED, observed ?? settlement.nowMs(row));
  } else if (outcome.kind === "absent") settlement.absent(cell, slot, row);
  else if (outcome.isNull) settlement.nothing(cell, slot, row, outcome.failure, observed ?? settlement.nowMs(row));
  else settlement.fail(cell, slot, row, outcome.failure, outcome.final);
}

/**
 * Settles the cells of an op that finds child rows.
 * @param stored set for rows that the online store had: as it had them, for each row
 */
export function settleRows(
  settlement: Settlement,
  op: PlanOp,
  rows: readonly Row[],
  results: RowsResults,
  stored?: readonly StoredRows[],
): void {
  const { plan, cells } = settlement;
  const slot = plan.outputOf(op);
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as Row;
    const cell = cells.at(slot.id, row);
    if (cells.isSettled(cell)) continue;
    const result = results[index] as RowsResults[number];
    if ("code" in result) {
      settlement.fail(cell, slot, row, result);
      continue;
    }
    const found = stored?.[index];
    cells.keepChildRows(cell, result);
    if (found) cells.keepResolver(cell, found.resolver);
    settlement.value(cell, slot, row, null, found ? CellOrigin.STORED : CellOrigin.COMPUTED, found?.observedAt ?? settlement.nowMs(row));
  }
}

/**
 * Settles cells with the values that the online store had for them; cells for which it had none
 * stay as they are.
 */
export function settleStored(settlement: Settlement, cellsRead: readonly CellId[], stored: readonly (StoredValue | undefined)[]): void {
  const { plan, cells } = settlement;
  for (let position = 0; position < cellsRead.length; position++) {
    const cell = cellsRead[position] as CellId;
    const hit = stored[position];
    if (!hit || cells.isSettled(cell)) continue;
    const slot = plan.slot(cells.slotOf(cell));
    const { nullable, defaultValue, strictRules } = slot.feature;
    const value = hit.value === null && !nullable ? defaultValue : hit.value;
    // Of a value that was stored before its feature had the rule, the row is computed anew.
    if (value === undefined || (value !== null && strictRules?.(value) !== undefined)) continue;
    cells.keepResolver(cell, hit.resolver);
    settlement.value(cell, slot, cells.rowOf(cell), value, CellOrigin.STORED, hit.observedAt);
  }
}
