/** What happened while a query ran, for its explanation. */

/** Figures of one op. */
export interface OpFigures {
  rowsIn: number;
  rowsOut: number;
  ms: number;
  calls: number;
}

/** The record of a run. */
export class Trace {
  /** By op id. */
  readonly ops = new Map<number, OpFigures>();
  /** By cell, why the online store did not serve it. */
  readonly misses = new Map<number, string>();

  /** Adds a call of an op. */
  ran(op: number, rowsIn: number, rowsOut: number, ms: number): void {
    const known = this.ops.get(op) ?? { rowsIn: 0, rowsOut: 0, ms: 0, calls: 0 };
    known.rowsIn += rowsIn;
    known.rowsOut += rowsOut;
    known.ms += ms;
    known.calls++;
    this.ops.set(op, known);
  }
}
