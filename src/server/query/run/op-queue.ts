/** Which ops are wanted for which rows, and which of them have all their inputs. */

import type { PlanOp } from "../plan/plan.ts";

const IDLE = 0;
const WANTED = 1;
const STARTED = 2;

/** The ops of a running query. An op starts when every row it is wanted for has its inputs; rows wanted later make a second call. */
export class OpQueue {
  readonly #state: Uint8Array;
  readonly #missing: Int32Array;
  readonly #unready: Int32Array;
  readonly #pending: (number[] | undefined)[];
  readonly #touched: number[] = [];

  constructor(
    readonly ops: readonly PlanOp[],
    readonly rows: number,
  ) {
    this.#state = new Uint8Array(ops.length * rows);
    this.#missing = new Int32Array(ops.length * rows);
    this.#unready = new Int32Array(ops.length);
    this.#pending = new Array<undefined>(ops.length);
  }

  /** Marks an op as wanted for a row; false when it already was. */
  claim(op: number, row: number): boolean {
    const at = op * this.rows + row;
    if (this.#state[at] !== IDLE) return false;
    this.#state[at] = WANTED;
    return true;
  }

  /** Queues a claimed op that still waits for a number of inputs. */
  queue(op: number, row: number, missing: number): void {
    this.#missing[op * this.rows + row] = missing;
    if (missing > 0) this.#unready[op] = (this.#unready[op] as number) + 1;
    const pending = this.#pending[op];
    if (pending) pending.push(row);
    else this.#pending[op] = [row];
    this.#touched.push(op);
  }

  /** One more input of an op is settled for a row. */
  inputSettled(op: number, row: number): void {
    const at = op * this.rows + row;
    if (this.#state[at] !== WANTED) return;
    const missing = (this.#missing[at] as number) - 1;
    this.#missing[at] = missing;
    if (missing > 0) return;
    this.#unready[op] = (this.#unready[op] as number) - 1;
    this.#touched.push(op);
  }

  /** Takes an op whose rows are all ready, with the rows; undefined when there is none. */
  next(): { readonly op: PlanOp; readonly rows: readonly number[] } | undefined {
    for (let id = this.#touched.pop(); id !== undefined; id = this.#touched.pop()) {
      const rows = this.#pending[id];
      if (!rows || this.#unready[id] !== 0) continue;
      this.#pending[id] = undefined;
      for (const row of rows) this.#state[id * this.rows + row] = STARTED;
      if (rows.length > 1) rows.sort((a, b) => a - b);
      return { op: this.ops[id] as PlanOp, rows };
    }
    return undefined;
  }
}
