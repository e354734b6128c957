/** The wait before a failed attempt is repeated. */

const FIRST_MS = 1_000;
const LONGEST_MS = 300_000;

/**
 * Milliseconds to wait after a number of attempts (from 1): exponential with full jitter, so that
 * jobs that failed together do not come back together. Source of the rule: Amazon, "Exponential
 * Backoff And Jitter".
 * @param random uniform in [0, 1)
 */
export function backoffMs(attempts: number, random: () => number = Math.random): number {
  return Math.round(random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempts - 1)));
}
