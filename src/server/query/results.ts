/** Settling the cells of an op with what it gave. */

import type { FeatureValue } from "../../domain/value.ts";
import { type OpVerdict, upstreamFailure } from "./arguments.ts";
import { CellOrigin } from "./cells.ts";
import type { PlanOp, PlanSlot } from "./plan.ts";
import type { RowsResults } from "./rows-op.ts";
import type { OpResults } from "./run-context.ts";
import type { Settlement } from "./settlement.ts";

/** Settles what stands for child rows. */
export function takeRows(settlement: Settlement, op: PlanOp, rows: readonly number[], results: RowsResults): void {
  const { plan, cells, nowMs } = settlement;
  const slot = plan.slots[op.outputs[0] as number] as PlanSlot;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    const cell = slot.id * cells.rows + row;
    if (cells.settled(cell)) continue;
    const result = results[index] as RowsResults[number];
    if ("code" in result) settlement.fail(cell, slot, row, result);
    else {
      cells.rowsAt.set(cell, result);
      settlement.value(cell, slot, row, null, CellOrigin.COMPUTED, nowMs);
    }
  }
}

/** A join gives the far side the near side's value. */
export function takeJoin(settlement: Settlement, op: PlanOp, rows: readonly number[]): void {
  const { plan, cells, nowMs } = settlement;
  for (const id of op.outputs)
    for (const row of rows) {
      const cell = id * cells.rows + row;
      if (cells.settled(cell)) continue;
      const value = cells.values[(op.inputSlots[0] as number) * cells.rows + row] as FeatureValue;
      settlement.value(cell, plan.slots[id] as PlanSlot, row, value, CellOrigin.JOINED, nowMs);
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
  const { plan, cells, nowMs } = settlement;
  for (let position = 0; position < op.outputs.length; position++) {
    const slot = plan.slots[op.outputs[position] as number] as PlanSlot;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      const cell = slot.id * cells.rows + row;
      const outcome = results.outcomes[position]?.[index];
      if (!outcome || cells.settled(cell)) continue;
      if (outcome.kind === "value")
        settlement.value(cell, slot, row, outcome.value, CellOrigin.COMPUTED, results.observedAt[index] ?? nowMs);
      else if (outcome.kind === "absent") settlement.absent(cell, slot, row);
      else settlement.fail(cell, slot, row, outcome.failure, outcome.final);
    }
  }
}
