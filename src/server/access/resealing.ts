/**
 * Sealing anew: what an older key sealed is sealed with the server's first key, so that the older
 * key can be removed.
 */

import type { RecurringJob } from "../jobs/recurring.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";

const ATTEMPT_TIMEOUT_MS = 600_000;

/** A keeper of sealed values. */
export interface Resealing {
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
}

/** What is kept sealed. */
export type Sealed = "approvals" | "connections" | "scaling-groups" | "secrets" | "webhooks";

const jobKind = (kept: Sealed): string => `reseal-${kept}`;

/**
 * The job that seals anew what a keeper has, hourly: while nodes are given a new key one after the
 * other, those without it still seal with the old one.
 */
export function resealingOf(kept: Sealed, keeper: () => Promise<Resealing>): RecurringJob {
  return {
    kind: jobKind(kept),
    schedule: "1h",
    run: async (signal) => {
      await (await keeper()).reseal(signal);
    },
  };
}

/** One run of that job now; nodes that ask for it at once run one at a time. */
export function resealNow(kept: Sealed, id: string): NewJob {
  const kind = jobKind(kept);
  return { id, kind, payload: null, group: { name: kind, slots: 1 }, maxAttempts: 3, attemptTimeoutMs: ATTEMPT_TIMEOUT_MS };
}
