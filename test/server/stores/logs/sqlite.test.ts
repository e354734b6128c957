/** What the log store on SQLite does beyond every log store: its bounds, its file, its past. */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSqliteLogStore, type LogsOptions } from "../../../../src/server/stores/logs/sqlite.ts";
import type { LogStore } from "../../../../src/server/stores/logs/store.ts";
import { openDatabase } from "../../../../src/server/stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "../../../../src/server/stores/telemetry/schema.ts";
import { TempFolder, TestClock } from "../../../harness/running-server.ts";
import { filter, line as lineAt, request } from "./records.ts";

let folder: TempFolder;
let clock: TestClock;
let store: LogStore;

const open = (options: Partial<LogsOptions> = {}) =>
  createSqliteLogStore({ path: join(folder.path, "logs.db"), programVersion: "1", clock, ...options });
const reopen = async (options: Partial<LogsOptions> = {}): Promise<void> => {
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
const line = (message: string, more: Parameters<typeof lineAt>[2] = {}) => lineAt(message, clock.now(), more);
const texts = async (search = "") => (await store.search(filter(search), 10_000)).records.map(({ message }) => message);

test("what finds no room is dropped, counted and told, errors last, and room comes back", async () => {
  const told: number[] = [];
  await reopen({ maxPending: 10, onDrop: (dropped) => told.push(dropped) });
  for (let n = 0; n < 15; n++) store.record(line(`l${n}`));
  for (let n = 0; n < 35; n++) store.record(line(`e${n}`, { level: "error" }));
  expect(store.dropped()).toBe(10);
  expect((await texts("l")).length).toBe(10);
  expect((await texts("level:error")).length).toBe(30);
  store.record(line("later"));
  expect((await texts())[0]).toBe("later");
  await store.close();
  expect(told).toEqual([10]);
});

test("long messages count by their size, but not by what is cut", async () => {
  await reopen({ maxPendingBytes: 20_000 });
  for (let n = 0; n < 5; n++) store.record(line("x".repeat(1_000_000)));
  expect(store.dropped()).toBe(2);
});

test("many requests crowd out no lines", async () => {
  for (let n = 0; n < 200; n++) store.record(line(`line ${n} ${"x".repeat(500)}`));
  for (let n = 0; n < 6_000; n++) store.record(request(`/${n}/${"x".repeat(500)}`, clock.now(), {}));
  await store.flush();
  await store.limit({ maxBytes: (await store.figures()).bytes / 3, maxAgeMs: undefined });
  expect((await texts()).length).toBe(200);
});

test("a store that cannot be written drops and tells, and goes on", async () => {
  const errors: unknown[] = [];
  await reopen({ onError: (error) => errors.push(error) });
  store.record(line("kept"));
  expect(await texts()).toEqual(["kept"]);
  using blocker = new Database(join(folder.path, "logs.db"));
  blocker.run("create trigger full before insert on line begin select raise(abort, 'database or disk is full'); end");
  store.record(line("lost"));
  store.record(request("/lost", clock.now(), {}));
  await store.flush();
  expect([errors.length, store.dropped()]).toEqual([1, 2]);
  expect(await store.probe().catch(String)).toContain("disk is full");
  blocker.run("drop trigger full");
  store.record(line("again"));
  expect(await texts()).toEqual(["again", "kept"]);
});

test("a file that is damaged while it is used is set aside, and begun anew", async () => {
  const renewed: string[] = [];
  await reopen({ onRenewal: (reason, kept) => renewed.push(`${reason}: ${kept}`) });
  store.record(line("before"));
  expect(await texts()).toEqual(["before"]);
  using other = new Database(join(folder.path, "logs.db"));
  other.run("drop table line");
  store.record(line("after"));
  expect(await texts()).toEqual(["after"]);
  expect(renewed).toEqual([expect.stringMatching(/no such table: .*logs\.db\.damaged$/)]);
});

test("a search goes through everything, in steps", async () => {
  for (let n = 0; n < 45_000; n++) {
    store.record(line(n === 0 ? "needle" : `hay ${n}`));
    if (n % 10_000 === 9_999) await store.flush();
  }
  const found: string[] = [];
  for (let next: number | undefined = Number.MAX_SAFE_INTEGER; next !== undefined; ) {
    const page = await store.search(filter("needle"), 10, next);
    found.push(...page.records.map(({ message }) => message));
    next = page.next;
  }
  expect(found).toEqual(["needle"]);
});

describe("lines of an older telemetry.db", () => {
  const AT = Math.floor(Date.now());
  const old = () => join(folder.path, "telemetry.db");
  const openOld = () =>
    openDatabase({
      path: old(),
      applicationId: TELEMETRY_APPLICATION_ID,
      migrations: TELEMETRY_MIGRATIONS,
      synchronous: "normal",
      programVersion: "1",
    });
  const addLines = (from: number, count: number) => {
    using db = openOld();
    const insert = db.query(
      "insert into log (environment_id, deployment_id, at, level, logger, resolver, query_id, text) values (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    for (let n = from; n < from + count; n++)
      insert.run("env_1", "dpl_1", AT + 0.25, "info", n % 2 === 0 ? "deployment" : "stdout", "r", n % 2 === 0 ? "" : `qry_${n}`, `t${n}`);
  };

  test("are carried over once, whole, and again what an older version adds", async () => {
    addLines(0, 12_001);
    await reopen({ carryFrom: old() });
    expect((await texts()).length).toBe(10_000);
    const counted = async () => (await store.aggregate(filter(), 3_600_000)).reduce((sum, { count }) => sum + count, 0);
    expect(await counted()).toBe(12_001);
    const [query, build] = (await store.search(filter("t11 OR t12"), 5_000)).records
      .filter(({ message }) => ["t11", "t12"].includes(message))
      .toReversed();
    expect(query).toMatchObject({ component: "engine", operationId: "qry_11", logger: "stdout", at: AT * 1_000 + 250 });
    expect(build).toMatchObject({ component: "build", operationId: "dpl_1", deploymentId: "dpl_1" });
    await reopen({ carryFrom: old() });
    expect(await counted()).toBe(12_001);
    addLines(12_001, 3);
    await reopen({ carryFrom: old() });
    expect(await counted()).toBe(12_004);
    using left = openOld();
    expect(left.query("select count(*) as n from log").get()).toEqual({ n: 0 });
  });

  test("that were copied but not yet removed are not copied again", async () => {
    addLines(0, 3);
    using held = openOld();
    held.run("create trigger held before delete on log begin select raise(abort, 'not now'); end");
    const errors: unknown[] = [];
    await reopen({ carryFrom: old(), onError: (error) => errors.push(error) });
    expect(await texts()).toEqual(["t2", "t1", "t0"]);
    expect(String(errors[0])).toContain("not now");
    held.run("drop trigger held");
    await reopen({ carryFrom: old() });
    expect(await texts()).toEqual(["t2", "t1", "t0"]);
    expect(held.query("select count(*) as n from log").get()).toEqual({ n: 0 });
  });

  test.each(["missing", "garbage", "of another program"])("are not there, as the file is %s", async (what) => {
    if (what === "garbage") writeFileSync(old(), "x".repeat(5_000));
    if (what === "of another program") new Database(old()).run("create table log (seq integer)");
    await reopen({ carryFrom: old() });
    store.record(line("own"));
    expect(await texts()).toEqual(["own"]);
  });
});
