/** The values of a running query: one cell for each slot of the plan and each row, in columns. */

import type { ErrorCode, ExceptionInfo } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { RowsValue } from "./child-rows.ts";

/** The states of a cell. From `OK` on it is settled. */
export const CellState = {
  IDLE: 0,
  /** Wanted. */
  WAITING: 1,
  OK: 2,
  /** Null because there is no such row, which an optional relation allows. */
  ABSENT: 3,
  FAILED: 4,
} as const;

/** Origins of settled values. `NULLED`: a default in place of the null that was computed. */
export const CellOrigin = { NONE: 0, GIVEN: 1, STORED: 2, COMPUTED: 3, JOINED: 4, DEFAULT: 5, NULLED: 6 } as const;

/** The reason why a cell has no value. */
export interface CellFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** FQN from the root of the feature that failed. */
  readonly path: string;
  /** FQN of the resolver concerned; empty = none. */
  readonly resolver: string;
  readonly exception?: ExceptionInfo | undefined;
  /** The failure of the input that this one comes from. */
  readonly cause?: CellFailure | undefined;
}

/** The cells of a run. Each goes from idle through waiting to settled, and is settled once. */
export class Cells {
  readonly #values: FeatureValue[];
  readonly #state: Uint8Array;
  readonly #origin: Uint8Array;
  readonly #observed: Float64Array;
  readonly #failures: (CellFailure | undefined)[] = [];
  readonly #storedBy: string[];
  /** Made with the first of them: most runs have none. */
  #childRows: Map<CellId, RowsValue> | undefined;
  #hasFresh = false;

  /** @param rows the number of rows of the run */
  constructor(
    slots: number,
    readonly rows: number,
  ) {
    const size = slots * rows;
    this.#values = new Array<FeatureValue>(size).fill(null);
    this.#state = new Uint8Array(size);
    this.#origin = new Uint8Array(size);
    this.#observed = new Float64Array(size);
    this.#storedBy = new Array<string>(size).fill("");
  }

  /** The cell of a slot and a row. */
  at(slot: SlotId, row: Row): CellId {
    return (slot * this.rows + row) as CellId;
  }

  rowOf(cell: CellId): Row {
    return (cell % this.rows) as Row;
  }

  slotOf(cell: CellId): SlotId {
    return ((cell / this.rows) | 0) as SlotId;
  }

  /** One of `CellState`. */
  state(cell: CellId): number {
    return this.#state[cell] as number;
  }

  isSettled(cell: CellId): boolean {
    return this.state(cell) >= CellState.OK;
  }

  /** Whether it has a value, which may be null. */
  isOk(cell: CellId): boolean {
    return this.#state[cell] === CellState.OK;
  }

  /** The value; null where there is none. */
  value(cell: CellId): FeatureValue {
    return this.#values[cell] as FeatureValue;
  }

  /** One of `CellOrigin`. */
  origin(cell: CellId): number {
    return this.#origin[cell] as number;
  }

  /** Time at which the value was observed, epoch milliseconds. */
  observed(cell: CellId): number {
    return this.#observed[cell] as number;
  }

  /** The reason why it has no value; undefined unless it failed. */
  failure(cell: CellId): CellFailure | undefined {
    return this.#failures[cell];
  }

  /** FQN of the resolver that computed a stored value; empty for other cells. */
  storedBy(cell: CellId): string {
    return this.#storedBy[cell] as string;
  }

  /** The child rows of a cell that stands for rows of a has-many relation. */
  childRows(cell: CellId): RowsValue | undefined {
    return this.#childRows?.get(cell);
  }

  /** Whether any was computed in this run: only then is there something to store. */
  get hasFresh(): boolean {
    return this.#hasFresh;
  }

  /** Makes an idle cell wait; false when it was wanted before. */
  want(cell: CellId): boolean {
    if (this.#state[cell] !== CellState.IDLE) return false;
    this.#state[cell] = CellState.WAITING;
    return true;
  }

  /**
   * Settles a cell with a value.
   * @param origin one of `CellOrigin`
   * @param observed epoch milliseconds
   */
  settle(cell: CellId, value: FeatureValue, origin: number, observed: number): void {
    this.#values[cell] = value;
    this.#state[cell] = CellState.OK;
    this.#origin[cell] = origin;
    if (origin === CellOrigin.COMPUTED || origin === CellOrigin.NULLED) this.#hasFresh = true;
    this.#observed[cell] = observed;
  }

  /**
   * Settles a cell whose row does not exist, which is known since `observed`, epoch milliseconds.
   */
  settleAbsent(cell: CellId, observed: number): void {
    this.#state[cell] = CellState.ABSENT;
    this.#observed[cell] = observed;
  }

  /** Settles a cell without a value. */
  fail(cell: CellId, failure: CellFailure): void {
    this.#failures[cell] = failure;
    this.#state[cell] = CellState.FAILED;
  }

  /** Records the resolver of a value from the online store: its FQN, or empty. */
  keepResolver(cell: CellId, resolver: string): void {
    this.#storedBy[cell] = resolver;
  }

  /** Keeps the child rows of a cell that stands for rows of a has-many relation. */
  keepChildRows(cell: CellId, rows: RowsValue): void {
    this.#childRows ??= new Map();
    this.#childRows.set(cell, rows);
  }
}
