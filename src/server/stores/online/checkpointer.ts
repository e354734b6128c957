/** Keeps the write-ahead log of the online store small. */

import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { workerEntry } from "../../thread/worker-entry.ts";
import type { CheckpointRequest } from "./checkpoint-worker.ts";

/** Written cells between two checkpoints: about 4 to 8 MB of log. */
const CELLS_PER_CHECKPOINT = 2_000;
/** Size of the log at which the writer itself stops and empties it. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
/** Size to which a log that has grown beyond is cut when it starts over. */
const USUAL_LOG_BYTES = 8 * 1024 * 1024;
/** Pages per checkpoint when no worker thread can be had: few, so that each is short. */
const PAGES_WITHOUT_WORKER = 256;

/** Checkpoints in a worker thread; the writer pauses meanwhile, so that the log can start over at its beginning. */
export class Checkpointer {
  private worker: Worker | undefined;
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
    if (this.logBytes() > USUAL_LOG_BYTES) this.cells = CELLS_PER_CHECKPOINT;
  }

  /** Whether a checkpoint runs: the writer then waits, unless it has too much to write. */
  get busy(): boolean {
    return this.running;
  }

  /** Counts written cells and starts a checkpoint when it is time. */
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
    try {
      this.worker ??= this.start();
      this.ask({ path: this.path });
    } catch {
      this.doWithout();
    }
  }

  /** Empties the log on the caller's thread. When the disk does not take it, the log stays as it is and the next checkpoint tries again. */
  truncate(): void {
    this.cells = 0;
    try {
      this.db.run("pragma wal_checkpoint(truncate)");
    } catch {
      return;
    }
  }

  /** Empties the log for the last time and ends the worker thread. */
  close(): void {
    this.unavailable = true;
    this.ask({ close: true });
    this.worker = undefined;
    this.truncate();
  }

  private ask(request: CheckpointRequest): void {
    this.worker?.postMessage(request);
  }

  private start(): Worker {
    const worker = new Worker(workerEntry("stores/online/checkpoint-worker.ts"), { smol: true, ref: false });
    worker.onmessage = ({ data }: MessageEvent<{ readonly failed: boolean }>) => {
      this.running = false;
      this.failed = data.failed;
      this.onDone();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.doWithout();
      this.onDone();
    };
    return worker;
  }

  private doWithout(): void {
    if (this.unavailable) return;
    this.unavailable = true;
    this.worker?.terminate();
    this.worker = undefined;
    this.running = false;
    this.db.run(`pragma wal_autocheckpoint = ${PAGES_WITHOUT_WORKER}`);
  }

  private logBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
