/** Retention of the audit log, by age and by count. */

import type { Clock } from "../../context/clock.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { Log } from "../log.ts";
import type { AuditStore } from "../stores/metadata/audit.ts";
import { hex } from "./audit-log.ts";

/** Milliseconds that a row is kept. */
export const AUDIT_KEPT_MS = 400 * 86_400_000;
/** Most rows that are kept. */
export const MOST_AUDIT_ROWS = 1_000_000;
/** Most rows that are removed in one step: other writes wait for it. */
const BATCH = 1_000;

/**
 * The recurring job that removes old rows. It also writes the chain's head to the server's log:
 * whoever changes rows and all hashes after them cannot change what was logged elsewhere.
 */
export function auditRetention({
  store,
  clock,
  log,
}: {
  readonly store: AuditStore;
  readonly clock: Clock;
  readonly log: Log;
}): RecurringJob {
  return {
    kind: "purge-audit",
    schedule: "1h",
    async run(signal) {
      const before = clock.now() - AUDIT_KEPT_MS;
      while ((await store.prune({ before, most: MOST_AUDIT_ROWS, limit: BATCH })) > 0) signal.throwIfAborted();
      const { head } = await store.chain();
      log.info("audit log", { row: head.seq, hash: hex(head.hash) });
    },
  };
}
