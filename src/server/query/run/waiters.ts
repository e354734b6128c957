/** Cells that wait for something of a frame's row, or for a condition. */

import type { CellId, FrameRow } from "../plan/ids.ts";

/**
 * What cells wait for. Of a frame's row: whether its join leads to a row, its key, and whether its
 * sources have the row. Of a cell that is the condition of an op: its value.
 */
export const Awaited = { JOIN: 0, KEY: 1, EXISTENCE: 2, CONDITION: 3 } as const;
export type Awaited = (typeof Awaited)[keyof typeof Awaited];

const KINDS = Object.keys(Awaited).length;

/** Cells by what they wait for. */
export class Waiters {
  /** Made for the first cell that waits: in most runs none does. */
  #cells: Map<number, CellId[]> | undefined;

  add(what: Awaited, of: FrameRow | CellId, cell: CellId): void {
    this.#cells ??= new Map();
    const at = of * KINDS + what;
    const cells = this.#cells.get(at);
    if (cells) cells.push(cell);
    else this.#cells.set(at, [cell]);
  }

  /** The cells that wait, which wait no longer. */
  take(what: Awaited, of: FrameRow | CellId): readonly CellId[] {
    const at = of * KINDS + what;
    const cells = this.#cells?.get(at);
    if (!cells) return NONE;
    this.#cells?.delete(at);
    return cells;
  }
}

const NONE: readonly CellId[] = [];
