import { TestClock } from "./running-server.ts";

/**
 * A clock that stands until the test moves it, which ends the sleeps of a second and more that are
 * over.
 */
export class StandingClock extends TestClock {
  #now = Date.now();
  #sleepers: { readonly until: number; readonly wake: () => void }[] = [];

  override now(): number {
    return this.#now;
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 1_000) return super.sleep(ms, signal);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      this.#sleepers.push({ until: this.#now + ms, wake: resolve });
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  }

  moveTo(now: number): void {
    this.#now = now;
    const over = this.#sleepers.filter(({ until }) => until <= now);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > now);
    for (const { wake } of over) wake();
  }
}
