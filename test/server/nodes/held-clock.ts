import { TestClock } from "../../harness/running-server.ts";

/** Sleeps that are at least this long are held: those between periodic work, and timeouts. */
const HELD_MS = 10_000;

/** The system's clock, whose long sleeps end when the test says so. */
export class HeldClock extends TestClock {
  #held: (() => void)[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < HELD_MS) return super.sleep(ms, signal);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      this.#held.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  }

  /** Ends the sleeps that are held now. */
  release(): void {
    for (const end of this.#held.splice(0)) end();
  }
}
