/**
 * The values in memory that are not in the file yet. They are written in small transactions,
 * between which queries are served.
 */

import type { Cell } from "./row-cache.ts";

const FLUSH_DELAY_MS = 5;
/** Cells per transaction: about half a millisecond. */
const CELLS_PER_WRITE = 64;
/** Cells per transaction when nobody is served any more. */
const CELLS_PER_LAST_WRITE = 4_096;
/**
 * Estimated bytes after which a transaction takes no more cells: rows of relations are much larger
 * than values.
 */
const BYTES_PER_WRITE = 128 * 1024;
/** Pause after a failed write, for example on a full disk. */
const RETRY_DELAY_MS = 1_000;

/** Options of a queue. */
export interface WriteQueueOptions {
  /** Cells that may wait before `isFull`. */
  readonly maxPending: number;
  /** Writes cells in one transaction. Throws when the file refuses. */
  readonly write: (cells: readonly Cell[], bytes: number) => void;
  /** Whether the file is better left alone for a moment; asked unless much waits. */
  readonly isHeld: () => boolean;
  /** Told about a write that fails, once until one does not. */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

/** The queue. A cell stands in it once, with the value that it has when it is written. */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  /** In the order in which they came. */
  readonly #cells = new Set<Cell>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn: ReturnType<typeof setImmediate> | undefined;
  #failure: Error | undefined;
  #dropped = 0;
  #isStopped = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Cells that wait. */
  get size(): number {
    return this.#cells.size;
  }

  get isFull(): boolean {
    return this.#cells.size > this.#options.maxPending;
  }

  /** Whether the last write failed. */
  get isFailing(): boolean {
    return this.#failure !== undefined;
  }

  /** Cells that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  add(cell: Cell): void {
    if (cell.dirty) return;
    cell.dirty = true;
    cell.row.dirty++;
    this.#cells.add(cell);
  }

  remove(cell: Cell): void {
    if (!cell.dirty) return;
    cell.dirty = false;
    cell.row.dirty--;
    this.#cells.delete(cell);
  }

  /** Takes out the cells that match. */
  removeWhere(matches: (cell: Cell) => boolean): Cell[] {
    const removed = [...this.#cells].filter(matches);
    for (const cell of removed) this.remove(cell);
    return removed;
  }

  /** Drops everything that waits, and counts it; gives the cells. */
  drop(): Cell[] {
    this.#dropped += this.#cells.size;
    return this.removeWhere(() => true);
  }

  /** Has what waits written in a while. */
  schedule(): void {
    if (this.#cells.size === 0 || this.#timer || this.#turn || this.#isStopped) return;
    const delay = this.#failure ? RETRY_DELAY_MS : FLUSH_DELAY_MS;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeTurn();
    }, delay);
    this.#timer.unref();
  }

  /**
   * Writes up to `limit` cells in one transaction; gives how many, 0 when the file refused or none
   * waits.
   */
  writeSome(limit = CELLS_PER_WRITE): number {
    const batch: Cell[] = [];
    let bytes = 0;
    for (const cell of this.#cells) {
      bytes += cell.bytes;
      if (batch.push(cell) >= limit || bytes >= BYTES_PER_WRITE) break;
    }
    if (batch.length === 0) return 0;
    try {
      this.#options.write(batch, bytes);
    } catch (error) {
      const isFirst = this.#failure === undefined;
      this.#failure = error as Error;
      if (isFirst) this.#options.onFailure?.(this.#failure);
      return 0;
    }
    this.#failure = undefined;
    return batch.length;
  }

  /** Writes all that waits, at once; what the file refuses stays. */
  writeAll(): void {
    while (this.writeSome(CELLS_PER_LAST_WRITE) > 0);
  }

  /**
   * Writes what waits now, between queries. Rejects when the file refused a part, or that was
   * dropped meanwhile.
   */
  async flush(): Promise<void> {
    const dropped = this.#dropped;
    for (let left = this.#cells.size; left > 0 && this.#cells.size > 0; await nextTurn()) {
      const written = this.writeSome();
      if (written === 0) throw this.#failure ?? new Error("the store was closed");
      left -= written;
    }
    if (this.#dropped > dropped) throw new Error("values were dropped before they could be written");
  }

  /** Writes nothing more by itself. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#timer = undefined;
    this.#turn = undefined;
  }

  /** Writes a little, then lets the event loop serve queries before it goes on. */
  #writeTurn(): void {
    this.#turn = undefined;
    if (this.#isStopped || (this.#options.isHeld() && this.#cells.size < this.#options.maxPending / 2)) return;
    if (this.writeSome() > 0 && this.#cells.size > 0) this.#turn = setImmediate(() => this.#writeTurn());
    else this.schedule();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
