/**
 * Deadlines of callers: the time that a caller waits for an answer, which plain HTTP endpoints take
 * from Connect's header for it.
 */

import { deadlinePassed, Failure } from "../../failure.ts";

/**
 * Header with the milliseconds that a caller waits from the moment that the request arrives; at
 * most ten digits.
 */
export const TIMEOUT_HEADER = "connect-timeout-ms";

/** The deadline of a caller. */
export interface Deadline {
  /**
   * Aborted when the caller's connection ends, or with a Failure deadline_exceeded when the time is
   * up.
   */
  readonly signal: AbortSignal;
  /** Stops the timer. */
  clear(): void;
}

/**
 * The deadline of a request, counted from now. Throws Failure invalid_argument when its header is
 * not a number of milliseconds.
 */
export function deadlineOf({ headers, signal }: Request): Deadline {
  const given = headers.get(TIMEOUT_HEADER);
  if (given === null) return { signal, clear: () => undefined };
  if (!/^\d{1,10}$/.test(given))
    throw new Failure("invalid_argument", `${TIMEOUT_HEADER} is a number of milliseconds of at most ten digits.`);
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(deadlinePassed()), Math.min(Number(given), MAX_TIMER_MS));
  return { signal: AbortSignal.any([signal, controller.signal]), clear: () => clearTimeout(timer) };
}

/** Longest time that a timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
