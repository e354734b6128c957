/**
 * The jobs of an offline query: one reads its rows, then one for each shard, then one completes it.
 */

import { planWorkflow } from "../jobs/workflows.ts";
import type { NewJob, ResourceGroup } from "../stores/metadata/jobs.ts";
import type { NewOfflineQuery } from "../stores/metadata/offline-queries.ts";

/** The kind of the jobs. */
export const OFFLINE_QUERY_JOB = "async_offline_query";

const MAX_ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 6 * 3_600_000;
/** Shards of one query that are computed at once. */
const GATE = 4;

/** The payload of a job. */
export type QueryStep = {
  readonly queryId: string;
  /** The `traceparent` of the caller that asked for a trace; absent = nobody did. */
  readonly traceparent?: string;
} & ({ readonly step: "prepare" | "complete" } | { readonly step: "shard"; readonly shard: number });

/**
 * The jobs of a query, each after those that it waits for: a workflow of its own.
 * @param now epoch milliseconds, for the workflow's id
 * @param traceparent of the caller that asks for a trace; undefined = nobody does
 * @param group whose slots its jobs take; undefined = none
 */
export function queryJobs(
  query: Pick<NewOfflineQuery, "id" | "environmentId" | "deploymentId" | "kind" | "queryName" | "request">,
  now: number,
  { group, traceparent }: { readonly group?: ResourceGroup | undefined; readonly traceparent?: string | undefined } = {},
): NewJob[] {
  const { id, environmentId, deploymentId, kind, queryName, request } = query;
  const job = (index: number, payload: QueryStep): NewJob => ({
    id: jobId(id, index),
    kind: OFFLINE_QUERY_JOB,
    payload: { ...payload, ...(traceparent !== undefined && { traceparent }) },
    scope: environmentId,
    subject: id,
    ...(group && { group }),
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  });
  const shards = Array.from({ length: request.numShards }, (_, shard) => job(shard + 1, { queryId: id, step: "shard", shard }));
  const plan = {
    ...{ environmentId, deploymentId, kind, subject: queryName || id },
    operations: [
      { name: "prepare", jobs: [job(0, { queryId: id, step: "prepare" })] },
      { name: "shard", after: ["prepare"], gate: GATE, jobs: shards },
      { name: "complete", after: ["shard"], jobs: [job(request.numShards + 1, { queryId: id, step: "complete" })] },
    ],
  };
  return planWorkflow(plan, now);
}

/** Ids of the jobs of a query. */
export function jobIdsOf({ id, request }: Pick<NewOfflineQuery, "id" | "request">): readonly string[] {
  return Array.from({ length: request.numShards + 2 }, (_, index) => jobId(id, index));
}

function jobId(queryId: string, index: number): string {
  return `${queryId}.${index}`;
}
