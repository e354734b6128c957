/** The schema of `telemetry.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svct" as four bytes: marks a file as this program's telemetry. */
export const TELEMETRY_APPLICATION_ID = 0x73766374;

/**
 * Steps from an empty file to the newest schema. The table `log` is that of versions which had no
 * log store; what it holds is carried over by that (`stores/logs/carry-over.ts`).
 */
export const TELEMETRY_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table body (id integer primary key, packed blob not null) strict;
create table query_log (
  seq integer primary key autoincrement, query_id text not null unique, environment_id text not null, deployment_id text not null, branch text not null,
  started_at real not null, duration_ms real not null, query_name text not null, correlation_id text not null, error_count integer not null, error text,
  encoding text not null, body integer not null, body_at integer not null, request_size integer not null, response_size integer,
  origins_size integer not null
) strict;
create index query_log_by_deployment on query_log (deployment_id, seq);
create table log (
  seq integer primary key autoincrement, environment_id text not null, deployment_id text not null, at real not null, level text not null,
  logger text not null, resolver text not null, query_id text not null, text text not null
) strict;
create index log_by_deployment on log (deployment_id, seq);
create index log_by_query on log (query_id, seq) where query_id <> '';
`);
  },
  (db) => {
    db.run(`
create table span (
  seq integer primary key autoincrement, trace_id text not null, span_id text not null, parent_span_id text not null, kind text not null, name text not null,
  started_at real not null, duration_ms real not null, error text not null, attributes text not null, query_id text not null, environment_id text not null,
  deployment_id text not null
) strict;
create index span_by_trace on span (trace_id);
create index span_by_query on span (query_id);
create table plan_stage (
  query_id text not null, stage integer not null, environment_id text not null, started_at real not null, kind text not null, provider text not null,
  path text not null, row_count integer not null, columns text not null, omitted text not null, sha256 text not null, size integer not null,
  primary key (query_id, stage)
) strict, without rowid;
`);
  },
];
