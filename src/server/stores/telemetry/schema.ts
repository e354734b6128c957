/** The schema of `telemetry.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svct" as four bytes: marks a file as this program's telemetry. */
export const TELEMETRY_APPLICATION_ID = 0x73766374;

/** Steps from an empty file to the newest schema. */
export const TELEMETRY_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table query_log (
  seq integer primary key autoincrement, query_id text not null unique, environment_id text not null, deployment_id text not null, branch text not null,
  started_at integer not null, duration_ms real not null, query_name text not null, correlation_id text not null, error_count integer not null,
  request blob not null, response blob, error text
) strict;
create index query_log_by_environment on query_log (environment_id, seq);
create index query_log_by_time on query_log (started_at);
create table log (
  seq integer primary key autoincrement, environment_id text not null, deployment_id text not null, at integer not null, level text not null,
  logger text not null, resolver text not null, query_id text not null, text text not null
) strict;
create index log_by_deployment on log (deployment_id, seq);
create index log_by_query on log (query_id, seq) where query_id <> '';
create index log_by_time on log (at);
`);
  },
];
