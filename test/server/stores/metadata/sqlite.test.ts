import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "../../../../src/server/stores/metadata/schema.ts";
import { createSqliteMetadataStore } from "../../../../src/server/stores/metadata/sqlite.ts";
import { OUTBOX_APPLICATION_ID, OUTBOX_MIGRATIONS, openOutbox } from "../../../../src/server/stores/metadata/sqlite-outbox.ts";
import { type Migration, openDatabase } from "../../../../src/server/stores/sqlite/open.ts";
import { TempFolder } from "../../../harness/running-server.ts";

const open = (folder: string) => createSqliteMetadataStore({ path: join(folder, "meta.db"), programVersion: "1.0.0" });

describe("group commit", () => {
  test("writes that come together share a flush", async () => {
    using folder = new TempFolder();
    const store = open(folder.path);
    const upload = (n: number) => ({ id: `upl_${n}`, sha256: "a".repeat(64), sizeBytes: 1, createdAt: 0, expiresAt: 0 });
    const wal = join(folder.path, "meta.db-wal");
    const before = statSync(wal).size;
    await Promise.all(Array.from({ length: 200 }, (_, n) => store.createUpload(upload(n))));
    const frames = (statSync(wal).size - before) / 4120;
    expect(frames).toBeLessThan(40);
    await store.close();
  });
});

