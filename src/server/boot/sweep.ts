/** Repeated work while a server runs, such as removing expired values. */

import type { Clock } from "../../context/clock.ts";

/** Options of a sweep. */
export interface SweepOptions {
  /** Milliseconds from the end of one run to the beginning of the next. */
  readonly everyMs: number;
  /** Milliseconds before the first run; default: `everyMs`. */
  readonly firstMs?: number;
  readonly clock: Clock;
  /** Called when a run failed; the next one follows nevertheless. */
  readonly onError: (error: unknown) => void;
}

/** A repeated sweep. */
export interface Sweep {
  /**
   * Starts no further run and aborts the signal of the current one; resolves when that has ended.
   */
  stop(): Promise<void>;
}

/**
 * Starts a sweep, which calls `run` repeatedly, first after `firstMs`.
 * @param run given a signal that is aborted when the sweep stops
 */
export function startSweep(
  run: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, firstMs = everyMs, clock, onError }: SweepOptions,
): Sweep {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async (): Promise<void> => {
    for (let pauseMs = firstMs; ; pauseMs = everyMs) {
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await run(signal).catch(onError);
    }
  };
  const ended = repeat();
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
