/** Searches of the query log. */

import type { Database } from "bun:sqlite";
import { toCondition } from "../../../domain/search/condition.ts";
import type { Search } from "../../../domain/search/tree.ts";
import { newestFirst } from "../sqlite/newest-first.ts";
import type { NewestPage, QueryLogSummary, QuerySearch, StoredQuery } from "./store.ts";

/** What is selected of a query, named as in `QueryLogSummary`. */
export const SUMMARY = `query_id as queryId, environment_id as environmentId, deployment_id as deploymentId, branch, started_at as startedAt,
  duration_ms as durationMs, query_name as queryName, correlation_id as correlationId, error_count as errorCount, kind, query_version as queryVersion,
  is_named as isNamed, plan_hash as planHash, root_namespace as rootNamespace, primary_key as primaryKey, agent_id as agentId,
  error_codes as errorCodes, hit_share as hitShare, row_count as rows, trace_id as traceId, meta_id as metaId,
  error is not null as isRefused`;

/** Milliseconds by which queries may be written later than others of their start. */
const LATE_MS = 600_000;

/** Columns of fields that are not named as their column. */
const COLUMNS: Readonly<Record<string, string>> = {
  id: "query_id",
  duration: "duration_ms",
  errors: "error_count",
  error_code: "error_codes",
  rows: "row_count",
  deployment: "deployment_id",
  agent: "agent_id",
  namespace: "root_namespace",
  query_plan_id: "plan_hash",
  meta_query_id: "meta_id",
};

/** A row of the table with its truth values as SQLite has them. */
export type SummaryRow<R extends QueryLogSummary> = Omit<R, "isNamed" | "isRefused"> & {
  readonly isNamed: number;
  readonly isRefused: number;
};

/** A row as a record. */
export function summaryOf<R extends QueryLogSummary>(row: SummaryRow<R>): R {
  return { ...row, isNamed: row.isNamed === 1, isRefused: row.isRefused === 1 } as unknown as R;
}

/**
 * A page of queries.
 * @param hashOf the hash of a primary key, as the table has it
 */
export function searchQueries(
  db: Database,
  { environmentId, search, primaryKey, from, before }: QuerySearch,
  hashOf: (key: string) => string,
  limit: number,
  beforeSeq?: number,
): NewestPage<StoredQuery> {
  const { sql, parameters } = toCondition(search, (field) => COLUMNS[field] ?? field);
  const parts = ["environment_id = ?", sql];
  const isOfMeta = namesMeta(search);
  if (primaryKey !== undefined) parts.push("key_hash = ?");
  if (isOfMeta) parts.push("meta_id <> ''");
  const { records, next } = newestFirst<SummaryRow<StoredQuery>>(
    db,
    {
      table: "query_log",
      columns: `seq, ${SUMMARY}`,
      time: "started_at",
      late: LATE_MS,
      from,
      before,
      condition: {
        sql: parts.join(" and "),
        parameters: [environmentId, ...parameters, ...(primaryKey === undefined ? [] : [hashOf(primaryKey)])],
      },
      isIndexed: isOfMeta,
    },
    limit,
    beforeSeq,
  );
  return { records: records.map(summaryOf), next };
}

/** Whether everything that fits belongs to one meta query. */
function namesMeta(search: Search): boolean {
  if (search.is === "all") return search.of.some(namesMeta);
  return search.is === "equal" && search.field === "meta_query_id" && search.value !== "";
}