describe("schema", () => {
  const path = (folder: TempFolder) => join(folder.path, "meta.db");
  const options = (folder: TempFolder, migrations: readonly Migration[]) => ({
    path: path(folder),
    applicationId: METADATA_APPLICATION_ID,
    migrations,
    synchronous: "full" as const,
    programVersion: "1.0.0",
  });
  const next: Migration = (db) => {
    db.run("alter table team add column color text not null default 'none'");
    db.run("create table added (id integer primary key)");
  };

  async function oldDatabase(folder: TempFolder): Promise<void> {
    const store = open(folder.path);
    await store.bootstrap({
      team: { id: "team_1", name: "team" },
      project: { id: "prj_1", name: "project" },
      environment: { id: "env_1", name: "default" },
      client: { id: "client_1", name: "first", secretHash: new Uint8Array(32), permissions: ["read"] },
      now: 1,
    });
    await store.close();
  }

  test("files are private", async () => {
    using folder = new TempFolder();
    const store = open(folder.path);
    await store.probe();
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path(folder) + suffix).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("an older schema is migrated, and the file as it was is kept", async () => {
    using folder = new TempFolder();
    await oldDatabase(folder);
    const db = openDatabase(options(folder, [...METADATA_MIGRATIONS, next]));
    expect(db.query("select name, color from team").all()).toEqual([{ name: "team", color: "none" }]);
    expect(db.query("pragma user_version").get()).toEqual({ user_version: METADATA_MIGRATIONS.length + 1 });
    db.close();
    const kept = `${path(folder)}.v${METADATA_MIGRATIONS.length}.backup`;
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const backup = new Database(kept, { readonly: true });
    expect(backup.query("pragma user_version").get()).toEqual({ user_version: METADATA_MIGRATIONS.length });
    expect(backup.query("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(backup.query("select id, name, created_at from team").all()).toEqual([{ id: "team_1", name: "team", created_at: 1 }]);
    backup.close();
  });

  test("clients and login sessions of the first schema are what they were, and nobody is logged in", async () => {
    using folder = new TempFolder();
    const db = openDatabase(options(folder, METADATA_MIGRATIONS.slice(0, 1)));
    db.run("insert into team (id, name, created_at) values ('team_1', 'team', 1)");
    db.run(
      `insert into client (id, team_id, name, secret_hash, permissions, created_at) values ('client_1', 'team_1', 'laptop', x'07', '["read"]', 5)`,
    );
    db.run(
      "insert into login_session (id, secret_hash, device_name, state, created_at, expires_at) values ('login_1', x'08', 'laptop', 'confirmed', 5, 100)",
    );
    db.close();
    const store = open(folder.path);
    const client = {
      id: "client_1",
      teamId: "team_1",
      name: "laptop",
      secretHash: new Uint8Array([7]),
      permissions: ["read"],
      createdAt: 5,
    };
    expect(await store.clients("team_1")).toEqual([client]);
    expect(await store.loginSession("login_1")).toMatchObject({ state: "confirmed", userCode: "", address: "", permissions: [] });
    expect(await store.browserSessions(0)).toEqual([]);
    expect(await store.deleteClient("client_1")).toBe(0);
    await store.close();
  });

  test("builds that older versions queued belong to their environments, and are about their deployments", async () => {
    using folder = new TempFolder();
    const db = openDatabase(options(folder, METADATA_MIGRATIONS.slice(0, 4)));
    const job = db.query(
      `insert into job (id, kind, payload, state, priority, resource_group, slots, idempotency_key, run_at, max_attempts, attempt_timeout_ms,
         attempts, node, fence, lease_until, is_cancel_requested, progress, error, created_at, updated_at)
       values (?, ?, '{}', 'queued', 0, ?, 1, ?, 0, 2, 1, 0, '', 0, 0, 0, '', '', 1, 1)`,
    );
    job.run("job_1", "deployment", "deployment:env_1/", "dpl_1");
    job.run("job_2", "deployment", "deployment:env_1/a/b", "dpl_2");
    job.run("job_3", "purge-jobs", "schedule:purge-jobs/", "#1@1");
    db.close();
    const store = open(folder.path);
    const shown = (await store.jobs.page({ limit: 10 })).map(({ id, scope, subject }) => [id, scope, subject]);
    expect(shown).toEqual([
      ["job_3", "", ""],
      ["job_2", "env_1", "dpl_2"],
      ["job_1", "env_1", "dpl_1"],
    ]);
    await store.close();
  });

  const INDEXES = {
    job_by_end: "create index job_by_end on job (updated_at) where state in ('succeeded', 'failed', 'cancelled')",
    offline_query_open: "create index offline_query_open on offline_query (environment_id) where ended_at is null",
  };
  const FILES = [
    { name: "meta.db", applicationId: METADATA_APPLICATION_ID, steps: METADATA_MIGRATIONS, before: 5, indexes: Object.values(INDEXES) },
    { name: "meta.outbox.db", applicationId: OUTBOX_APPLICATION_ID, steps: OUTBOX_MIGRATIONS, before: 1, indexes: [INDEXES.job_by_end] },
  ];
  const EARLIER = FILES.flatMap((file) => [
    { ...file, had: "without", indexes: [] as readonly string[] },
    { ...file, had: "with" },
  ]);
  test.each(EARLIER)("ended jobs are purged from $name of earlier steps, $had what a later one adds", async (file) => {
    using folder = new TempFolder();
    const place = { path: join(folder.path, file.name), programVersion: "1.0.0" };
    const db = openDatabase({ ...place, ...file, migrations: file.steps.slice(0, file.before), synchronous: "full" });
    for (const index of file.indexes) db.run(index);
    const job = db.query(
      `insert into job (id, kind, payload, state, priority, resource_group, slots, scope, subject, name, operation_id, workflow_id, gate,
         gated_by, held_by, doom, run_at, max_attempts, attempt_timeout_ms, attempts, node, fence, lease_until, is_cancel_requested, progress,
         error, created_at, updated_at)
       values (?, 'k', '{}', ?, 0, '', 1, '', '', '', '', '', 0, '', '', '', 0, 2, 1, 1, '', 0, 0, 0, '', '', 1, 1)`,
    );
    for (const [id, state] of Object.entries({ job_1: "succeeded", job_2: "queued", job_3: "failed" })) job.run(id, state);
    db.close();
    const isOutbox = file.steps === OUTBOX_MIGRATIONS;
    const store = isOutbox ? openOutbox(place, () => 10) : createSqliteMetadataStore({ ...place, now: () => 10 });
    const jobs = "jobs" in store ? store.jobs : store;
    expect(await jobs.purge(5, 100)).toBe(2);
    expect((await jobs.page({ limit: 10 })).map(({ id }) => id)).toEqual(["job_2"]);
    await store.close();
    using opened = new Database(place.path);
    const names = Object.keys(INDEXES).slice(0, isOutbox ? 1 : 2);
    const there = opened.query<{ name: string }, []>("select name from sqlite_schema where type = 'index'").all();
    expect(there.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  });

  test("a migration that fails halfway changes nothing", async () => {
    using folder = new TempFolder();
    await oldDatabase(folder);
    const broken: Migration = (db) => {
      next(db);
      db.run("insert into team (id) values ('team_1')");
    };
    expect(() => openDatabase(options(folder, [...METADATA_MIGRATIONS, broken]))).toThrow();
    const db = openDatabase(options(folder, METADATA_MIGRATIONS));
    expect(db.query("select name from sqlite_schema where name = 'added'").all()).toEqual([]);
    expect(db.query("pragma user_version").get()).toEqual({ user_version: METADATA_MIGRATIONS.length });
    db.close();
    const again = openDatabase(options(folder, [...METADATA_MIGRATIONS, next]));
    expect(again.query("select color from team").all()).toEqual([{ color: "none" }]);
    again.close();
  });

  test("a newer schema is refused, and no byte changes", async () => {
    using folder = new TempFolder();
    openDatabase(options(folder, [...METADATA_MIGRATIONS, next])).close();
    const before = readFileSync(path(folder));
    expect(() => open(folder.path)).toThrow(
      `meta.db has schema ${METADATA_MIGRATIONS.length + 1}, and this program (version 1.0.0) knows schemas up to ${METADATA_MIGRATIONS.length}. Nothing was changed.`,
    );
    expect(readFileSync(path(folder)).equals(before)).toBe(true);
    expect(existsSync(`${path(folder)}-wal`)).toBe(false);
  });

  test("a newer schema that a killed server left in its log is refused, and no byte of file and log changes", async () => {
    using folder = new TempFolder();
    using copy = new TempFolder();
    const db = openDatabase(options(folder, [...METADATA_MIGRATIONS, next]));
    db.run("insert into team (id, name, created_at) values ('team_1', 'team', 1)");
    for (const suffix of ["", "-wal"]) copyFileSync(path(folder) + suffix, path(copy) + suffix);
    db.close();
    const before = ["", "-wal"].map((suffix) => readFileSync(path(copy) + suffix));
    expect(() => open(copy.path)).toThrow(/^meta\.db has schema/);
    expect(["", "-wal"].map((suffix) => readFileSync(path(copy) + suffix))).toEqual(before);
  });

  test.each([
    ["text", "this is no database, but it is long enough to have a header of one hundred bytes if it only were one, which it is not"],
    ["a header alone", "SQLite format 3\0"],
  ])("a file that is %s is refused untouched", async (_name, content) => {
    using folder = new TempFolder();
    await Bun.write(path(folder), content);
    expect(() => open(folder.path)).toThrow(/cannot be read/);
    expect(await Bun.file(path(folder)).text()).toBe(content);
  });

  test("another program's database is refused untouched", async () => {
    using folder = new TempFolder();
    const foreign = new Database(path(folder), { create: true });
    foreign.run("create table t (a)");
    foreign.run("pragma user_version = 1");
    foreign.close();
    const before = readFileSync(path(folder));
    expect(() => open(folder.path)).toThrow(/is not a database of this program/);
    expect(readFileSync(path(folder)).equals(before)).toBe(true);
  });
});
