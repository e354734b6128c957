/**
 * Sealing anew: what an older key sealed is sealed with the server's first key, so that the older
 * key can be removed.
 */

import type { RecurringJob } from "../jobs/recurring.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { SecretCapabilities } from "./create-secrets.ts";

const RESEAL_JOB = "reseal-secrets";
const ATTEMPT_TIMEOUT_MS = 600_000;

/**
 * The job that seals anew, hourly too: while nodes are given a new key one after the other, those
 * without it still seal with the old one.
 */
export function resealingJob(secrets: () => Promise<Pick<SecretCapabilities, "reseal">>): RecurringJob {
  return { kind: RESEAL_JOB, schedule: "1h", run: async (signal) => (await secrets()).reseal(signal) };
}

/** One run of that job now; nodes that ask for it at once run one at a time. */
export function resealNow(id: string): NewJob {
  return {
    id,
    kind: RESEAL_JOB,
    payload: null,
    group: { name: RESEAL_JOB, slots: 1 },
    maxAttempts: 3,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}
