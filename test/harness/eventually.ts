/** Waiting for effects of another process, thread or timer. */

/**
 * Longest wait in milliseconds. It turns a hang into a failure that names the missing condition; no
 * test asserts how soon a condition holds.
 */
const PATIENCE_MS = 180_000;
/** Shortest and longest pause between two looks; a pause is this share of what was waited. */
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 25;
const PAUSE_SHARE = 0.05;

/**
 * Waits until a condition holds. Rejects with `what`, the condition's name, when it does not hold
 * in time.
 */
export async function eventually(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    const waited = performance.now() - begun;
    if (waited > PATIENCE_MS) throw new Error(`did not happen: ${what}`);
    await Bun.sleep(Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, waited * PAUSE_SHARE)));
  }
}

/**
 * Whether a promise is still unsettled after everything that was ready in this process has run. It
 * shows that work is blocked, without a delay.
 */
export async function isPending(work: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const settled = () => {
    pending = false;
  };
  work.then(settled, settled);
  await turn();
  return pending;
}

/** Runs everything that is ready in this process: promises, and two rounds of the event loop. */
export async function turn(): Promise<void> {
  for (let round = 0; round < 2; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
