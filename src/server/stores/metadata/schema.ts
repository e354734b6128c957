/** The schema of `meta.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svcm" as four bytes: marks a file as this program's metadata. */
export const METADATA_APPLICATION_ID = 0x7376636d;

/** Steps from an empty file to the newest schema. */
export const METADATA_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table team (id text primary key, name text not null, created_at integer not null) strict;
create table project (
  id text primary key, team_id text not null references team (id), name text not null, created_at integer not null, unique (team_id, name)
) strict;
create table environment (
  id text primary key, project_id text not null references project (id), name text not null, created_at integer not null, unique (project_id, name)
) strict;
create table client (
  id text primary key, team_id text not null references team (id), name text not null, secret_hash blob not null, permissions text not null,
  created_at integer not null
) strict;
create table login_session (
  id text primary key, secret_hash blob not null, device_name text not null, state text not null check (state in ('pending', 'confirmed', 'denied', 'taken')),
  created_at integer not null, expires_at integer not null
) strict;
create table upload (
  id text primary key, sha256 text not null, size_bytes integer not null, created_at integer not null, expires_at integer not null
) strict;
create table deployment (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null references environment (id), branch text not null,
  status integer not null, promoted integer not null, no_promote integer not null, reset integer not null, project_name text not null,
  runtime text not null, requirements text not null, description text not null, metadata text not null, ci_job_url text not null,
  repository_url text not null, source_sha256 text not null, created_at integer not null, updated_at integer not null, error text not null,
  diagnostics blob not null, attempts integer not null
) strict;
create index deployment_by_scope on deployment (environment_id, branch, seq);
create index deployment_by_status on deployment (status);
create table deployment_tag (
  deployment_id text not null references deployment (id), position integer not null, tag text not null, primary key (deployment_id, position)
) strict, without rowid;
create table graph (deployment_id text primary key references deployment (id), bytes blob not null) strict;
create table live (
  environment_id text not null references environment (id), branch text not null, deployment_id text not null references deployment (id),
  primary key (environment_id, branch)
) strict, without rowid;
create table feature (
  id integer primary key autoincrement, environment_id text not null references environment (id), fqn text not null, internal_version integer not null,
  dtype text not null, created_at integer not null, unique (environment_id, fqn, dtype), unique (environment_id, fqn, internal_version)
) strict;
create table resolver_version (
  environment_id text not null references environment (id), fqn text not null, source_sha256 text not null, version integer not null,
  deployment_id text not null, created_at integer not null, primary key (environment_id, fqn, source_sha256)
) strict, without rowid;
create table probe (id integer primary key, at integer not null) strict;
`);
  },
  // An entry or a browser session may be of the server's owner, who is in no table: so they refer
  // to clients without a constraint.
  (db) => {
    db.run(`
alter table client add column last_used_at integer;
alter table login_session add column user_code text not null default '';
alter table login_session add column address text not null default '';
alter table login_session add column permissions text not null default '[]';
alter table login_session add column confirmed_by text not null default '';
create table entry (
  code_hash blob primary key, client_id text not null, permissions text not null, path text not null, created_at integer not null,
  expires_at integer not null
) strict, without rowid;
create index entry_by_client on entry (client_id, created_at);
create table browser_session (
  id text primary key, client_id text not null, cookie_hash blob not null unique, key_hash blob not null, permissions text not null,
  user_agent text not null, created_at integer not null, last_used_at integer not null, expires_at integer not null
) strict;
create index browser_session_by_client on browser_session (client_id, last_used_at);
`);
  },
  // Deployments that were being built go on as jobs.
  (db) => {
    db.run(`
