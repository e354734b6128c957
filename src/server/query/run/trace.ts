/** The record of a run, for its explanation. */

import type { CellId } from "../plan/ids.ts";
import type { PlanOp } from "../plan/plan.ts";
import type { Cells } from "./cells.ts";

/** Figures of one op. */
export interface OpFigures {
  rowsIn: number;
  rowsOut: number;
  ms: number;
  calls: number;
  /** Rows of a translated resolver that Python had to compute. */
  fellBack: number;
}

/** The record of a run. */
export class Trace {
  readonly ops = new Map<PlanOp, OpFigures>();
  /** The tests, as text, that the database was asked to apply to the rows of an op. */
  readonly tests = new Map<PlanOp, string>();
  readonly #misses = new Map<Cells, Map<CellId, string>>();

  /** Records the reason why the online store did not serve a cell. */
  missed(cells: Cells, cell: CellId, reason: string): void {
    const known = this.#misses.get(cells);
    if (known) known.set(cell, reason);
    else this.#misses.set(cells, new Map([[cell, reason]]));
  }

  /** The reason why the online store did not serve a cell. */
  miss(cells: Cells, cell: CellId): string | undefined {
    return this.#misses.get(cells)?.get(cell);
  }

  /** Records the test that a database was asked to apply. */
  recordTest(op: PlanOp, test: string): void {
    this.tests.set(op, test);
  }

  /** Adds a call of an op. */
  ran(op: PlanOp, rowsIn: number, rowsOut: number, ms: number): void {
    const known = this.#figures(op);
    known.rowsIn += rowsIn;
    known.rowsOut += rowsOut;
    known.ms += ms;
    known.calls++;
  }

  /** Adds rows of a translated resolver that Python has to compute. */
  fellBack(op: PlanOp, rows: number): void {
    this.#figures(op).fellBack += rows;
  }

  #figures(op: PlanOp): OpFigures {
    const known = this.ops.get(op) ?? { rowsIn: 0, rowsOut: 0, ms: 0, calls: 0, fellBack: 0 };
    this.ops.set(op, known);
    return known;
  }
}
