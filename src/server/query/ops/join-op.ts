/** Joins: the far side of a has-one relation has the near side's value. */

import type { Row, SlotId } from "../plan/ids.ts";
import type { PlanOp } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, CellState } from "../run/cells.ts";
import { missingRowFailure, type OpVerdict } from "../run/op-inputs.ts";
import type { Run } from "../run/run.ts";
import type { Settlement } from "../run/settlement.ts";
import type { Op } from "./op.ts";

/** Copies values from the near side of a join to the far side. */
export const joinOp: Op<undefined> = {
  verdict: verdictOfJoin,
  run: () => undefined,
  settle: settleJoin,
};

/**
 * The verdict of a join for a row: without a value on the near side there is no row, which is legal
 * where a relation on the path is optional.
 */
function verdictOfJoin({ plan, cells }: Run, op: PlanOp, row: Row): OpVerdict {
  const frame = plan.frame(op.frame);
  for (const slot of op.inputSlots) {
    const cell = cells.at(slot, row);
    const { path } = plan.slot(slot);
    if (cells.state(cell) === CellState.FAILED) return { input: path, failure: cells.failure(cell) as CellFailure };
    if (cells.isOk(cell) && cells.value(cell) !== null) continue;
    if (frame.optional) return "absent";
    const message = `${frame.path} has no row, because ${path} is null and the relation is not optional`;
    return { input: path, failure: missingRowFailure(path, message) };
  }
  return "run";
}

function settleJoin(settlement: Settlement, op: PlanOp, rows: readonly Row[]): undefined {
  const { plan, cells } = settlement;
  const near = op.inputSlots[0] as SlotId;
  for (const id of op.outputs)
    for (const row of rows) {
      const cell = cells.at(id, row);
      if (cells.isSettled(cell)) continue;
      settlement.value(cell, plan.slot(id), row, cells.value(cells.at(near, row)), CellOrigin.JOINED, settlement.nowMs(row));
    }
}
