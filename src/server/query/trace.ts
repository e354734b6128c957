/** What happened while a query ran, for its explanation. */

import type { Cells } from "./cells.ts";
import type { PlanOp } from "./plan.ts";

/** Figures of one op. */
export interface OpFigures {
  rowsIn: number;
  rowsOut: number;
  ms: number;
  calls: number;
}

/** The record of a run. */
export class Trace {
  readonly ops = new Map<PlanOp, OpFigures>();
  readonly #misses = new WeakMap<Cells, Map<number, string>>();

  /** Keeps why the online store did not serve a cell. */
  missed(cells: Cells, cell: number, reason: string): void {
    const known = this.#misses.get(cells);
    if (known) known.set(cell, reason);
    else this.#misses.set(cells, new Map([[cell, reason]]));
  }

  /** Why the online store did not serve a cell. */
  miss(cells: Cells, cell: number): string | undefined {
    return this.#misses.get(cells)?.get(cell);
  }

  /** Adds a call of an op. */
  ran(op: PlanOp, rowsIn: number, rowsOut: number, ms: number): void {
    const known = this.ops.get(op) ?? { rowsIn: 0, rowsOut: 0, ms: 0, calls: 0 };
    known.rowsIn += rowsIn;
    known.rowsOut += rowsOut;
    known.ms += ms;
    known.calls++;
    this.ops.set(op, known);
  }
}
