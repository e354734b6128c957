/** The jobs of an offline query: one reads its rows, then one for each shard, then one completes it. */

import type { NewJob } from "../stores/metadata/jobs.ts";
import type { NewOfflineQuery } from "../stores/metadata/offline-queries.ts";

/** The kind of the jobs. */
export const OFFLINE_QUERY_JOB = "async_offline_query";

const MAX_ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 6 * 3_600_000;
/** Shards of one query that are computed at once. */
const GATE = 4;

/** The payload of a job. */
export type QueryStep =
  | { readonly queryId: string; readonly step: "prepare" | "complete" }
  | { readonly queryId: string; readonly step: "shard"; readonly shard: number };

/** The jobs of a query, each after those that it waits for. */
export function queryJobs(query: Pick<NewOfflineQuery, "id" | "environmentId" | "request">): NewJob[] {
  const { id, environmentId, request } = query;
  const step = (name: string, index: number, payload: QueryStep, after: readonly string[]): NewJob => ({
    id: jobId(id, index),
    kind: OFFLINE_QUERY_JOB,
    payload,
    scope: environmentId,
    subject: id,
    ...{ name, index, operationId: id, workflowId: id, gate: GATE, after },
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  });
  const shards = Array.from({ length: request.numShards }, (_, shard) =>
    step(`shard ${shard}`, shard + 1, { queryId: id, step: "shard", shard }, [jobId(id, 0)]),
  );
  return [
    step("prepare", 0, { queryId: id, step: "prepare" }, []),
    ...shards,
    step(
      "complete",
      request.numShards + 1,
      { queryId: id, step: "complete" },
      shards.map((job) => job.id),
    ),
  ];
}

/** Ids of the jobs of a query. */
export function jobIdsOf({ id, request }: Pick<NewOfflineQuery, "id" | "request">): readonly string[] {
  return Array.from({ length: request.numShards + 2 }, (_, index) => jobId(id, index));
}

function jobId(queryId: string, index: number): string {
  return `${queryId}.${index}`;
}
