/** Offline queries as tables and lines. */

import { type OfflineQuery, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** The words of the states. */
export const STATUS_WORDS = {
  COMPLETED: OfflineQueryStatus.COMPLETED,
  FAILED: OfflineQueryStatus.FAILED,
  WORKING: OfflineQueryStatus.WORKING,
  QUEUED: OfflineQueryStatus.QUEUED,
  CANCELED: OfflineQueryStatus.CANCELED,
} as const;

/** A state's word. */
export type StatusWord = keyof typeof STATUS_WORDS;

/** The state of a query in a word. */
export function statusText({ status }: OfflineQuery): string {
  const word = Object.entries(STATUS_WORDS).find(([, value]) => value === status)?.[0] ?? "";
  return word.charAt(0) + word.slice(1).toLowerCase();
}

/** Columns of a list. */
export const QUERY_COLUMNS: FieldViews<OfflineQuery> = {
  id: "ID",
  status: { header: "Status", cell: statusText },
  kind: "Kind",
  queryName: { header: "Name", flexible: true },
  queryNameVersion: "Version",
  branch: "Branch",
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const QUERY_FIELDS: FieldViews<OfflineQuery> = {
  id: "ID",
  status: { header: "Status", cell: statusText },
  kind: "Kind",
  queryName: "Name",
  queryNameVersion: "Version",
  branch: "Branch",
  agentId: "Agent",
  deploymentId: "Deployment",
  outputs: "Outputs",
  recompute: "Recomputes all",
  recomputeFeatures: "Recomputes",
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  totalRows: "Rows given",
  doneRows: "Rows done",
  rows: "Rows",
  failedRows: "Failed rows",
  lateValues: "Learned late",
  error: "Error",
  datasetId: "Dataset",
  datasetName: "Dataset name",
  revisionId: "Revision",
  numShards: "Shards",
  resourceGroup: "Resource group",
  retryOf: "Retry of",
  tags: "Tags",
  traceId: "Trace",
  url: "Page",
};
