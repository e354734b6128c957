/** Settling of cells: each gets its value, or the reason why it has none. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { type CellId, FIRST_ROW, type Row } from "../plan/ids.ts";
import type { Plan, PlanOp, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, type Cells } from "./cells.ts";
import { openCondition, providerOf } from "./choice.ts";
import type { Run } from "./run.ts";

/** Settles the cells of a running query. */
export class Settlement {
  /** Failures that a default stands in for. */
  readonly covered: CellFailure[] = [];
  readonly plan: Plan;
  readonly cells: Cells;

  /** What ops left for cells of which it is not known yet which op provides them. */
  #kept: Map<CellId, { readonly op: PlanOp; readonly settle: () => void }[]> | undefined;

  constructor(
    readonly run: Pick<Run, "plan" | "cells" | "timeOf" | "context">,
    /** Called for every cell that was settled. */
    readonly settled: (slot: PlanSlot, row: Row) => void,
  ) {
    this.plan = run.plan;
    this.cells = run.cells;
  }

  /** The time of a row, epoch milliseconds. */
  nowMs(row: Row): number {
    return this.run.timeOf(row).ms;
  }

  /**
   * Settles a cell with a value.
   * @param origin one of `CellOrigin`
   * @param observed epoch milliseconds
   */
  value(cell: CellId, slot: PlanSlot, row: Row, value: FeatureValue, origin: number, observed: number): void {
    this.cells.settle(cell, value, origin, observed);
    this.settled(slot, row);
  }

  /**
   * Settles a cell whose row does not exist: null where a relation on the path is optional, a
   * failure elsewhere.
   */
  absent(cell: CellId, slot: PlanSlot, row: Row): void {
    const frame = this.plan.frame(slot.frame);
    if (!frame.optional) {
      const message = `${slot.path} has no value, because ${frame.path} has no row`;
      this.fail(cell, slot, row, { code: ErrorCode.UPSTREAM_FAILED, message, path: slot.path, resolver: "" });
      return;
    }
    this.cells.settleAbsent(cell, this.nowMs(row));
    this.settled(slot, row);
  }

  /**
   * Whether an op provides a cell, of which it has an outcome. While that is not known, `settle` is
   * kept for `settleKept`.
   */
  provides(op: PlanOp, cell: CellId, slot: PlanSlot, row: Row, settle: () => void): boolean {
    if (slot.choices.length === 0) return true;
    if (openCondition(this.run, slot, row) === undefined) return providerOf(this.run, slot, row) === op;
    this.#kept ??= new Map();
    const kept = this.#kept.get(cell);
    if (kept) kept.push({ op, settle });
    else this.#kept.set(cell, [{ op, settle }]);
    return false;
  }

  /** Settles a cell with what the op that provides it left for it before; false = nothing. */
  settleKept(cell: CellId, op: PlanOp): boolean {
    const kept = this.#kept?.get(cell)?.find((one) => one.op === op);
    kept?.settle();
    return kept !== undefined;
  }

  /** Settles a cell with its feature's default, or as failed. `final` = a default does not help. */
  fail(cell: CellId, slot: PlanSlot, row: Row, failure: CellFailure, final = false): void {
    const { defaultValue } = slot.feature;
    if (defaultValue !== undefined && !final) {
      this.covered.push(failure);
      this.value(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.nowMs(row));
      return;
    }
    this.cells.fail(cell, failure);
    this.settled(slot, row);
  }

  /**
   * Settles a cell that must not be null and whose computation returned null: with its feature's
   * default, or as failed.
   */
  nothing(cell: CellId, slot: PlanSlot, row: Row, failure: CellFailure, observed: number): void {
    const { defaultValue } = slot.feature;
    if (defaultValue === undefined) {
      this.fail(cell, slot, row, failure);
      return;
    }
    this.covered.push(failure);
    this.value(cell, slot, row, defaultValue, CellOrigin.NULLED, observed);
  }

  /** Fails every output that is not settled. */
  rest(failure: (path: string) => CellFailure): void {
    for (const { slot, path } of this.plan.outputs) {
      if (slot === undefined) continue;
      for (let row = FIRST_ROW; row < this.cells.rows; row++) {
        const cell = this.cells.at(slot, row);
        if (!this.cells.isSettled(cell)) this.cells.fail(cell, failure(path));
      }
    }
  }
}
