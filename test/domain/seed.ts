/** Seeds of property tests: chosen anew for each run and printed, so that a failure can be had again with SVC_TEST_SEED. */

const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
let said = false;

/** Parameters of `fc.assert`. */
export function seeded(numRuns: number): { seed: number; numRuns: number } {
  if (!said) console.log(`property tests: SVC_TEST_SEED=${seed}`);
  said = true;
  return { seed, numRuns };
}
