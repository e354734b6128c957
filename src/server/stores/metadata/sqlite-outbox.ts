import { createWriter } from "../sqlite/group-commit.ts";
import { inspectDatabase, isDamage, type Migration, type OpenOptions, openDatabase } from "../sqlite/open.ts";
import type { DeliveryAnswer, OutboxPlace, OutboxQueue } from "./outbox.ts";
import { jobQueries } from "./sqlite-jobs.ts";

/** "svcw" as four bytes: marks a file as this program's outbox. */
export const OUTBOX_APPLICATION_ID = 0x73766377;

/** Steps from an empty file to the newest schema, which is that of the queue in `meta.db`. */
export const OUTBOX_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table job (
  seq integer primary key autoincrement, id text not null unique, kind text not null, payload text not null,
  state text not null check (state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')), priority integer not null,
  resource_group text not null, slots integer not null, scope text not null, subject text not null, name text not null,
  operation_id text not null, index_in_operation integer, workflow_id text not null, gate integer not null, gated_by text not null,
  held_by text not null check (held_by in ('jobs', 'time', '')), doom text not null, idempotency_key text,
  run_at integer not null, deadline_at integer,
  max_attempts integer not null, attempt_timeout_ms integer not null, attempts integer not null, node text not null, fence integer not null,
  lease_until integer not null, is_cancel_requested integer not null, progress text not null, error text not null, created_at integer not null,
  updated_at integer not null, unique (kind, idempotency_key)
) strict;
create index job_by_state on job (state, kind, priority desc, seq);
create index job_by_group on job (resource_group) where state = 'running';
create index job_by_scope on job (kind, scope, state, seq, run_at, held_by);
create index job_ready on job (kind, resource_group, slots, gated_by, gate, priority desc, seq) where state = 'queued' and held_by = '';
create index job_asleep on job (kind, run_at) where state = 'queued' and held_by = 'time';
create index job_running_of_operation on job (operation_id, seq) where state = 'running' and operation_id <> '';
create table job_attempt (
  job_id text not null references job (id) on delete cascade, number integer not null, node text not null, started_at integer not null,
  ended_at integer, outcome text not null, error text not null, primary key (job_id, number)
) strict, without rowid;
create table job_after (
  job_id text not null references job (id) on delete cascade, after_id text not null, primary key (job_id, after_id)
) strict, without rowid;
create index job_after_by_after on job_after (after_id);
`);
  },
  // Some files that this step finds have it: it was in the first step for a time.
  (db) => {
    db.run("create index if not exists job_by_end on job (updated_at) where state in ('succeeded', 'failed', 'cancelled')");
  },
  (db) => {
    db.run(`
create table answer (
  kind text not null, idempotency_key text not null, status integer not null, body text not null, is_cut integer not null,
  answered_at integer not null, primary key (kind, idempotency_key),
  foreign key (kind, idempotency_key) references job (kind, idempotency_key) on delete cascade
) strict, without rowid
`);
  },
];

/**
 * The outbox of a metadata store in one file: beside it, `meta.outbox.db` for `meta.db`; in memory
 * like the store.
 */
export function outboxPlace({ path, programVersion }: OutboxPlace): OutboxPlace {
  return { path: path === ":memory:" ? path : `${path.replace(/\.db$/, "")}.outbox.db`, programVersion };
}

/**
 * Throws StartError when the outbox is newer than this program, or another program's. A damaged one
 * is set aside by who opens it.
 */
export function inspectOutbox(place: OutboxPlace): void {
  try {
    inspectDatabase(schemaOf(place));
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
}

/**
 * Opens or creates the outbox: WAL, synchronous=FULL. Several threads and processes may have it
 * open. Throws StartError when the file cannot be used.
 * @param now the store's clock, epoch milliseconds
 */
export function openOutbox(place: OutboxPlace, now: () => number): OutboxQueue {
  const db = openDatabase(schemaOf(place));
  const writer = createWriter(db);
  return {
    ...jobQueries(db, writer, now).jobs,
    async keepAnswer(kind, idempotencyKey, { at, body, isCut, status }) {
      await writer.write(() =>
        db
          .query(
            `insert or replace into answer (kind, idempotency_key, status, body, is_cut, answered_at)
             select kind, idempotency_key, ?3, ?4, ?5, ?6 from job where kind = ?1 and idempotency_key = ?2`,
          )
          .run(kind, idempotencyKey, status, body, isCut ? 1 : 0, at),
      );
    },
    answer(kind, idempotencyKey) {
      const row = db
        .query<Omit<DeliveryAnswer, "isCut"> & { readonly isCut: number }, [string, string]>(
          "select status, body, is_cut as isCut, answered_at as at from answer where kind = ? and idempotency_key = ?",
        )
        .get(kind, idempotencyKey);
      return row ? { ...row, isCut: row.isCut === 1 } : undefined;
    },
    close() {
      writer.flush();
      db.close();
    },
  };
}

function schemaOf({ path, programVersion }: OutboxPlace): OpenOptions {
  return { path, applicationId: OUTBOX_APPLICATION_ID, migrations: OUTBOX_MIGRATIONS, synchronous: "full", programVersion };
}
