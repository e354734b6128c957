/** What the platform removes from its metadata by age. */

import type { RecurringJob } from "../jobs/recurring.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Milliseconds that a job is kept after its end, for whoever wants to know how it went. */
const ENDED_JOBS_KEPT_MS = 30 * DAY_MS;
const PROGRESS_KEPT_MS = DAY_MS;
const GONE_NODES_KEPT_MS = DAY_MS;
/** Jobs that are removed in one step: other writes wait for it. */
const BATCH = 1_000;

/**
 * The jobs that remove: ended jobs, sessions and uploads that ended, rows of nodes that are gone,
 * and progress lines of deployments of days ago.
 */
export function retentionJobs(metadata: Pick<MetadataStore, "jobs" | "nodes" | "progress" | "purgeExpired">): readonly RecurringJob[] {
  return [
    {
      kind: "purge-jobs",
      schedule: "1h",
      async run(signal) {
        while ((await metadata.jobs.purge(ENDED_JOBS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
      },
    },
    {
      kind: "purge-expired",
      schedule: "1h",
      async run() {
        await metadata.purgeExpired();
        await metadata.progress.purge(PROGRESS_KEPT_MS);
        await metadata.nodes.purge(GONE_NODES_KEPT_MS);
      },
    },
  ];
}
