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
  (db) => {
    db.run(`
alter table query_log add column kind text not null default '';
alter table query_log add column query_version text not null default '';
alter table query_log add column is_named integer not null default 0;
alter table query_log add column plan_hash text not null default '';
alter table query_log add column root_namespace text not null default '';
alter table query_log add column primary_key text not null default '';
alter table query_log add column key_hash text not null default '';
alter table query_log add column agent_id text not null default '';
alter table query_log add column error_codes text not null default '';
alter table query_log add column hit_share real;
alter table query_log add column row_count integer not null default 0;
alter table query_log add column trace_id text not null default '';
alter table query_log add column meta_id text not null default '';
create index query_log_by_meta on query_log (meta_id, seq) where meta_id <> '';
create table meta_query (
  id text primary key, environment_id text not null, name text not null, version text not null, is_named integer not null, plan_hash text not null,
  root_namespace text not null, first_at real not null, last_at real not null, runs integer not null, failed integer not null
) strict;
create index meta_query_by_time on meta_query (environment_id, last_at, id);
create table query_plan (
  environment_id text not null, hash text not null, deployment_id text not null, first_at real not null, root_namespace text not null, outputs text not null,
  plan text not null, primary key (environment_id, hash)
) strict;
create table query_error (
  seq integer primary key autoincrement, environment_id text not null, deployment_id text not null, branch text not null, at real not null,
  operation_id text not null, operation_kind text not null, query_name text not null, code text not null, message text not null, pattern text not null,
  feature text not null, resolver text not null, exception text not null, count integer not null, omitted integer not null
) strict;
create index query_error_by_operation on query_error (operation_id);
alter table span add column service text not null default 'svc';
alter table span add column size integer not null default 0;
update span set service = 'svc-python' where kind = 'worker';
update span set size = 200 + length(attributes) + length(name);
create index span_by_id on span (span_id);
create table trace (
  environment_id text not null, trace_id text not null, root_span text not null, service text not null, started_at real not null, ended_at real not null,
  span_count integer not null, error_count integer not null, query_id text not null, query_name text not null, primary key (environment_id, trace_id)
) strict;
create index trace_by_start on trace (environment_id, started_at, trace_id);
insert into trace select environment_id, trace_id, name, service, min(started_at), max(started_at + duration_ms), count(*), sum(error <> ''), query_id,
  coalesce(json_extract(attributes, '$.query_name'), '') from span group by environment_id, trace_id;
create table salt (id integer primary key, salt text not null) strict;
insert into salt values (1, lower(hex(randomblob(32))));
`);
  },
];
