/** The values of a running query: one cell for each slot of the plan and each row, in columns. */

import type { ErrorCode, ExceptionInfo } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";

import type { RowsValue } from "./child-rows.ts";

/** What is known of a cell. From `OK` on it is settled. */
export const CellState = {
  IDLE: 0,
  /** Wanted. */
  WAITING: 1,
  OK: 2,
  /** Null because there is no such row, which an optional relation allows. */
  ABSENT: 3,
  FAILED: 4,
} as const;

/** Where a settled value came from. `NULLED`: a default in place of the null that was computed. */
export const CellOrigin = { NONE: 0, GIVEN: 1, STORED: 2, COMPUTED: 3, JOINED: 4, DEFAULT: 5, NULLED: 6 } as const;

/** Why a cell has no value. */
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

/** The cells. The cell of a slot and a row is `slot * rows + row`. */
export class Cells {
  readonly values: FeatureValue[];
  readonly state: Uint8Array;
  readonly origin: Uint8Array;
  /** Epoch milliseconds. */
  readonly observed: Float64Array;
  readonly failures: (CellFailure | undefined)[];
  /** FQN of the resolver that computed a stored value; empty for other cells. */
  readonly storedBy: string[];
  /** The child rows of cells that stand for rows of has-many relations. */
  readonly rowsAt = new Map<number, RowsValue>();
  /** Whether any was computed in this run: only then is there something to store. */
  hasFresh = false;

  constructor(
    slots: number,
    readonly rows: number,
  ) {
    const size = slots * rows;
    this.values = new Array<FeatureValue>(size).fill(null);
    this.state = new Uint8Array(size);
    this.origin = new Uint8Array(size);
    this.observed = new Float64Array(size);
    this.failures = [];
    this.storedBy = new Array<string>(size).fill("");
  }

  settle(cell: number, value: FeatureValue, origin: number, observed: number): void {
    this.values[cell] = value;
    this.state[cell] = CellState.OK;
    this.origin[cell] = origin;
    if (origin === CellOrigin.COMPUTED || origin === CellOrigin.NULLED) this.hasFresh = true;
    this.observed[cell] = observed;
  }

  settled(cell: number): boolean {
    return (this.state[cell] as number) >= CellState.OK;
  }
}
