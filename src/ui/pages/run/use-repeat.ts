import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Seconds after which a query can be run again by itself; 0 = it is not. */
export const REPEATS = [0, 1, 5, 15, 60] as const;

/**
 * Runs something again, a while after it has ended, as long as the tab is seen. Nothing is run
 * before somebody has asked for it: `isBegun`.
 */
export function useRepeat(
  run: () => void,
  { isBegun, isRunning }: { readonly isBegun: boolean; readonly isRunning: boolean },
): Signal<number> {
  const seconds = useSignal(0);
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (seconds.value === 0 || !isBegun || isRunning) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") latest.current();
    }, seconds.value * 1_000);
    return () => clearInterval(timer);
  }, [seconds.value, isBegun, isRunning]);
  return seconds;
}
