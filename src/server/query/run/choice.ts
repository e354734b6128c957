/** Which of several ops computes a row: the first whose condition is true for it. */

import type { CellId, Row } from "../plan/ids.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { CellState } from "./cells.ts";
import type { Run } from "./run.ts";

/** The parts of a run that say so. */
type Decided = Pick<Run, "plan" | "cells">;

/**
 * The first condition on which it depends which op provides a slot in a row, and which has no
 * value, or not yet; undefined = it is known.
 */
export function openCondition({ cells }: Decided, slot: PlanSlot, row: Row): CellId | undefined {
  for (const { condition } of slot.choices) {
    const cell = cells.at(condition, row);
    const state = cells.state(cell);
    if (state !== CellState.OK && state !== CellState.ABSENT) return cell;
    if (cells.value(cell) === true) return undefined;
  }
  return undefined;
}

/**
 * The op that provides a slot in a row, as far as its conditions are known; undefined = none does.
 */
export function providerOf({ plan, cells }: Decided, slot: PlanSlot, row: Row): PlanOp | undefined {
  for (const { condition, op } of slot.choices) if (cells.value(cells.at(condition, row)) === true) return plan.op(op);
  return slot.op === undefined ? undefined : plan.op(slot.op);
}
