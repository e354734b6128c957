/** Lines that resolvers print and log, as records. */

import type { WorkerLog } from "../python/pool.ts";
import type { NewRecord } from "../stores/logs/store.ts";

/** The deployment whose code wrote a line. */
export interface LinePlace {
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  /** Of the workers. */
  readonly resourceGroup: string;
}

/** The record of a line. */
export function userLine({ level, logger, resolver, queryId, text, timestampMs, origin, podName }: WorkerLog, place: LinePlace): NewRecord {
  const { operation, queryName, correlationId, traceId } = origin ?? { operation: "", queryName: "", correlationId: "", traceId: "" };
  return {
    ...place,
    at: timestampMs * 1_000,
    level,
    component: operation !== "" ? "offline-query" : place.branch !== "" ? "branch" : "engine",
    resolver,
    queryName,
    operationId: operation || queryId,
    correlationId,
    traceId,
    logger,
    podName,
    message: text,
  };
}
