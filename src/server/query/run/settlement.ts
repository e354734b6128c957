/** How cells get their values, or the reason why they have none. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { Plan, PlanFrame, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, CellState, type Cells } from "./cells.ts";

/** Settles the cells of a running query. */
export class Settlement {
  /** Failures that a default covered. */
  readonly covered: CellFailure[] = [];

  constructor(
    readonly plan: Plan,
    readonly cells: Cells,
    /** The time of a row, epoch milliseconds. */
    readonly nowMs: (row: number) => number,
    /** Told of every cell that was settled. */
    readonly settled: (slot: PlanSlot, row: number) => void,
  ) {}

  value(cell: number, slot: PlanSlot, row: number, value: FeatureValue, origin: number, observed: number): void {
    this.cells.settle(cell, value, origin, observed);
    this.settled(slot, row);
  }

  /** There is no such row: null where a relation on the way is optional, a failure elsewhere. */
  absent(cell: number, slot: PlanSlot, row: number): void {
    const frame = this.plan.frames[slot.frame] as PlanFrame;
    if (!frame.optional) {
      const message = `${slot.path} has no value, because ${frame.path} has no row`;
      this.fail(cell, slot, row, { code: ErrorCode.UPSTREAM_FAILED, message, path: slot.path, resolver: "" });
      return;
    }
    this.cells.state[cell] = CellState.ABSENT;
    this.cells.observed[cell] = this.nowMs(row);
    this.settled(slot, row);
  }

  /** Settles a cell with its feature's default, or as failed. `final` = a default does not help. */
  fail(cell: number, slot: PlanSlot, row: number, failure: CellFailure, final = false): void {
    const { defaultValue } = slot.feature;
    if (defaultValue !== undefined && !final) {
      this.covered.push(failure);
      this.value(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.nowMs(row));
      return;
    }
    this.cells.failures[cell] = failure;
    this.cells.state[cell] = CellState.FAILED;
    this.settled(slot, row);
  }

  /** Null came of what computes a cell that cannot be null: settles it with its feature's default, or as failed. */
  nothing(cell: number, slot: PlanSlot, row: number, failure: CellFailure, observed: number): void {
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
    for (const { slot, path } of this.plan.outputs)
      for (let row = 0; slot >= 0 && row < this.cells.rows; row++) {
        const cell = slot * this.cells.rows + row;
        if (this.cells.settled(cell)) continue;
        this.cells.failures[cell] = failure(path);
        this.cells.state[cell] = CellState.FAILED;
      }
  }
}
