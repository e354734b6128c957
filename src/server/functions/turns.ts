/** Turns of a function's calls on this node: at most as many run at once as it says. */

/** Why a call got no turn: too many wait already. */
export class NoTurn extends Error {
  override readonly name = "NoTurn";
}

/** Most calls of a function that wait for their turn. */
const MAX_WAITING = 100;

/** The turns of all functions. */
export class Turns {
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   * Waits for a turn, which the returned function gives back. Rejects with NoTurn, and with the
   * signal's reason.
   * @param limit 0 = there is a turn for everyone
   */
  async take(key: string, limit: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (limit === 0) return () => undefined;
    if ((this.#taken.get(key) ?? 0) >= limit) await this.#wait(key, signal);
    else this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    return () => this.#giveBack(key);
  }

  async #wait(key: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    if (waiting.size >= MAX_WAITING) throw new NoTurn(`${MAX_WAITING} calls wait for their turn already`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (): void => {
      if (waiting.delete(resolve)) reject(signal.reason);
    };
    waiting.add(resolve);
    signal.addEventListener("abort", end, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", end));
  }

  /** Hands a turn to who has waited longest. */
  #giveBack(key: string): void {
    const waiting = this.#waiting.get(key);
    const [next] = waiting ?? [];
    if (next && waiting) {
      waiting.delete(next);
      next();
    } else {
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left > 0) this.#taken.set(key, left);
      else this.#taken.delete(key);
    }
    if (waiting?.size === 0) this.#waiting.delete(key);
  }
}
