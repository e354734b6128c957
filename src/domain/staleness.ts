/** Staleness: the age that a stored value may have, in milliseconds, or Infinity for any age. */

import { DURATION_GRAMMAR, parseDuration } from "./duration.ts";
import { NEVER_EXPIRES_SECONDS } from "./proto-time.ts";

/** The longest age but "any": that of a Duration of the contract, ten thousand years. */
const MAX_STALENESS_MS = Number(NEVER_EXPIRES_SECONDS) * 1000;

/** The accepted range, for messages. */
export const STALENESS_RANGE = `between 0 and ${MAX_STALENESS_MS / 86_400_000}d, or infinity for any age`;

/** Whether a number of milliseconds can be a staleness. */
export function isStaleness(ms: number): boolean {
  return (ms >= 0 && ms < MAX_STALENESS_MS) || ms === Number.POSITIVE_INFINITY;
}

/**
 * The staleness that a text states, in milliseconds; a description of what is accepted when it
 * states none.
 */
export function readStaleness(text: string): number | string {
  const ms = parseDuration(text);
  if (ms !== undefined) return isStaleness(ms) ? ms : `a duration ${STALENESS_RANGE}`;
  return DURATION_GRAMMAR;
}
