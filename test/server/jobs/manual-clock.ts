import type { Clock } from "../../../src/context/clock.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that stands until a test moves it; sleepers wake in the order of their times. */
export class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  #sleepers: Sleeper[] = [];

  now = (): number => this.#now;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper = { at: this.#now + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers = this.#sleepers.filter((other) => other.wake !== sleeper.wake);
        reject(signal.reason);
      });
    });
  }

  /**
   * Sets the clock, forward or back, as an administrator does. Sleepers keep their remaining time.
   */
  set(now: number): void {
    const by = now - this.#now;
    this.#now = now;
    this.#sleepers = this.#sleepers.map(({ at, wake }) => ({ at: at + by, wake }));
  }

  /** Lets time pass, and runs what that starts. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const next = this.#sleepers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      next.wake();
    }
    this.#now = end;
    await settled();
  }
}

/**
 * Runs started work until all of it waits for the clock; a write of the store takes a turn of the
 * event loop.
 */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
