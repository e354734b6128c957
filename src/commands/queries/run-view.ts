/** Runs of queries, meta queries and their latencies, as tables and lines. */

import type { GetMetaQueryResponse, GetQueryRunResponse, MetaQuery, QueryRun } from "../../../gen/svc/v1/query_run_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { visibleLines } from "../../domain/visible.ts";
import type { Fact } from "../../output/facts.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** How a run ended: `ok`, `partial` with errors beside the data, `failed`. */
function statusText({ status }: QueryRun): string {
  return String(formatEnum("svc.v1.QueryRunStatus", status) ?? "");
}

/** A name with its version. */
function nameText({ queryName, queryVersion }: Pick<QueryRun, "queryName" | "queryVersion">): string {
  return queryVersion === "" ? queryName : `${queryName} ${queryVersion}`;
}

/** Columns of a list of runs. */
export function runColumns(withLatency: boolean): FieldViews<QueryRun> {
  return {
    id: "ID",
    queryName: { header: "Name", cell: nameText },
    status: { header: "Status", cell: statusText, style: (text, style, run) => (run.errorCount > 0 ? style.red(text) : text) },
    branch: "Branch",
    primaryKey: { header: "Primary Key", flexible: true },
    createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
    ...(withLatency && { latency: { header: "Latency", align: "right" as const } }),
  };
}

/** What people see of a run. */
export const RUN_FIELDS: FieldViews<QueryRun> = {
  id: "ID",
  queryName: { header: "Name", cell: nameText },
  kind: "Kind",
  status: { header: "Status", cell: statusText },
  createdAt: "Created",
  latency: "Latency",
  rows: "Rows",
  hitShare: { header: "From the store", cell: ({ hitShare }) => (hitShare === undefined ? "" : `${(hitShare * 100).toFixed(1)} %`) },
  errorCount: {
    header: "Errors",
    cell: ({ errorCount, errorCodes }) =>
      errorCount === 0 ? "" : `${errorCount}: ${errorCodes.map((code) => formatEnum("svc.v1.ErrorCode", code)).join(", ")}`,
  },
  rootNamespace: "Namespace",
  primaryKey: "Primary key",
  deploymentId: "Deployment",
  branch: "Branch",
  agentId: "Agent",
  correlationId: "Correlation id",
  traceId: "Trace",
  queryPlanId: "Plan",
  metaQueryId: "Meta query",
};

/** What a run was asked, why it failed, and its page. */
export function askedFacts({ request, response, error, url }: GetQueryRunResponse): Fact[] {
  const outputs = request?.outputs.length ? request.outputs : (response?.inferredOutputs ?? []);
  const errors = error === "" ? (response?.errors.map(({ message }) => message) ?? []) : [error];
  const facts: Record<string, readonly string[]> = {
    Inputs: [request?.inputs.map(({ feature }) => readableName(feature)).join(", ") ?? ""],
    Outputs: [outputs.map(readableName).join(", ")],
    Error: errors,
    Page: [url],
  };
  return Object.entries(facts).flatMap(([name, texts]) =>
    texts.flatMap((text) => (text === "" ? [] : [[name, visibleLines(text)] as const])),
  );
}

/** Columns of a list of meta queries. */
export const META_COLUMNS: FieldViews<MetaQuery> = {
  id: "ID",
  name: "Name",
  version: "Version",
  runs: { header: "Runs", align: "right" },
  outputs: { header: "Outputs", cell: outputsText, flexible: true },
  lastObservedAt: { header: "Last Observed", cell: ({ lastObservedAt }, style) => age(lastObservedAt, style) },
};

/** Columns of a list of queries that are no named ones. */
export const ADHOC_COLUMNS: FieldViews<MetaQuery> = {
  id: "ID",
  name: "Query Name",
  outputs: { header: "Outputs", cell: outputsText, flexible: true },
  runs: { header: "Runs", align: "right" },
  firstObservedAt: { header: "Created", cell: ({ firstObservedAt }, style) => age(firstObservedAt, style) },
};

/** What people see of a meta query. */
export const META_FIELDS: FieldViews<MetaQuery> = {
  id: "ID",
  name: "Name",
  version: "Version",
  isNamed: { header: "Named query", cell: ({ isNamed }) => (isNamed ? "yes" : "no") },
  rootNamespace: "Namespace",
  outputs: { header: "Outputs", cell: outputsText },
  queryPlanId: "Plan",
  firstObservedAt: "First observed",
  lastObservedAt: "Last observed",
  runs: "Runs",
  failedRuns: "With errors",
};

/** Latencies, unless the log has no run of them. */
export function latencyFacts({ latencies }: GetMetaQueryResponse): Fact[] {
  if (!latencies || latencies.runs === 0) return [];
  const { p50, p95, p99, max } = latencies;
  const figures = Object.entries({ p50, p95, p99, max }).map(([name, time]) => `${name} ${formatDuration(time ? durationToMs(time) : 0)}`);
  return [["Latency", `${figures.join(", ")}, of the last ${latencies.runs}`]];
}

function outputsText({ outputs }: MetaQuery): string {
  return outputs.map(readableName).join(", ");
}
