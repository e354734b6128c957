import type { Clock } from "../../src/context/clock.ts";

/** Real time in which no sleep ends but by its signal: what is waited for has all the time it needs. */
export const patientClock: Clock = {
  now: () => Date.now(),
  sleep: (_, signal) =>
    new Promise((_resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
};
