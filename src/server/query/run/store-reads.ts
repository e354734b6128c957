/**
 * The reads of the online store that a run has to do: the values of a frame together, and the rows
 * of a has-many relation together.
 */

import type { StoredValue } from "../../stores/online/store.ts";
import type { CellId } from "../plan/ids.ts";
import type { PlanFrame, PlanSlot } from "../plan/plan.ts";
import type { StoredRowsRead } from "./stored-rows.ts";

/** One read. */
export interface StoreRead {
  readonly frame: PlanFrame;
  /** The slot that stands for the rows of a has-many relation; undefined = values are read. */
  readonly rowsSlot: PlanSlot | undefined;
  /** The cells that it is for; their rows' keys are known. */
  readonly cells: CellId[];
}

/** The result of a read: for each cell the value, if it serves; or the rows. */
export type StoreFound = readonly (StoredValue | undefined)[] | StoredRowsRead;

/** Gathers reads. */
export class StoreReads {
  readonly #reads = new Map<PlanFrame | PlanSlot, StoreRead>();

  add(slot: PlanSlot, frame: PlanFrame, cell: CellId): void {
    const rowsSlot = slot.feature.rowsOf ? slot : undefined;
    const read = this.#reads.get(rowsSlot ?? frame);
    if (read) read.cells.push(cell);
    else this.#reads.set(rowsSlot ?? frame, { frame, rowsSlot, cells: [cell] });
  }

  /** The reads gathered, which are gathered no longer. */
  take(): readonly StoreRead[] {
    if (this.#reads.size === 0) return [];
    const reads = [...this.#reads.values()];
    this.#reads.clear();
    return reads;
  }
}
