/**
 * Seeds and lengths of tests with random cases. The gating run has one fixed seed, so that it gives
 * the same result for the same code. SVC_TEST_SEED gives another, or with `random` a new one for
 * each run; SVC_TEST_RUNS=1000000 sets the number of cases of each property in a test file. Long
 * runs need a long timeout:
 *
 *   SVC_TEST_SEED=random SVC_TEST_RUNS=1000000 bun test --timeout=36000000 ./test/domain
 */

const FIXED_SEED = 20_240_508;

const { SVC_TEST_SEED: given = String(FIXED_SEED), SVC_TEST_RUNS: wanted = "0" } = process.env;

/** The seed of this run, printed so that a failure can be reproduced. */
export const seed = given === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(given);
if (!Number.isSafeInteger(seed)) throw new Error(`SVC_TEST_SEED=${given} is no seed: give an integer, or random`);
console.log(`random cases: SVC_TEST_SEED=${seed}`);

/** The number of cases: `usual`, or the number that SVC_TEST_RUNS asks for, but at most `most`. */
export function runs(usual: number, most = Number.POSITIVE_INFINITY): number {
  return Math.max(usual, Math.min(Number(wanted) || 0, most));
}

/** The timeout in milliseconds of a test that sets its own; long runs have a day. */
export function patience(usualMs: number): number {
  return Number(wanted) > 0 ? 86_400_000 : usualMs;
}

/**
 * Parameters of `fc.assert`. `most` bounds the long runs of a property whose cases are slow:
 * processes, databases.
 */
export function seeded(usual: number, most?: number): { seed: number; numRuns: number } {
  return { seed, numRuns: runs(usual, most) };
}
