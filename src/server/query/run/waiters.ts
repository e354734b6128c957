/** Cells that wait for something of a frame's row. */

import type { CellId, FrameId, Row } from "../plan/ids.ts";

/** Cells by the frame and the row that they wait for. */
export class Waiters {
  readonly #cells = new Map<number, CellId[]>();

  /** @param rows the number of rows of the run */
  constructor(readonly rows: number) {}

  add(frame: FrameId, row: Row, cell: CellId): void {
    const at = frame * this.rows + row;
    const cells = this.#cells.get(at);
    if (cells) cells.push(cell);
    else this.#cells.set(at, [cell]);
  }

  /** The cells that wait, which wait no longer. */
  take(frame: FrameId, row: Row): readonly CellId[] {
    const at = frame * this.rows + row;
    const cells = this.#cells.get(at);
    if (!cells) return NONE;
    this.#cells.delete(at);
    return cells;
  }
}

const NONE: readonly CellId[] = [];
