/**
 * Debouncing: work on changes begins after a quiet time, so that any number of changes causes it
 * once.
 */

/** Quiet time after a change. */
const QUIET_MS = 150;

/** The work after the quiet time. */
export interface DebouncedWork {
  /** Reads the texts that are in memory. */
  readText(): void;
  /** Reads the disk, and then the texts. */
  readDisk(): Promise<void>;
  failed(error: unknown): void;
}

/** A debouncer. One piece of work runs at a time. */
export class Debouncer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #diskChanged = false;
  #working: Promise<void> = Promise.resolve();

  constructor(private readonly work: DebouncedWork) {}

  /** Begins the quiet time again. */
  schedule(changed: "text" | "disk"): void {
    this.#diskChanged ||= changed === "disk";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#working = this.#working.then(() => this.#run()).catch((error) => this.work.failed(error));
    }, QUIET_MS);
  }

  /** Drops the waiting work when it is to read the texts only, which the caller has done. */
  textIsRead(): void {
    if (!this.#diskChanged) clearTimeout(this.#timer);
  }

  /** Drops the work that waits; resolves when the work that runs is done. */
  stop(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#working;
  }

  async #run(): Promise<void> {
    if (!this.#diskChanged) return this.work.readText();
    this.#diskChanged = false;
    await this.work.readDisk();
  }
}
