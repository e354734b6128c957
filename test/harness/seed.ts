/**
 * Seeds and lengths of tests with random cases. A run that gates has one fixed seed, so that it
 * says the same of the same code. SVC_TEST_SEED gives another, or with `random` a new one for each
 * run; SVC_TEST_RUNS=1000000 makes long runs of the properties that a test file has. Long runs need
 * a long timeout:
 *
 *   SVC_TEST_SEED=random SVC_TEST_RUNS=1000000 bun test --timeout=36000000 ./test/domain
 */

const FIXED_SEED = 20_240_508;

const { SVC_TEST_SEED: given = String(FIXED_SEED), SVC_TEST_RUNS: wanted = "0" } = process.env;

/** The seed of this run, printed so that a failure can be had again. */
export const seed = given === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(given);
if (!Number.isSafeInteger(seed)) throw new Error(`SVC_TEST_SEED=${given} is no seed: give an integer, or random`);
console.log(`random cases: SVC_TEST_SEED=${seed}`);

/**
 * How many cases there are: `usual` ones, or as many as SVC_TEST_RUNS asks for, but no more than
 * `most`.
 */
export function runs(usual: number, most = Number.POSITIVE_INFINITY): number {
  return Math.max(usual, Math.min(Number(wanted) || 0, most));
}

/** The timeout of a test that has one of its own, in milliseconds; long runs have a day. */
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
