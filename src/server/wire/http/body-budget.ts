/**
 * The limit on the bytes of request bodies that the server holds at one time, from reading a body
 * until its request is answered, over all endpoints. Long bodies leave part of the room to short
 * ones, so that bulk queries do not shut out single ones. A body for which there is no room waits
 * unread, so that its sender waits too; when many wait already it is refused.
 */

/**
 * Bytes that all requests may hold together: two bulk queries of the greatest length, and short
 * bodies.
 */
const CAPACITY = 96 * 1024 * 1024;
/** A body of more than this is long. */
const LONG_BYTES = 1024 * 1024;
/** Share of the room that long bodies may fill. */
const LONG_SHARE = 0.75;
/**
 * Most bodies that wait, and the longest wait of each. The runtime holds a megabyte or two of each.
 */
const MAX_WAITING = 16;
const MAX_WAIT_MS = 5_000;

/** The bytes that one request holds. */
export interface BodyShare {
  /**
   * Takes room for a body, after waiting for it if necessary; false when there was none in time,
   * and then nothing was taken.
   */
  take(bytes: number): boolean | Promise<boolean>;
  /** Gives all room back. */
  release(): void;
}

/** The room for bodies on a server. */
export interface BodyBudget {
  /** Bytes held now. */
  readonly held: number;
  /** A new share, which holds nothing yet. */
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
   * Whether there is room now. A long body has none while others wait; a short one does not queue
   * behind them.
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

  /** Gives bytes back, and hands the room to waiting bodies in their order. */
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
