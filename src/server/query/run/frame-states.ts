/** Whether the rows of relation paths exist: first as far as the near sides of their joins tell, then as far as the sources of their classes do. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { Plan, PlanFrame, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import { type CellFailure, CellState, type Cells } from "./cells.ts";
import { lookedFor, noSuchRow } from "./outcome.ts";
import type { RowFound } from "./run-context.ts";

/** What is known of a frame's row. */
export const FrameState = { IDLE: 0, WAITING: 1, PRESENT: 2, ABSENT: 3, FAILED: 4 } as const;

/** The frames of a running query. */
export class FrameStates {
  readonly #state: Uint8Array;
  readonly #missing: Int32Array;
  readonly #failures = new Map<number, CellFailure>();
  readonly #row: Uint8Array;
  readonly #rowFailures = new Map<number, CellFailure>();
  /** What ops said of a row, by op and row. */
  readonly #told = new Map<number, RowFound>();

  constructor(
    readonly plan: Plan,
    readonly rows: number,
  ) {
    const { frames } = plan;
    this.#state = new Uint8Array(frames.length * rows);
    this.#missing = new Int32Array(frames.length * rows);
    this.#row = new Uint8Array(frames.length * rows);
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

  /** What is known of the row from the ops that tell whether it exists. */
  rowState(frame: number, row: number): number {
    return this.#row[frame * this.rows + row] as number;
  }

  /** Why the row is not there, where it must be, or why nobody can tell. */
  rowFailure(frame: number, row: number): CellFailure | undefined {
    return this.#rowFailures.get(frame * this.rows + row);
  }

  /** An op has the row, or has not. */
  tell(op: number, row: number, found: RowFound): void {
    this.#told.set(op * this.rows + row, found);
  }

  /** Goes through what was told of a row that is wanted: the op to ask next; undefined when nothing is left to ask. */
  seek(frame: PlanFrame, row: number, cells: Cells): number | undefined {
    const at = frame.id * this.rows + row;
    this.#row[at] = FrameState.WAITING;
    for (const op of frame.rowOps) {
      const found = this.#told.get(op * this.rows + row);
      if (found === undefined) return op;
      if (found === false) continue;
      this.#row[at] = found === true ? FrameState.PRESENT : FrameState.FAILED;
      if (found !== true) this.#rowFailures.set(at, found);
      return undefined;
    }
    this.#row[at] = frame.relation?.optional ? FrameState.ABSENT : FrameState.FAILED;
    if (!frame.relation?.optional) this.#rowFailures.set(at, this.#missingRow(frame, row, cells));
    return undefined;
  }

  #missingRow(frame: PlanFrame, row: number, cells: Cells): CellFailure {
    const join = frame.relation?.join ?? [];
    const key = join.map(({ local }): FeatureValue => {
      const slot = frame.gateSlots.find((gate) => this.plan.slots[gate]?.feature === local) as number;
      return cells.values[slot * this.rows + row] as FeatureValue;
    });
    const foreign = join.map((pair) => pair.foreign);
    const sources = frame.rowOps.flatMap((op) => this.plan.ops[op]?.resolver ?? []);
    const message = noSuchRow(frame.path, sources.map(nameResolver).join(" and "), lookedFor(foreign, key));
    return { code: ErrorCode.UPSTREAM_FAILED, message, path: frame.path, resolver: sources.length === 1 ? (sources[0]?.fqn ?? "") : "" };
  }

  #fail(frame: PlanFrame, row: number, failure: CellFailure): void {
    const at = frame.id * this.rows + row;
    this.#failures.set(at, failure);
    this.#state[at] = FrameState.FAILED;
  }
}
