/**
 * The queue of values that are not in the file yet. They are written in small transactions, between
 * which queries are served.
 */

import type { Cell } from "./row-cache.ts";

const FLUSH_DELAY_MS = 5;
/** Cells per transaction: about half a millisecond. */
const CELLS_PER_WRITE = 64;
/** Cells per transaction when no more queries are served. */
const CELLS_PER_LAST_WRITE = 4_096;
/**
 * Estimated bytes at which a transaction is full: rows of relations are much larger than values.
 */
const BYTES_PER_WRITE = 128 * 1024;
/** Pause after a failed write, for example on a full disk. */
const RETRY_DELAY_MS = 1_000;

/** Options of a queue. */
export interface WriteQueueOptions {
  /** Number of pending cells above which `isFull`. */
  readonly maxPending: number;
  /** Writes cells in one transaction. Throws when that fails. */
  readonly write: (cells: readonly Cell[], bytes: number) => void;
  /**
   * Whether writing should wait, for example for a checkpoint; ignored when half of `maxPending` is
   * reached.
   */
  readonly isHeld: () => boolean;
  /** Called for the first of consecutive failed writes. */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

/** The queue. It holds a cell at most once, and writes the value that the cell has then. */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  /** In the order in which they were added. */
  readonly #cells = new Set<Cell>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn: ReturnType<typeof setImmediate> | undefined;
  #failure: Error | undefined;
  #dropped = 0;
  #isStopped = false;
  #isSuspended = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Number of pending cells. */
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

  /** Whether nothing is written for now. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Number of cells dropped since the start. */
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

  /** The matching cells. */
  listed(matches: (cell: Cell) => boolean): Cell[] {
    return [...this.#cells].filter(matches);
  }

  /** Removes the matching cells; returns them. */
  removeWhere(matches: (cell: Cell) => boolean): Cell[] {
    const removed = this.listed(matches);
    for (const cell of removed) this.remove(cell);
    return removed;
  }

  /** Drops and counts all pending cells; returns them. */
  drop(): Cell[] {
    this.#dropped += this.#cells.size;
    return this.removeWhere(() => true);
  }

  /** Writes nothing until `resume`; cells are still taken. */
  suspend(): void {
    this.#isSuspended = true;
    this.#clear();
  }

  /** Writes again. */
  resume(): void {
    this.#isSuspended = false;
    this.schedule();
  }

  /** Schedules a write of the pending cells. */
  schedule(): void {
    if (this.#cells.size === 0 || this.#timer || this.#turn || this.#isStopped || this.#isSuspended) return;
    const delay = this.#failure ? RETRY_DELAY_MS : FLUSH_DELAY_MS;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeTurn();
    }, delay);
    this.#timer.unref();
  }

  /**
   * Writes up to `limit` cells in one transaction; returns their number, 0 when that failed, none
   * is pending or writing is suspended.
   */
  writeSome(limit = CELLS_PER_WRITE): number {
    if (this.#isSuspended) return 0;
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

  /** Writes all pending cells at once; those that cannot be written stay. */
  writeAll(): void {
    while (this.writeSome(CELLS_PER_LAST_WRITE) > 0);
  }

  /**
   * Writes the cells pending at the call, between queries. Rejects when a part could not be written
   * or was dropped.
   */
  async flush(): Promise<void> {
    const dropped = this.#dropped;
    for (let left = this.#cells.size; left > 0 && this.#cells.size > 0; await nextTurn()) {
      const written = this.writeSome();
      if (written === 0) throw this.#failure ?? new Error(this.#isSuspended ? "persistence is suspended" : "the store was closed");
      left -= written;
    }
    if (this.#dropped > dropped) throw new Error("values were dropped before they could be written");
  }

  /** Stops scheduled writes. */
  stop(): void {
    this.#isStopped = true;
    this.#clear();
  }

  #clear(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#timer = undefined;
    this.#turn = undefined;
  }

  /** Writes one transaction, then lets the event loop serve queries before the next. */
  #writeTurn(): void {
    this.#turn = undefined;
    if (this.#isStopped || (this.#options.isHeld() && this.#cells.size < this.#options.maxPending / 2)) return;
    if (this.writeSome() > 0 && this.#cells.size > 0) this.#turn = setImmediate(() => this.#writeTurn());
    else this.schedule();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