create table job (
  seq integer primary key autoincrement, id text not null unique, kind text not null, payload text not null,
  state text not null check (state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')), priority integer not null,
  resource_group text not null, slots integer not null, idempotency_key text, run_at integer not null, deadline_at integer,
  max_attempts integer not null, attempt_timeout_ms integer not null, attempts integer not null, node text not null, fence integer not null,
  lease_until integer not null, is_cancel_requested integer not null, progress text not null, error text not null, created_at integer not null,
  updated_at integer not null, unique (kind, idempotency_key)
) strict;
create index job_by_state on job (state, kind, priority desc, seq);
create index job_by_group on job (resource_group) where state = 'running';
create table job_attempt (
  job_id text not null references job (id) on delete cascade, number integer not null, node text not null, started_at integer not null,
  ended_at integer, outcome text not null, error text not null, primary key (job_id, number)
) strict, without rowid;
insert into job (id, kind, payload, state, priority, resource_group, slots, idempotency_key, run_at, max_attempts, attempt_timeout_ms, attempts, node,
    fence, lease_until, is_cancel_requested, progress, error, created_at, updated_at)
  select replace(id, 'dpl_', 'job_'), 'deployment', json_object('deploymentId', id), 'queued', 0, 'deployment:' || environment_id || '/' || branch, 1, id,
    0, 2, 3600000, attempts, '', 0, 0, 0, '', '', created_at, updated_at
  from deployment where status in (1, 2, 3) order by seq;
alter table deployment drop column attempts;
`);
  },
  (db) => {
    db.run(`
create table node (
  id text primary key, url text not null, version text not null, is_draining integer not null, started_at integer not null, heartbeat_at integer not null
) strict, without rowid;
create table schedule (
  kind text not null, key text not null, text text not null, payload text not null, is_enabled integer not null, anchor_at integer not null,
  next_at integer, planned_at integer not null, last_at integer, runs integer not null, revision integer not null, primary key (kind, key)
) strict, without rowid;
create index schedule_by_time on schedule (next_at) where is_enabled = 1;
create table deployment_progress (
  seq integer primary key autoincrement, deployment_id text not null, node text not null, text text not null
) strict;
create index deployment_progress_by_deployment on deployment_progress (deployment_id, seq);
`);
  },
  (db) => {
    db.run(`
create table document (
  id text primary key, kind text not null, scope text not null, name text not null, content text not null, revision integer not null,
  created_at integer not null, updated_at integer not null, unique (kind, scope, name)
) strict;
create index document_by_scope on document (scope);
create table process (
  id text primary key, name text not null, kind text not null, node text not null, host text not null, pid integer not null,
  environment_id text not null, deployment_id text not null, resource_group text not null, restarts integer not null,
  memory_limit_bytes integer, started_at integer not null, ready_at integer, ended_at integer, outcome text not null,
  measured_at integer not null, cpu_ms integer not null, memory_bytes integer not null, peak_memory_bytes integer not null
) strict;
create index process_by_time on process (started_at);
create index process_running on process (name) where ended_at is null;
create table process_event (
  seq integer primary key, at integer not null, type text not null, reason text not null, environment_id text not null,
  process text not null, message text not null
) strict;
create index process_event_by_time on process_event (at);
create table usage_day (
  day text not null, environment_id text not null, resource_group text not null, kind text not null, cpu_ms integer not null,
  wall_ms integer not null, memory_byte_ms real not null, queries integer not null, rows integer not null, errors integer not null,
  storage_byte_ms real not null, primary key (day, environment_id, resource_group, kind)
) strict, without rowid;
create table usage_held (place text primary key, at integer not null) strict, without rowid;
alter table job add column scope text not null default '';
alter table job add column subject text not null default '';
update job set scope = substr(resource_group, 12, instr(resource_group, '/') - 12), subject = idempotency_key where kind = 'deployment';
alter table environment add column suspended_at integer;
alter table environment add column deleted_at integer;
alter table deployment add column blue_green integer not null default 0;
alter table deployment add column profiling integer not null default 0;
create index deployment_by_source on deployment (source_sha256);
create index deployment_tag_by_tag on deployment_tag (tag);
alter table live add column previous_id text;
create table audit (
  seq integer primary key, at integer not null, team_id text not null, client_id text not null, client_name text not null, session_id text not null,
  endpoint text not null, about text not null, address text not null, environment_id text not null, code text not null, count integer not null,
  trace_id text not null, hash blob not null
) strict;
create table audit_chain (anchor_seq integer not null, anchor_hash blob not null, head_seq integer not null, head_hash blob not null) strict;
insert into audit_chain (anchor_seq, anchor_hash, head_seq, head_hash) values (0, zeroblob(32), 0, zeroblob(32));
alter table client add column token_id text;
alter table client add column environments text;
alter table client add column expires_at integer;
alter table client add column created_by text;
alter table client add column person_id text;
alter table login_session add column person_id text not null default '';
create unique index client_by_token on client (token_id);
alter table client add column subject text;
alter table client add column parent_id text;
create index client_by_parent on client (parent_id) where parent_id is not null;
alter table login_session add column parent_id text;
alter table login_session add column client_expires_at integer;
alter table entry add column session_ends_at integer;
alter table browser_session add column ends_at integer;
create table provider_login (
  state_hash blob primary key, cookie_hash blob not null, sealed text not null, path text not null, redirect_uri text not null,
  address text not null, created_at integer not null, expires_at integer not null
) strict, without rowid;
update client set person_id = 'owner' where name = 'first start' and created_at = (select created_at from team where id = client.team_id);
alter table deployment add column approved integer not null default 0;
create table approval (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, kind text not null, names text not null,
  deployment_id text not null, replaces text not null, payload text not null, state text not null, client_id text not null,
  person_id text not null, requested_by text not null, created_at integer not null, expires_at integer not null, decided_by_id text not null,
  decided_by text not null, decided_at integer, reason text not null, applied_at integer, error text not null
) strict;
create index approval_by_environment on approval (environment_id, state, seq);
create index approval_by_deployment on approval (deployment_id) where deployment_id <> '';
create table deletion (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, branch text not null, rows text not null,
  key_count integer not null, created_at integer not null, expires_at integer not null, removed text not null
) strict;
alter table schedule add column scope text not null default '';
create table resolver_run (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, resolver text not null, cause text not null,
  request text not null, deployment_id text not null, idempotency_key text, state text not null, fence integer not null,
  created_at integer not null, started_at integer, ended_at integer, rows integer not null, failed_rows integer not null, error text not null,
  position text not null, unique (environment_id, idempotency_key)
) strict;
create index resolver_run_by_environment on resolver_run (environment_id, seq);
create index resolver_run_by_resolver on resolver_run (environment_id, resolver, seq);
create index resolver_run_by_end on resolver_run (ended_at) where ended_at is not null;
create table offline_query (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, branch text not null,
  deployment_id text not null, kind text not null, query_name text not null, query_name_version text not null, agent_id text not null,
  dataset_name text not null, outputs text not null, request text not null, retry_of text not null, state text not null,
  created_at integer not null, started_at integer, ended_at integer, total_rows integer, split_at real, dataset_id text not null,
  revision_id text not null, error text not null, is_tidy integer not null, input_key text not null
) strict;
create index offline_query_by_environment on offline_query (environment_id, seq);
create index offline_query_by_end on offline_query (is_tidy, ended_at) where ended_at is not null;
create index offline_query_by_input on offline_query (input_key) where input_key <> '';
create table offline_query_shard (
  query_id text not null, shard integer not null, from_row integer not null, spine_rows integer not null, done_rows integer not null,
  rows integer not null, failed_rows integer not null, late_values integer not null, row_error text not null, is_done integer not null,
  fence integer not null, primary key (query_id, shard)
) strict, without rowid;
create table dataset (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, name text, created_at integer not null,
  updated_at integer, last_number integer not null, unique (environment_id, name)
) strict;
create index dataset_by_environment on dataset (environment_id, seq);
create table dataset_revision (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, dataset_id text not null, number integer,
  state text not null, origin text not null, origin_id text not null, columns text not null, rows integer not null, bytes integer not null,
  statistics text, created_by text not null, created_at integer not null, touched_at integer not null, completed_at integer,
  archived_at integer, has_remains integer not null, unique (environment_id, origin, origin_id), unique (dataset_id, number)
) strict;
create index dataset_revision_open on dataset_revision (environment_id) where state = 'writing';
create index dataset_revision_ended on dataset_revision (touched_at) where state <> 'complete';
create index dataset_revision_unswept on dataset_revision (seq) where has_remains = 1;
create index dataset_revision_unprofiled on dataset_revision (seq) where state = 'complete' and statistics is null and columns <> '[]';
create table dataset_file (
  seq integer primary key autoincrement, revision_id text not null, name text not null, kind text not null, key text not null,
  bytes integer not null, rows integer not null, sha256 text not null, unique (revision_id, name)
) strict;
create table dataset_upload (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, revision_id text not null unique,
  fingerprint text not null, files text not null, part_bytes integer not null, created_at integer not null
) strict;
create index dataset_upload_by_fingerprint on dataset_upload (environment_id, fingerprint);
alter table job add column name text not null default '';
alter table job add column operation_id text not null default '';
alter table job add column index_in_operation integer;
alter table job add column workflow_id text not null default '';
alter table job add column gate integer not null default 0;
alter table job add column gated_by text not null default '';
alter table job add column held_by text not null default '' check (held_by in ('jobs', 'time', ''));
alter table job add column doom text not null default '';
update job set held_by = 'time' where state = 'queued' and run_at > 0;
create index job_by_scope on job (kind, scope, state, seq, run_at, held_by);
create index job_ready on job (kind, resource_group, slots, gated_by, gate, priority desc, seq) where state = 'queued' and held_by = '';
create index job_asleep on job (kind, run_at) where state = 'queued' and held_by = 'time';
create index job_running_of_operation on job (operation_id, seq) where state = 'running' and operation_id <> '';
create index job_by_workflow on job (workflow_id, operation_id, state, seq, kind) where workflow_id <> '';
create index job_by_state_of_workflow on job (workflow_id, state) where workflow_id <> '';
create table job_after (
  job_id text not null references job (id) on delete cascade, after_id text not null, primary key (job_id, after_id)
) strict, without rowid;
create index job_after_by_after on job_after (after_id);
create index job_waiting_in_group on job (resource_group, priority desc, seq, run_at)
  where state = 'queued' and held_by <> 'jobs' and resource_group <> '';
create table workflow (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, deployment_id text not null, kind text not null,
  subject text not null, operations text not null, status text not null, created_at integer not null, started_at integer, ended_at integer
) strict;
create index workflow_by_environment on workflow (environment_id, seq);
create index workflow_by_end on workflow (ended_at) where ended_at is not null;
create table feature_version (
  id integer primary key autoincrement, environment_id text not null references environment (id), fqn text not null, internal_version integer not null,
  dtype text not null, created_at integer not null, ended_at integer, unique (environment_id, fqn, internal_version)
) strict;
insert into feature_version (id, environment_id, fqn, internal_version, dtype, created_at)
  select id, environment_id, fqn, internal_version, dtype, created_at from feature;
delete from sqlite_sequence where name = 'feature_version';
update sqlite_sequence set name = 'feature_version' where name = 'feature';
drop table feature;
alter table feature_version rename to feature;
create unique index feature_in_use on feature (environment_id, fqn, dtype) where ended_at is null;
alter table deletion add column versions text not null default 'null';
create table value_upload (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, object text not null, sha256 text not null,
  request text not null, state text not null, fence integer not null, created_at integer not null, ended_at integer, rows_checked integer not null,
  rows integer, rows_written integer not null, online_values integer not null, offline_values integer not null, deleted_values integer not null,
  problems text not null, error text not null
) strict;
create index value_upload_open on value_upload (environment_id) where ended_at is null;
create index value_upload_by_end on value_upload (ended_at) where ended_at is not null;
create table incremental_progress (
  environment_id text not null, kind text not null, name text not null, max_ingested integer, last_execution integer, revision integer not null,
  primary key (environment_id, kind, name)
) strict, without rowid;
alter table resolver_run add column incremental text;
`);
    // The one project that there was becomes that of the folder which is live in it, or which was
    // deployed last.
    db.run(`
update project set name = (
  select d.project_name from deployment d join environment e on e.id = d.environment_id
    left join live l on l.deployment_id = d.id and l.branch = ''
  where e.project_id = project.id and d.project_name <> '' order by l.deployment_id is null, d.seq desc limit 1)
where name = 'default' and (select count(*) from project) = 1 and exists (select 1 from deployment where project_name <> '')
`);
  },
  (db) => {
    db.run(`
create table monitor (
  environment_id text not null, name text not null, state text not null, since integer not null, value real, labels text not null,
  evaluated_at integer not null, broken_since integer, fired_at integer, told_at integer, primary key (environment_id, name)
) strict, without rowid;
create table monitor_silence (
  environment_id text not null, name text not null, until integer not null, created_at integer not null, client_id text not null,
  reason text not null, primary key (environment_id, name)
) strict, without rowid;
`);
  },
  // Some files that this step finds have these: they were in an earlier step for a time.
  (db) => {
    db.run(`
create index if not exists job_by_end on job (updated_at) where state in ('succeeded', 'failed', 'cancelled');
create index if not exists offline_query_open on offline_query (environment_id) where ended_at is null;
`);
  },
  (db) => {
    db.run(`
create table task (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, workflow_id text not null, request text not null,
  deployment_id text not null, branch text not null, state text not null, fence integer not null, attempts integer not null,
  exit_code integer, error text not null, created_at integer not null, started_at integer, ended_at integer
) strict;
create index task_by_environment on task (environment_id, seq);
create index task_by_workflow on task (workflow_id, seq);
create index task_open on task (environment_id) where state in ('received', 'running');
create index task_by_end on task (ended_at) where ended_at is not null;
create table task_output (
  task_id text primary key references task (id) on delete cascade, result text not null, stacks text not null, dropped integer not null
) strict, without rowid;
`);
  },
  (db) => {
    db.run(`
create table evaluation_run (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, evaluation_id text not null,
  evaluation_name text not null, workflow_id text not null, dataset text not null, revision_id text not null, deployment_id text not null,
  branch text not null, metadata text not null, rows integer not null, created_by text not null, state text not null, fence integer not null,
  attempts integer not null, rows_done integer not null, rows_failed integer not null, scores text not null, average_score real,
  result_revision_id text not null, error text not null, created_at integer not null, started_at integer, ended_at integer
) strict;
create index evaluation_run_by_environment on evaluation_run (environment_id, seq);
create index evaluation_run_by_evaluation on evaluation_run (environment_id, evaluation_id, seq);
create index evaluation_run_open on evaluation_run (environment_id) where state in ('received', 'running');
create index evaluation_run_by_end on evaluation_run (ended_at) where ended_at is not null;
`);
  },
  (db) => {
    db.run(`
create table stream (
  id text primary key, environment_id text not null, name text not null, is_paused integer not null, failure text, created_at integer not null,
  unique (environment_id, name)
) strict, without rowid;
create table stream_lease (
  stream_id text not null, partition integer not null, node text not null, until integer not null, problem text not null,
  primary key (stream_id, partition)
) strict, without rowid;
create index stream_lease_by_node on stream_lease (node);
create table dead_letter (
  seq integer primary key autoincrement, stream_id text not null, partition integer not null, offset text not null, timestamp integer not null, key blob, value blob,
  size integer not null, reason text not null, stage text not null, failed_at integer not null, unique (stream_id, partition, offset)
) strict;
create index dead_letter_by_stream on dead_letter (stream_id, seq);
create index dead_letter_by_time on dead_letter (failed_at);
`);
  },
  (db) => {
    db.run(`
create table series (
  id integer primary key autoincrement, environment_id text not null, definition text not null, used_at integer not null,
  unique (environment_id, definition)
) strict;
`);
  },
  (db) => {
    db.run(`
create table home (
  environment_id text not null, thing text not null, node text not null, primary key (environment_id, thing)
) strict, without rowid;
`);
  },
  (db) => {
    db.run("alter table evaluation_run add column first_failure text");
  },
  (db) => {
    db.run("alter table deployment add column venvs text not null default '[]'");
  },
  (db) => {
    db.run(`
create table notebook (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, title text not null, description text not null,
  created_by text not null, kernel text, cell_count integer not null, created_at integer not null, updated_at integer not null,
  unique (environment_id, title)
) strict;
create index notebook_by_environment on notebook (environment_id, seq);
create table notebook_cell (
  id text primary key, notebook_id text not null references notebook (id) on delete cascade, place integer not null, kind text not null,
  source text not null, state text not null, run integer not null, queued_as integer, execution_count integer, started_at integer, ended_at integer
) strict, without rowid;
create index notebook_cell_by_notebook on notebook_cell (notebook_id, place);
create table notebook_output (
  cell_id text not null references notebook_cell (id) on delete cascade, number integer not null, stream text not null, content text not null,
  primary key (cell_id, number)
) strict;
`);
  },
  (db) => {
    db.run("alter table deployment add column layers text not null default '[]'");
  },
  (db) => {
    db.run(`
create table function_version (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, name text not null, version integer not null,
  fingerprint text not null, definition blob not null, created_at integer not null, unique (environment_id, name, version),
  unique (environment_id, name, fingerprint)
) strict;
create table function_placement (
  deployment_id text not null, function_id text not null, environment_id text not null, branch text not null,
  primary key (deployment_id, function_id)
) strict, without rowid;
create index function_placement_by_function on function_placement (function_id, branch);
create table function_call (
  seq integer primary key autoincrement, id text not null unique, environment_id text not null, branch text not null, deployment_id text not null,
  name text not null, version integer not null, trace_id text not null, traceparent text not null, form text not null, rows integer not null,
  created_by text not null, state text not null check (state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  fence integer not null, attempts integer not null, input_bytes integer not null, error text, enqueued_at integer not null,
  started_at integer, ended_at integer
) strict;
create index function_call_by_environment on function_call (environment_id, seq);
create index function_call_by_name on function_call (environment_id, name, seq);
create index function_call_by_time on function_call (environment_id, enqueued_at);
create index function_call_open on function_call (environment_id, input_bytes) where state in ('queued', 'running');
create index function_call_by_end on function_call (ended_at);
create table function_call_input (
  call_id text primary key references function_call (id) on delete cascade, bytes blob not null
) strict;
create table function_call_output (
  call_id text primary key references function_call (id) on delete cascade, bytes blob not null
) strict;
create table image_build (
  seq integer primary key autoincrement, environment_id text not null, name text not null, kind text not null check (kind in ('venv', 'image')),
  deployment_id text not null, venv text not null, runtime text not null, image_destinations text not null,
  phase text not null check (phase in ('pending', 'running', 'succeeded', 'failed', 'error', 'skipped', 'omitted')), error text not null,
  created_at integer not null, started_at integer, ended_at integer, unique (environment_id, name)
) strict;
create index image_build_by_environment on image_build (environment_id, seq);
create index image_build_by_deployment on image_build (deployment_id) where ended_at is null;
create index image_build_by_end on image_build (ended_at);
create table image_build_line (
  seq integer primary key autoincrement, environment_id text not null, name text not null, text text not null
) strict;
create index image_build_line_by_build on image_build_line (environment_id, name, seq);
`);
  },
  (db) => {
    db.run("alter table node add column gateway_url text not null default ''");
  },
];
