/**
 * Deadlines of callers: how long a caller waits for an answer, which the plain HTTP doors take by
 * the header that Connect has for it.
 */

import { deadlinePassed, Failure } from "../../failure.ts";

/**
 * Milliseconds that a caller waits, from the moment that the request arrives: at most ten digits.
 */
export const TIMEOUT_HEADER = "connect-timeout-ms";

/** The time of a caller. */
export interface Deadline {
  /** Ends with the caller's connection, or with a Failure deadline_exceeded when the time is up. */
  readonly signal: AbortSignal;
  /** Stops waiting. */
  clear(): void;
}

/**
 * The deadline of a request that begins to count now. Throws Failure invalid_argument when its
 * header is no number of milliseconds.
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

/** Longest time that a timer takes; a longer one would ring at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
