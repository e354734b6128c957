/**
 * What the telemetry store on SQLite does beyond every telemetry store: its bounds, its file, and
 * its thread.
 */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../../../src/server/stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "../../../../src/server/stores/telemetry/schema.ts";
import { createSqliteTelemetryStore, type TelemetryOptions } from "../../../../src/server/stores/telemetry/sqlite.ts";
import type { QueryLogEntry, TelemetryStore } from "../../../../src/server/stores/telemetry/store.ts";
import { TempFolder, TestClock } from "../../../harness/running-server.ts";
import { query as queryAt, span } from "./records.ts";

let folder: TempFolder;
let clock: TestClock;
let store: TelemetryStore;

const open = (options: Partial<TelemetryOptions> = {}) =>
  createSqliteTelemetryStore({ path: join(folder.path, "telemetry.db"), programVersion: "1", clock, ...options });

const reopen = async (options: Partial<TelemetryOptions> = {}): Promise<void> => {
  await store.close();
  store = open(options);
};

beforeEach(() => {
  folder = new TempFolder();
  clock = new TestClock();
  store = open();
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const query = (id: string, more: Partial<QueryLogEntry> = {}) => queryAt(id, clock.now(), more);
/** The ids of all queries, oldest first. */
const ids = async (limit = 5000) => (await store.queries({ environmentId: "env_1", limit })).map(({ queryId }) => queryId).toReversed();

describe("telemetry store on SQLite", () => {
  test("what finds no room is dropped, counted and told, and room comes back", async () => {
    const told: number[] = [];
    await reopen({ maxPending: 10, onDrop: (dropped) => told.push(dropped) });
    expect(store.hasRoom()).toBe(true);
    for (let n = 1; n <= 25; n++) store.recordQuery(query(String(n)));
    expect([store.hasRoom(), store.dropped()]).toEqual([false, 15]);
    expect(await ids()).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    expect(store.hasRoom()).toBe(true);
    store.recordQuery(query("qry_later"));
    expect((await store.query("qry_later"))?.queryId).toBe("qry_later");
    await store.close();
    expect(told).toEqual([15]);
  });

  test("the first migration after an update reports the move of the schema, and the next has nothing to do", async () => {
    await store.close();
    const path = join(folder.path, "telemetry.db");
    const old = TELEMETRY_MIGRATIONS.slice(0, 1);
    openDatabase({ path, applicationId: TELEMETRY_APPLICATION_ID, migrations: old, synchronous: "normal", programVersion: "1" }).close();
    store = open();
    store.recordQuery(query("after"));
    await store.flush();
    const newest = TELEMETRY_MIGRATIONS.length;
    expect(await store.migrate()).toEqual({ from: 1, to: newest });
    expect(await store.migrate()).toEqual({ from: newest, to: newest });
  });

  test("a lower limit removes the oldest records at once", async () => {
    const text = "x".repeat(2_000);
    for (let n = 0; n < 2_000; n++) store.recordQuery(query(`${n} ${text}`));
    await store.flush();
    const { bytes } = await store.figures();
    await store.limit({ maxBytes: bytes / 2, maxAgeMs: undefined });
    expect((await store.figures()).bytes).toBeLessThanOrEqual(bytes / 2);
    const left = await ids();
    expect([left.length > 0, left.at(-1)?.split(" ")[0], left[0]?.split(" ")[0] !== "0"]).toEqual([true, "1999", true]);
  });

  test("what failed is kept where the rest is dropped", async () => {
    await reopen({ maxPending: 10 });
    for (let n = 1; n <= 30; n++) {
      store.recordQuery(query(`qry_ok_${n}`));
      store.recordQuery(query(`qry_failed_${n}`, { errorCount: 1 }));
    }
    const kept = (await store.queries({ environmentId: "env_1", limit: 99 })).map(({ queryId }) => queryId);
    expect(kept.filter((id) => id.startsWith("qry_failed"))).toHaveLength(30);
    expect(store.dropped()).toBe(60 - kept.length);
    expect(store.dropped()).toBeGreaterThan(20);
  });

  test("spans of a query are kept whole or dropped whole and counted when there is no room", async () => {
    await reopen({ maxPending: 3 });
    const spans = (ids: string, queryId: string) => [...ids].map((id, at) => span(id, clock.now() + at, { queryId }));
    store.recordSpans(spans("ab", "q1"));
    store.recordSpans(spans("cd", "q2"));
    store.recordSpans(spans("ef", "q3"));
    store.recordQuery(query("q4"));
    expect([store.dropped(), store.droppedSpans()]).toEqual([3, 2]);
    expect((await store.spans({ traceId: "t1" })).map(({ spanId }) => spanId).sort()).toEqual(["a", "b", "c", "d"]);
  });

  test("large bodies count by their size", async () => {
    await reopen({ maxPendingBytes: 100_000 });
    for (let n = 1; n <= 5; n++) store.recordQuery(query(`qry_${n}`, { response: "x".repeat(60_000) }));
    expect(store.dropped()).toBe(3);
    expect((await store.query("qry_2"))?.response).toHaveLength(60_000);
    expect(await store.query("qry_3")).toBeUndefined();
  });

  test("a body larger than all before it leaves the others of its batch as they are", async () => {
    const responses = ["é".repeat(100), "ö€".repeat(300_000), "x".repeat(200_000)];
    for (const [n, response] of responses.entries()) store.recordQuery(query(`qry_${n}`, { response }));
    for (const [n, response] of responses.entries()) {
      const kept = await store.query(`qry_${n}`);
      expect([kept?.request, kept?.response === response, kept?.origins]).toEqual([query("").request, true, "m.name\n"]);
    }
  });

  test("bodies that resemble each other take little room", async () => {
    const response = JSON.stringify(Array.from({ length: 40 }, (_, n) => ({ field: `user.feature_${n}`, ts: "2024-05-01T12:00:00Z" })));
    for (let n = 0; n < 1_000; n++) store.recordQuery(query(`qry_${n}`, { response }));
    await store.close();
    expect(readFileSync(join(folder.path, "telemetry.db")).length).toBeLessThan((1_000 * response.length) / 4);
  });

  test("records end after their time, and the oldest go when the file is too big", async () => {
    await reopen({ ttlMs: 1000, maxBytes: 400_000 });
    store.recordQuery(query("qry_old"));
    await store.flush();
    clock.advance(120_000);
    store.recordQuery(query("qry_new"));
    expect(await store.query("qry_old")).toBeUndefined();
    expect((await store.query("qry_new"))?.queryId).toBe("qry_new");
    for (let n = 0; n < 1500; n++) store.recordQuery(query(`${n} ${"x".repeat(1000)}`));
    await store.flush();
    clock.advance(60_001);
    store.recordQuery(query("last"));
    const left = await ids();
    expect(left.length).toBeLessThan(600);
    expect(left.at(-1)).toBe("last");
    const db = new Database(join(folder.path, "telemetry.db"), { readonly: true });
    expect(db.query("select count(*) as n from body where id not in (select body from query_log)").get()).toEqual({ n: 0 });
    db.close();
  });

  test("a store that cannot be written drops and tells, and the server goes on", async () => {
    const errors: unknown[] = [];
    await reopen({ onError: (error) => errors.push(error) });
    await store.flush();
    store.recordQuery(query("kept"));
    expect(await ids()).toEqual(["kept"]);
    const blocker = new Database(join(folder.path, "telemetry.db"));
    blocker.run("create trigger full before insert on query_log begin select raise(abort, 'database or disk is full'); end");
    store.recordQuery(query("lost"));
    store.recordQuery(query("qry_lost"));
    await store.flush();
    expect([errors.length, store.dropped()]).toEqual([1, 2]);
    store.recordQuery(query("lost too"));
    await store.flush();
    expect([errors.length, store.dropped()]).toEqual([1, 3]);
    blocker.run("create trigger packed before insert on body begin select raise(abort, 'database or disk is full'); end");
    expect(await store.probe().catch(String)).toContain("disk is full");
    blocker.run("drop trigger packed");
    blocker.run("drop trigger full");
    blocker.close();
    store.recordQuery(query("again"));
    expect(await ids()).toEqual(["kept", "again"]);
    await store.probe();
  });

  test("a file that is damaged while it is used is set aside, and begun anew", async () => {
    const renewed: string[] = [];
    await reopen({ onRenewal: (reason, kept) => renewed.push(`${reason}: ${kept}`) });
    store.recordQuery(query("before"));
    expect(await ids()).toEqual(["before"]);
    const other = new Database(join(folder.path, "telemetry.db"));
    other.run("drop table query_log");
    other.close();
    store.recordQuery(query("after"));
    expect(await ids()).toEqual(["after"]);
    expect(renewed).toEqual([expect.stringMatching(/no such table: .*telemetry\.db\.damaged$/)]);
    const kept = new Database(join(folder.path, "telemetry.db.damaged"), { readonly: true });
    expect(kept.query("select count(*) as n from span").get()).toEqual({ n: 0 });
    kept.close();
  });

  test("a file that cannot be opened is said with each batch, and used once it can", async () => {
    await store.close();
    const errors: unknown[] = [];
    const path = join(folder.path, "later", "telemetry.db");
    store = open({ path, onError: (error) => errors.push(error) });
    store.recordQuery(query("lost"));
    await store.flush();
    expect([errors.length, store.dropped()]).toEqual([1, 1]);
    await Bun.write(join(folder.path, "later", "made"), "");
    store.recordQuery(query("kept"));
    expect(await ids()).toEqual(["kept"]);
  });
});

test("queries and spans of an older version stay, and their traces are listed", async () => {
  using older = new TempFolder();
  const path = join(older.path, "telemetry.db");
  const migrations = TELEMETRY_MIGRATIONS.slice(0, 2);
  const old = openDatabase({ path, applicationId: TELEMETRY_APPLICATION_ID, migrations, programVersion: "0", synchronous: "normal" });
  old.run("insert into body values (1, ?)", [Bun.zstdCompressSync(new TextEncoder().encode("{}"))]);
  old.run("insert into query_log values (1, 'q1', 'env_1', 'dpl_1', '', 5, 2, 'n', 'c', 0, null, 'json', 1, 0, 2, null, 0)");
  for (const [id, kind, attributes] of [
    ["s1", "gateway", '{"query_name":"n"}'],
    ["s2", "worker", '{"rows_in":"1"}'],
  ] as const)
    old.run("insert into span values (null, 't1', ?, '', ?, 'x', 5, 2, '', ?, 'q1', 'env_1', 'dpl_1')", [id, kind, attributes]);
  old.close();
  const newer = createSqliteTelemetryStore({ path, programVersion: "1", clock: { now: () => 10, sleep: (ms) => Bun.sleep(ms) } });
  expect(await newer.query("q1")).toMatchObject({ queryId: "q1", kind: "", planHash: "", hitShare: null, primaryKey: "" });
  const { traces } = await newer.traces({ environmentId: "env_1", service: "svc-python", name: "" }, 10);
  expect(traces).toMatchObject([{ traceId: "t1", spanCount: 2, errorCount: 0, queryName: "n", startedAt: 5, endedAt: 7 }]);
  expect((await newer.spans({ traceId: "t1" })).map(({ attributes }) => attributes)).toEqual([
    { "svc.query.name": "n" },
    { "svc.rows.in": "1" },
  ]);
  await newer.close();
});
