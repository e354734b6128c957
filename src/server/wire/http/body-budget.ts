/**
 * How many bytes of request bodies the server holds at one time: of those that are read and those
 * whose requests are not answered yet, whichever door they came through. Long bodies leave a part
 * of the room to short ones, so that bulk queries do not shut out single ones. A body for which
 * there is no room waits a while, unread, so that its sender waits too; when many wait already it
 * is refused.
 */

/**
 * Bytes that all requests may hold together: two bulk queries of the longest kind, and room for
 * short bodies.
 */
const CAPACITY = 96 * 1024 * 1024;
/** A body of more than this is long. */
const LONG_BYTES = 1024 * 1024;
/** Share of the room that long bodies may fill. */
const LONG_SHARE = 0.75;
/** Bodies that may wait, and how long each. The runtime holds a megabyte or two of every one. */
const MAX_WAITING = 16;
const MAX_WAIT_MS = 5_000;

/** What one request holds. */
export interface BodyShare {
  /**
   * Takes room for a body, when there is some within the time that it may wait; false when not, and
   * then nothing was taken.
   */
  take(bytes: number): boolean | Promise<boolean>;
  /** Gives all of it back. */
  release(): void;
}

/** The room of a server. */
export interface BodyBudget {
  /** Bytes held now. */
  readonly held: number;
  /** The share of a request, empty to begin with. */
  share(): BodyShare;
}

/** Makes the budget of a server. */
export function createBodyBudget(capacity = CAPACITY, maxWaitMs = MAX_WAIT_MS): BodyBudget {
  return new Budget(capacity, maxWaitMs);
}

interface Waiting {
  readonly share: Share;
  readonly bytes: number;
  readonly settle: (taken: boolean) => void;
}

class Budget implements BodyBudget {
  held = 0;
  #waiting: Waiting[] = [];

  constructor(
    readonly capacity: number,
    readonly maxWaitMs: number,
  ) {}

  share(): BodyShare {
    return new Share(this);
  }

  /**
   * Whether there is room that nobody waits for; short bodies wait for none that long ones want.
   */
  hasRoom(bytes: number): boolean {
    const isLong = bytes > LONG_BYTES;
    if (isLong && this.#waiting.length > 0) return false;
    return this.#fits(bytes);
  }

  wait(share: Share, bytes: number): false | Promise<boolean> {
    if (this.#waiting.length >= MAX_WAITING || bytes > this.#room(bytes)) return false;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        share,
        bytes,
        settle: (taken) => {
          clearTimeout(timer);
          this.#waiting = this.#waiting.filter((other) => other !== waiting);
          resolve(taken);
        },
      };
      const timer = setTimeout(() => waiting.settle(false), this.maxWaitMs);
      this.#waiting.push(waiting);
    });
  }

  /** Gives bytes back, and room to those who wait for it, in their order. */
  giveBack(bytes: number): void {
    this.held -= bytes;
    for (let [next] = this.#waiting; next && this.#fits(next.bytes); [next] = this.#waiting) {
      next.share.hold(next.bytes);
      next.settle(true);
    }
  }

  #room(bytes: number): number {
    return bytes > LONG_BYTES ? this.capacity * LONG_SHARE : this.capacity;
  }

  #fits(bytes: number): boolean {
    return this.held + bytes <= this.#room(bytes);
  }
}

class Share implements BodyShare {
  #held = 0;

  constructor(readonly budget: Budget) {}

  take(bytes: number): boolean | Promise<boolean> {
    if (!this.budget.hasRoom(bytes)) return this.budget.wait(this, bytes);
    this.hold(bytes);
    return true;
  }

  hold(bytes: number): void {
    this.budget.held += bytes;
    this.#held += bytes;
  }

  release(): void {
    const held = this.#held;
    this.#held = 0;
    if (held > 0) this.budget.giveBack(held);
  }
}
