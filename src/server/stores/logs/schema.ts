/** The schema of `logs.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svcl" as four bytes: marks a file as this program's logs. */
export const LOGS_APPLICATION_ID = 0x7376636c;

/**
 * What many records have in common is a row of `origin`. Texts that do not apply are empty, never
 * null, and have no NUL character: conditions of searches rely on it.
 */
const record = (table: string): string => `
create table ${table} (
  seq integer primary key autoincrement, at integer not null, level text not null, origin integer not null, operation_id text not null,
  correlation_id text not null, trace_id text not null, span_id text not null, message text not null, attributes text not null
) strict;
create index ${table}_by_operation on ${table} (operation_id) where operation_id <> '';
create index ${table}_by_trace on ${table} (trace_id) where trace_id <> '';
`;

/** Steps from an empty file to the newest schema. */
export const LOGS_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table origin (
  id integer primary key, environment_id text not null, deployment_id text not null, branch text not null, component text not null, resolver text not null,
  query_name text not null, resource_group text not null, pod_name text not null, app text not null, logger text not null,
  unique (environment_id, deployment_id, branch, component, resolver, query_name, resource_group, pod_name, app, logger)
) strict;
${record("line")}
${record("request")}
create table carried (source text primary key, up_to integer not null) strict;
`);
  },
];
