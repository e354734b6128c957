/**
 * Sealing anew: what an older key sealed is sealed with the server's first key, so that the older
 * key can be removed.
 */

import type { RecurringJob } from "../jobs/recurring.ts";

/** A keeper of sealed values. */
export interface Resealing {
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
}

/**
 * The job that seals anew what a keeper has, hourly: while nodes are given a new key one after the
 * other, those without it still seal with the old one.
 */
export function resealingOf(kept: "approvals" | "connections" | "webhooks", keeper: () => Promise<Resealing>): RecurringJob {
  return {
    kind: `reseal-${kept}`,
    schedule: "1h",
    run: async (signal) => {
      await (await keeper()).reseal(signal);
    },
  };
}
