/**
 * Whether the rows of relation paths exist: decided first by the near sides of their joins, then by
 * the sources of their classes.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { FrameId, FrameRow, OpId, Row, SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import { type CellFailure, CellState, type Cells } from "./cells.ts";
import { lookedFor, noSuchRow } from "./outcome.ts";
import type { RowFound } from "./run.ts";

/** The states of a frame's row. */
export const FrameState = { IDLE: 0, WAITING: 1, PRESENT: 2, ABSENT: 3, FAILED: 4 } as const;

/** The frames of a running query. */
export class FrameStates {
  readonly #state: Uint8Array;
  /** Made for the first row that waits, as what follows is for the first row that needs it. */
  #missing: Int32Array | undefined;
  #failures: Map<FrameRow, CellFailure> | undefined;
  #row: Uint8Array | undefined;
  #rowFailures: Map<FrameRow, CellFailure> | undefined;
  /** Answers of ops about a row, by op and row. */
  #answers: Map<number, RowFound> | undefined;

  constructor(
    readonly plan: Plan,
    readonly rows: number,
  ) {
    const { frames } = plan;
    this.#state = new Uint8Array(frames.length * rows);
    for (const { id, mode } of frames) {
      if (mode === "join") continue;
      this.#state.fill(mode === "absent" ? FrameState.ABSENT : FrameState.PRESENT, id * rows, (id + 1) * rows);
    }
  }

  /** The row of a frame for a row of the run. */
  at(frame: FrameId, row: Row): FrameRow {
    return (frame * this.rows + row) as FrameRow;
  }

  /** One of `FrameState`. */
  get(frame: FrameId, row: Row): number {
    return this.#state[this.at(frame, row)] as number;
  }

  /** The reason why the row cannot be looked for. */
  failure(frame: FrameId, row: Row): CellFailure | undefined {
    return this.#failures?.get(this.at(frame, row));
  }

  /**
   * Marks the row as wanted, with the number of values of the join's near side that are not known
   * yet.
   */
  wait(frame: FrameId, row: Row, missing: number): void {
    const at = this.at(frame, row);
    this.#missing ??= new Int32Array(this.#state.length);
    this.#missing[at] = missing;
    this.#state[at] = FrameState.WAITING;
  }

  /** Records that one more value of the near side is settled; true when it was the last. */
  gateSettled(frame: FrameId, row: Row): boolean {
    const at = this.at(frame, row);
    if (!this.#missing || this.#state[at] !== FrameState.WAITING) return false;
    const missing = (this.#missing[at] as number) - 1;
    this.#missing[at] = missing;
    return missing === 0;
  }

  /** Decides, when all of the near side is settled, whether there is a row to look for. */
  decide(frame: PlanFrame, row: Row, cells: Cells): void {
    let state: number = FrameState.PRESENT;
    for (const slot of frame.gateSlots) {
      const cell = cells.at(slot, row);
      const { path } = this.plan.slot(slot);
      if (cells.state(cell) === CellState.ABSENT) state = FrameState.ABSENT;
      else if (cells.state(cell) === CellState.FAILED) {
        this.#fail(frame, row, cells.failure(cell) as CellFailure);
        return;
      } else if (cells.value(cell) === null) {
        if (!frame.relation?.optional) {
          const message = `${frame.path} has no row, because ${path} is null and the relation is not optional`;
          this.#fail(frame, row, { code: ErrorCode.UPSTREAM_FAILED, message, path: frame.path, resolver: "" });
          return;
        }
        state = FrameState.ABSENT;
      }
    }
    this.#state[this.at(frame.id, row)] = state;
  }

  /** The state of the row according to the ops that decide whether it exists. */
  rowState(frame: FrameId, row: Row): number {
    return this.#row?.[this.at(frame, row)] ?? FrameState.IDLE;
  }

  /** The reason why a row that must exist does not, or why its sources cannot decide. */
  rowFailure(frame: FrameId, row: Row): CellFailure | undefined {
    return this.#rowFailures?.get(this.at(frame, row));
  }

  /** Records whether an op found the row. */
  recordFound(op: OpId, row: Row, found: RowFound): void {
    this.#answers ??= new Map();
    this.#answers.set(op * this.rows + row, found);
  }

  /**
   * Evaluates the known answers of ops about a wanted row; returns the op to run next, undefined
   * when none is left.
   */
  nextSource(frame: PlanFrame, row: Row, cells: Cells): OpId | undefined {
    const at = this.at(frame.id, row);
    this.#row ??= new Uint8Array(this.#state.length);
    this.#row[at] = FrameState.WAITING;
    for (const op of frame.rowOps) {
      const found = this.#answers?.get(op * this.rows + row);
      if (found === undefined) return op;
      if (found === false) continue;
      this.#row[at] = found === true ? FrameState.PRESENT : FrameState.FAILED;
      if (found !== true) this.#failRow(at, found);
      return undefined;
    }
    this.#row[at] = frame.relation?.optional ? FrameState.ABSENT : FrameState.FAILED;
    if (!frame.relation?.optional) this.#failRow(at, this.#missingRow(frame, row, cells));
    return undefined;
  }

  #failRow(at: FrameRow, failure: CellFailure): void {
    this.#rowFailures ??= new Map();
    this.#rowFailures.set(at, failure);
  }

  #missingRow(frame: PlanFrame, row: Row, cells: Cells): CellFailure {
    const join = frame.relation?.join ?? [];
    const key = join.map(({ local }): FeatureValue => {
      const slot = frame.gateSlots.find((gate) => this.plan.slot(gate).feature === local) as SlotId;
      return cells.value(cells.at(slot, row));
    });
    const foreign = join.map((pair) => pair.foreign);
    const sources = frame.rowOps.flatMap((op) => this.plan.op(op).resolver ?? []);
    const message = noSuchRow(frame.path, sources.map(nameResolver).join(" and "), lookedFor(foreign, key));
    return { code: ErrorCode.UPSTREAM_FAILED, message, path: frame.path, resolver: sources.length === 1 ? (sources[0]?.fqn ?? "") : "" };
  }

  #fail(frame: PlanFrame, row: Row, failure: CellFailure): void {
    const at = this.at(frame.id, row);
    this.#failures ??= new Map();
    this.#failures.set(at, failure);
    this.#state[at] = FrameState.FAILED;
  }
}
