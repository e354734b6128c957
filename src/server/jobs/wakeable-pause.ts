/** A pause of a polling loop that notifications can end early. */

import type { Clock } from "../../context/clock.ts";

/** The pause of one loop. */
export interface WakeablePause {
  /** Ends the current pause; when there is none, the next one is skipped. */
  wake(): void;
  /** Forgets earlier calls of `wake`; to be called before the loop polls. */
  clear(): void;
  /** Pauses for at most `ms` milliseconds. Never rejects. */
  sleep(ms: number): Promise<void>;
}

/** Makes the pause of a loop that stops when `stopping` is aborted. */
export function createWakeablePause(clock: Clock, stopping: AbortSignal): WakeablePause {
  let isWoken = false;
  let end: () => void = () => undefined;
  return {
    wake() {
      isWoken = true;
      end();
    },
    clear() {
      isWoken = false;
    },
    async sleep(ms) {
      if (isWoken) return;
      const over = new AbortController();
      end = () => over.abort();
      await clock.sleep(ms, AbortSignal.any([over.signal, stopping])).catch(() => undefined);
      end = () => undefined;
    },
  };
}
