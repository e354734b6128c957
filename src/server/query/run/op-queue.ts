/**
 * The queue of ops: the rows for which each is wanted, and whether all their inputs are settled.
 */

import type { OpId, Row } from "../plan/ids.ts";
import { dependsOn } from "../plan/partitioned-ops.ts";
import type { Plan, PlanOp } from "../plan/plan.ts";

const IDLE = 0;
const WANTED = 1;
const STARTED = 2;

/** An op that begins, and the rows that it is wanted for. */
export interface StartedOp {
  readonly op: PlanOp;
  readonly rows: readonly Row[];
}

/**
 * The ops of a running query. An op starts when every row it is wanted for has its inputs; rows
 * wanted later make a second call. One that gathers its rows starts when nothing else can.
 */
export class OpQueue {
  readonly #state: Uint8Array;
  readonly #missing: Int32Array;
  readonly #unready: Int32Array;
  readonly #pending: (Row[] | undefined)[];
  readonly #touched: OpId[] = [];
  readonly #gathering = new Set<OpId>();

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
   * Takes an op whose rows are all ready and that gathers none; undefined when there is none.
   */
  next(): StartedOp | undefined {
    for (let id = this.#touched.pop(); id !== undefined; id = this.#touched.pop()) {
      if (this.plan.op(id).gathers) this.#gathering.add(id);
      else if (this.#isReady(id)) return this.#start(id);
    }
    return undefined;
  }

  /**
   * Takes an op that gathers its rows, one for which no other such op may bring more; undefined
   * when there is none. Nothing else of the query may be under way.
   */
  nextGathered(): StartedOp | undefined {
    const ready = [...this.#gathering].filter((id) => this.#isReady(id));
    const first = ready.find((id) => !ready.some((other) => other !== id && dependsOn(this.plan, id, other))) ?? ready[0];
    if (first === undefined) return undefined;
    this.#gathering.delete(first);
    return this.#start(first);
  }

  #isReady(id: OpId): boolean {
    return this.#pending[id] !== undefined && this.#unready[id] === 0;
  }

  /** The op with its rows in their order. */
  #start(id: OpId): StartedOp {
    const rows = this.#pending[id] ?? [];
    this.#pending[id] = undefined;
    for (const row of rows) this.#state[this.#at(id, row)] = STARTED;
    if (rows.length > 1) rows.sort((a, b) => a - b);
    return { op: this.plan.op(id), rows };
  }
}
