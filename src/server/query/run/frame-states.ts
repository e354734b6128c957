/** Whether the rows of relation paths exist, as far as the near sides of their joins tell. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { Plan, PlanFrame, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellState, type Cells } from "./cells.ts";

/** What is known of a frame's row. */
export const FrameState = { IDLE: 0, WAITING: 1, PRESENT: 2, ABSENT: 3, FAILED: 4 } as const;

/** The frames of a running query. */
export class FrameStates {
  readonly #state: Uint8Array;
  readonly #missing: Int32Array;
  readonly #failures = new Map<number, CellFailure>();

  constructor(
    readonly plan: Plan,
    readonly rows: number,
  ) {
    const { frames } = plan;
    this.#state = new Uint8Array(frames.length * rows);
    this.#missing = new Int32Array(frames.length * rows);
    for (const { id, mode } of frames) {
      if (mode === "join") continue;
      this.#state.fill(mode === "absent" ? FrameState.ABSENT : FrameState.PRESENT, id * rows, (id + 1) * rows);
    }
  }

  get(frame: number, row: number): number {
    return this.#state[frame * this.rows + row] as number;
  }

  /** Why the row cannot be looked for. */
  failure(frame: number, row: number): CellFailure | undefined {
    return this.#failures.get(frame * this.rows + row);
  }

  /** The row is wanted, and so many values of the join's near side are not known yet. */
  wait(frame: number, row: number, missing: number): void {
    const at = frame * this.rows + row;
    this.#missing[at] = missing;
    this.#state[at] = FrameState.WAITING;
  }

  /** One more value of the near side is settled; true when it was the last. */
  gateSettled(frame: number, row: number): boolean {
    const at = frame * this.rows + row;
    if (this.#state[at] !== FrameState.WAITING) return false;
    const missing = (this.#missing[at] as number) - 1;
    this.#missing[at] = missing;
    return missing === 0;
  }

  /** All of the near side is settled: is there a row to look for? */
  decide(frame: PlanFrame, row: number, cells: Cells): void {
    let state: number = FrameState.PRESENT;
    for (const slot of frame.gateSlots) {
      const cell = slot * this.rows + row;
      const { path } = this.plan.slots[slot] as PlanSlot;
      if (cells.state[cell] === CellState.ABSENT) state = FrameState.ABSENT;
      else if (cells.state[cell] === CellState.FAILED) {
        this.#fail(frame, row, cells.failures[cell] as CellFailure);
        return;
      } else if (cells.values[cell] === null) {
        if (!frame.relation?.optional) {
          const message = `${frame.path} has no row, because ${path} is null and the relation is not optional`;
          this.#fail(frame, row, { code: ErrorCode.UPSTREAM_FAILED, message, path: frame.path, resolver: "" });
          return;
        }
        state = FrameState.ABSENT;
      }
    }
    this.#state[frame.id * this.rows + row] = state;
  }

  #fail(frame: PlanFrame, row: number, failure: CellFailure): void {
    const at = frame.id * this.rows + row;
    this.#failures.set(at, failure);
    this.#state[at] = FrameState.FAILED;
  }
}
