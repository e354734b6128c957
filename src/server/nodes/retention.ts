/** Retention: the platform's removal of old rows from its metadata. */

import { DAY_MS } from "../../domain/day.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";

/** Milliseconds that a job is kept after its end, so that its outcome can be read. */
const ENDED_JOBS_KEPT_MS = 30 * DAY_MS;
const PROGRESS_KEPT_MS = DAY_MS;
const GONE_NODES_KEPT_MS = DAY_MS;
/** Milliseconds that ended processes and their events are kept. */
const PROCESSES_KEPT_MS = 90 * DAY_MS;
/** Milliseconds that runs of resolvers are kept after their end, with their idempotency keys. */
const RESOLVER_RUNS_KEPT_MS = 90 * DAY_MS;
/** Milliseconds that tasks are kept after their end. */
const TASKS_KEPT_MS = 90 * DAY_MS;
/** Milliseconds that runs of evaluations are kept after their end. */
const EVALUATION_RUNS_KEPT_MS = 365 * DAY_MS;
/** Milliseconds that calls of functions are kept after their end, and their results. */
const FUNCTION_CALLS_KEPT_MS = 30 * DAY_MS;
const FUNCTION_RESULTS_KEPT_MS = DAY_MS;
/** Milliseconds that builds of environments and images are kept after their end. */
const IMAGE_BUILDS_KEPT_MS = 90 * DAY_MS;
/** Most jobs that are removed in one step: other writes wait for it. */
const BATCH = 1_000;

/**
 * The recurring jobs that remove ended jobs, workflows, runs of resolvers and evaluations, calls of
 * functions, builds and tasks, expired sessions, uploads and deletions, rows of nodes that are
 * gone, and old progress lines of deployments.
 */
export function retentionJobs(
  metadata: Pick<
    MetadataStore,
    | "deletions"
    | "evaluations"
    | "functionCalls"
    | "imageBuilds"
    | "jobs"
    | "nodes"
    | "processes"
    | "progress"
    | "purgeExpired"
    | "resolverRuns"
    | "tasks"
    | "workflows"
  >,
  now: () => number,
): readonly RecurringJob[] {
  return [
    {
      kind: "purge-jobs",
      schedule: "1h",
      async run(signal) {
        while ((await metadata.jobs.purge(ENDED_JOBS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.workflows.purge(ENDED_JOBS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.resolverRuns.purge(RESOLVER_RUNS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.tasks.purge(TASKS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.functionCalls.forgetResults(FUNCTION_RESULTS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.functionCalls.purge(FUNCTION_CALLS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.imageBuilds.purge(IMAGE_BUILDS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
        while ((await metadata.evaluations.purge(EVALUATION_RUNS_KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
      },
    },
    {
      kind: "purge-expired",
      schedule: "1h",
      async run() {
        await metadata.purgeExpired();
        await metadata.deletions.purge(now());
        await metadata.progress.purge(PROGRESS_KEPT_MS);
        await metadata.nodes.purge(GONE_NODES_KEPT_MS);
        await metadata.processes.purge(now() - PROCESSES_KEPT_MS);
      },
    },
  ];
}
