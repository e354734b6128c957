/**
 * Records that are gathered for the thread that writes them: sent in batches, within bounds of what
 * waits on either thread. What there is no room for, or cannot be written, is dropped and counted.
 */

/** The bounds of what is gathered, and what becomes of it. */
export interface GatheringOptions<B> {
  /** Records that may wait to be written. */
  readonly maxPending: number;
  /** Approximate bytes of records that may wait. */
  readonly maxPendingBytes: number;
  /** Factor by which both are higher for urgent records. */
  readonly urgentRoom: number;
  /** Milliseconds that a record waits for others. */
  readonly gatherMs: number;
  /** Records, and approximate bytes, with which a batch is full. */
  readonly batchRecords: number;
  readonly batchBytes: number;
  /** What was gathered, as a batch; the next one begins. */
  readonly take: () => B;
  readonly write: (batch: B) => Promise<unknown>;
  /** Called with a batch that could not be written. */
  readonly onLost?: (batch: B) => void;
  /** Called for the first of consecutive failed writes. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called with the number of records dropped so far, at most once a second while it grows. */
  readonly onDrop?: ((dropped: number) => void) | undefined;
}

const NOTICE_MS = 1_000;

/** Counts what waits, and sends it. Who adds a record asks `admit` first. */
export class Gathering<B> {
  readonly #options: GatheringOptions<B>;
  #pendingRecords = 0;
  #pendingBytes = 0;
  #records = 0;
  #bytes = 0;
  #dropped = 0;
  #isFailing = false;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #sending: ReturnType<typeof setImmediate> | undefined;
  #noticing: ReturnType<typeof setTimeout> | undefined;
  #written = Promise.resolve();

  constructor(options: GatheringOptions<B>) {
    this.#options = options;
  }

  /** Records that are not written yet. */
  get pendingRecords(): number {
    return this.#pendingRecords;
  }

  /** Their approximate bytes. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Records that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether a record would be admitted. */
  hasRoom(isUrgent: boolean): boolean {
    const { maxPending, maxPendingBytes, urgentRoom } = this.#options;
    const share = isUrgent ? urgentRoom : 1;
    return this.#pendingRecords < maxPending * share && this.#pendingBytes < maxPendingBytes * share;
  }

  /**
   * Admits records that are added in the same turn, and has them sent: after this turn's answers
   * when the batch is full, else after a while. False when there is no room, and they are dropped.
   */
  admit(records: number, bytes: number, isUrgent: boolean): boolean {
    if (!this.hasRoom(isUrgent)) {
      this.#drop(records);
      return false;
    }
    this.#pendingRecords += records;
    this.#pendingBytes += bytes;
    this.#records += records;
    this.#bytes += bytes;
    const { batchBytes, batchRecords, gatherMs } = this.#options;
    if (this.#records >= batchRecords || this.#bytes >= batchBytes) this.#sending ??= setImmediate(this.send);
    else this.#waiting ??= setTimeout(this.send, gatherMs);
    return true;
  }

  /**
   * Sends what was gathered. Resolves when everything sent so far is written or dropped: the thread
   * answers in order.
   */
  readonly send = (): Promise<void> => {
    clearTimeout(this.#waiting);
    clearImmediate(this.#sending);
    this.#waiting = undefined;
    this.#sending = undefined;
    if (this.#records === 0) return this.#written;
    this.#written = this.#write(this.#options.take(), this.#records, this.#bytes);
    this.#records = 0;
    this.#bytes = 0;
    return this.#written;
  };

  /** Says what was dropped and not said yet. */
  readonly notice = (): void => {
    if (this.#noticing === undefined) return;
    clearTimeout(this.#noticing);
    this.#noticing = undefined;
    this.#options.onDrop?.(this.#dropped);
  };

  async #write(batch: B, records: number, bytes: number): Promise<void> {
    try {
      await this.#options.write(batch);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.onError?.(error);
      this.#isFailing = true;
      this.#drop(records);
      this.#options.onLost?.(batch);
    }
    this.#pendingRecords -= records;
    this.#pendingBytes -= bytes;
  }

  #drop(records: number): void {
    this.#dropped += records;
    this.#noticing ??= setTimeout(this.notice, NOTICE_MS);
  }
}
