/**
 * The queue of ops: the rows for which each is wanted, and whether all their inputs are settled.
 */

import type { OpId, Row } from "../plan/ids.ts";
import type { Plan, PlanOp } from "../plan/plan.ts";

const IDLE = 0;
const WANTED = 1;
const STARTED = 2;

/**
 * The ops of a running query. An op starts when every row it is wanted for has its inputs; rows
 * wanted later make a second call.
 */
export class OpQueue {
  readonly #state: Uint8Array;
  readonly #missing: Int32Array;
  readonly #unready: Int32Array;
  readonly #pending: (Row[] | undefined)[];
  readonly #touched: OpId[] = [];

  /** @param rows the number of rows of the run */
  constructor(
    readonly plan: Plan,
    readonly rows: number,
  ) {
    const { length } = plan.ops;
    this.#state = new Uint8Array(length * rows);
    this.#missing = new Int32Array(length * rows);
    this.#unready = new Int32Array(length);
    this.#pending = new Array<undefined>(length);
  }

  #at(op: OpId, row: Row): number {
    return op * this.rows + row;
  }

  /** Marks an op as wanted for a row; false when it already was. */
  claim(op: OpId, row: Row): boolean {
    const at = this.#at(op, row);
    if (this.#state[at] !== IDLE) return false;
    this.#state[at] = WANTED;
    return true;
  }

  /** Queues a claimed op that still waits for a number of inputs. */
  queue(op: OpId, row: Row, missing: number): void {
    this.#missing[this.#at(op, row)] = missing;
    if (missing > 0) this.#unready[op] = (this.#unready[op] as number) + 1;
    const pending = this.#pending[op];
    if (pending) pending.push(row);
    else this.#pending[op] = [row];
    this.#touched.push(op);
  }

  /** One more input of an op is settled for a row. */
  inputSettled(op: OpId, row: Row): void {
    const at = this.#at(op, row);
    if (this.#state[at] !== WANTED) return;
    const missing = (this.#missing[at] as number) - 1;
    this.#missing[at] = missing;
    if (missing > 0) return;
    this.#unready[op] = (this.#unready[op] as number) - 1;
    this.#touched.push(op);
  }

  /**
   * Takes an op whose rows are all ready, with the rows in their order; undefined when there is
   * none.
   */
  next(): { readonly op: PlanOp; readonly rows: readonly Row[] } | undefined {
    for (let id = this.#touched.pop(); id !== undefined; id = this.#touched.pop()) {
      const rows = this.#pending[id];
      if (!rows || this.#unready[id] !== 0) continue;
      this.#pending[id] = undefined;
      for (const row of rows) this.#state[this.#at(id, row)] = STARTED;
      if (rows.length > 1) rows.sort((a, b) => a - b);
      return { op: this.plan.op(id), rows };
    }
    return undefined;
  }
}
