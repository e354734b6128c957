/** The pause of a loop between two looks, which whoever has news for it ends. */

import type { Clock } from "../../context/clock.ts";

/** The pause of one loop. */
export interface WakeablePause {
  /** Ends the pause; when none is under way, the next one is left out. */
  wake(): void;
  /** Says that the loop looks now: what woke it before is seen to. */
  look(): void;
  /** Pauses for at most so many milliseconds. Never rejects. */
  rest(ms: number): Promise<void>;
}

/** Makes the pause of a loop that ends with `stopping`. */
export function createWakeablePause(clock: Clock, stopping: AbortSignal): WakeablePause {
  let isWoken = false;
  let end: () => void = () => undefined;
  return {
    wake() {
      isWoken = true;
      end();
    },
    look() {
      isWoken = false;
    },
    async rest(ms) {
      if (isWoken) return;
      const sleep = new AbortController();
      end = () => sleep.abort();
      await clock.sleep(ms, AbortSignal.any([sleep.signal, stopping])).catch(() => undefined);
      end = () => undefined;
    },
  };
}
