/** Checkpoints that keep the online store's write-ahead log small. */

import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { Thread } from "../../thread/rpc.ts";
import type { CheckpointConnection } from "./checkpoint-worker.ts";

/** Cells written between two checkpoints: about 4 to 8 MB of log. */
const CELLS_PER_CHECKPOINT = 2_000;
/** Size of the log above which the writer itself truncates it. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
/** Size to which a larger log is truncated when it is reset. */
const USUAL_LOG_BYTES = 8 * 1024 * 1024;
/** Pages per checkpoint when there is no worker thread: few, so that each is short. */
const PAGES_WITHOUT_WORKER = 256;

/**
 * Runs checkpoints in a worker thread; the writer pauses meanwhile, so that the log can be reset to
 * its beginning.
 */
export class Checkpointer {
  private readonly thread: Thread<CheckpointConnection, string>;
  private cells = 0;
  private running = false;
  private unavailable = false;
  /** Whether the last checkpoint in the thread failed. */
  private failed = false;

  /** @param onDone called after each checkpoint */
  constructor(
    private readonly db: Database,
    private readonly path: string,
    private readonly onDone: () => void,
  ) {
    db.run("pragma wal_autocheckpoint = 0");
    db.run(`pragma journal_size_limit = ${USUAL_LOG_BYTES}`);
    this.thread = new Thread({
      entry: "stores/online/checkpoint-worker.ts",
      settings: path,
      onEnd: () => {
        this.doWithout();
        this.onDone();
      },
    });
    if (this.logBytes() > USUAL_LOG_BYTES) this.cells = CELLS_PER_CHECKPOINT;
  }

  /** Whether a checkpoint runs; the writer then waits, unless too much is pending. */
  get busy(): boolean {
    return this.running;
  }

  /** Counts written cells and starts a checkpoint when one is due. */
  wrote(cells: number): void {
    this.cells += cells;
    if (this.cells < CELLS_PER_CHECKPOINT || this.unavailable) return;
    if (this.running) {
      if (this.cells > CELLS_PER_CHECKPOINT * 4 && this.logBytes() > MAX_LOG_BYTES) this.truncate();
      return;
    }
    if (this.failed && this.logBytes() > MAX_LOG_BYTES) this.truncate();
    this.cells = 0;
    this.running = true;
    this.thread.call("checkpoint", []).then(
      () => this.ended(false),
      () => this.ended(true),
    );
  }

  /**
   * Truncates the log on the caller's thread. When that fails, the log stays as it is and the next
   * checkpoint tries again.
   */
  truncate(): void {
    this.cells = 0;
    try {
      this.db.run("pragma wal_checkpoint(truncate)");
    } catch {
      return;
    }
  }

  /** Truncates the log a last time and ends the thread. */
  close(): void {
    this.unavailable = true;
    this.thread.close().catch(() => undefined);
    this.truncate();
  }

  /** Handles the end of a checkpoint in the thread. */
  private ended(failed: boolean): void {
    if (this.unavailable) return;
    this.running = false;
    this.failed = failed;
    this.onDone();
  }

  private doWithout(): void {
    if (this.unavailable) return;
    this.unavailable = true;
    this.running = false;
    this.db.run(`pragma wal_autocheckpoint = ${PAGES_WITHOUT_WORKER}`);
  }

  private logBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
