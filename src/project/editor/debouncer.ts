/** Catching up with changes after a quiet time, so that any number of them is one. */

/** Quiet time after a change. */
const QUIET_MS = 150;

/** What is done then. */
export interface DebouncedWork {
  /** Reads the texts that are at hand. */
  readText(): void;
  /** Reads the disk, and then the texts. */
  readDisk(): Promise<void>;
  failed(error: unknown): void;
}

/** Waits and works; never two at once. */
export class Debouncer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #diskChanged = false;
  #working: Promise<void> = Promise.resolve();

  constructor(private readonly work: DebouncedWork) {}

  /** Begins the quiet time anew. */
  schedule(changed: "text" | "disk"): void {
    this.#diskChanged ||= changed === "disk";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#working = this.#working.then(() => this.#run()).catch((error) => this.work.failed(error));
    }, QUIET_MS);
  }

  /** The texts were read meanwhile. */
  textIsRead(): void {
    if (!this.#diskChanged) clearTimeout(this.#timer);
  }

  /** Gives up what waits, and resolves when what runs is done. */
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
