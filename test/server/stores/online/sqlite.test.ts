import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unpackedList } from "../../../../src/server/stores/online/packed-list.ts";
import { openRenewableOnlineStore } from "../../../../src/server/stores/online/renewable.ts";
import { ONLINE_MIGRATIONS } from "../../../../src/server/stores/online/schema.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore, StoredValue, ValueWrite } from "../../../../src/server/stores/online/store.ts";
import { eventually } from "../../../harness/eventually.ts";

const root = mkdtempSync(join(tmpdir(), "svc-online-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let places = 0;
const newPath = (): string => join(root, `${places++}.db`);

const write = (key: number, featureId: number, value: ValueWrite["value"], observedAt = 1): ValueWrite => ({
  namespace: "user",
  key: `i:${key}`,
  featureId,
  value,
  observedAt,
  resolver: "m.f",
});

const put = (store: OnlineStore, values: readonly ValueWrite[]): void => store.put("main", { values, rows: [] });

/** What an open store has for a row's feature; it answers at once. */
function storedAt(store: OnlineStore, key: number, featureId: number): StoredValue | undefined {
  const found = store.read("main", { values: [{ namespace: "user", keys: [`i:${key}`], featureIds: [featureId] }], rows: [] });
  if (found instanceof Promise) throw new Error("a store in this process answers at once");
  return found.values[0]?.[0]?.[0];
}

describe("sqlite online store", () => {
  test("writes reach the file without a close, in the background", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path);
    const reader = new Database(path, { readonly: true });
    const count = (): number => reader.query<{ n: number }, []>("select count(*) n from online").get()?.n ?? 0;
    put(
      store,
      Array.from({ length: 500 }, (_, key) => write(key, 1, key)),
    );
    expect(count()).toBe(0);
    await eventually(() => count() === 500, "500 rows in the file");
    reader.close();
    await store.close();
  });

  test("the log stays bounded while much is written", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path);
    const text = "x".repeat(200);
    let largest = 0;
    for (let round = 0; round < 60; round++) {
      put(
        store,
        Array.from({ length: 1_000 }, (_, key) => write((key * 7919 + round * 31) % 20_000, round % 20, text, round)),
      );
      largest = Math.max(largest, statSync(`${path}-wal`).size);
      await Bun.sleep(0);
    }
    await store.close();
    expect(largest).toBeLessThan(100 * 1024 * 1024);
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    const reopened = openSqliteOnlineStore(path);
    expect(storedAt(reopened, 0, 0)).toMatchObject({ value: text });
    await reopened.close();
  });

  test("more than maxPending unwritten values are written before put returns", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path, { maxPending: 100 });
    put(
      store,
      Array.from({ length: 1_000 }, (_, key) => write(key, 1, key)),
    );
    const reader = new Database(path, { readonly: true });
    expect(reader.query<{ n: number }, []>("select count(*) n from online").get()?.n).toBeGreaterThanOrEqual(900);
    reader.close();
    await store.close();
  });

  test("a file that refuses writes is reported; reads and memory go on, and writing resumes", async () => {
    const path = newPath();
    const failures: Error[] = [];
    const store = openSqliteOnlineStore(path, { onWriteFailure: (error) => failures.push(error) });
    const other = new Database(path);
    other.run("create trigger full before insert on online begin select raise(abort, 'database or disk is full'); end");
    put(store, [write(1, 1, "kept")]);
    await eventually(() => failures.length > 0, "a failure to write");
    expect(failures[0]?.message).toContain("disk is full");
    expect(storedAt(store, 1, 1)).toMatchObject({ value: "kept" });
    expect(() => store.probe()).toThrow("disk is full");
    other.run("drop trigger full");
    other.close();
    await store.close();
    const reopened = openSqliteOnlineStore(path);
    expect(storedAt(reopened, 1, 1)).toMatchObject({ value: "kept" });
    await reopened.close();
  });

  test("what the file refuses and memory cannot hold is dropped, counted and told, and flush says so", async () => {
    const path = newPath();
    const told: number[] = [];
    const store = openSqliteOnlineStore(path, { maxPending: 10, onDrop: (values) => told.push(values) });
    const other = new Database(path);
    other.run("create trigger full before insert on online begin select raise(abort, 'database or disk is full'); end");
    put(store, [write(1, 1, "waits")]);
    const refused = store.flush();
    expect(await refused.catch(String)).toContain("disk is full");
    expect([store.dropped(), storedAt(store, 1, 1)?.value]).toEqual([0, "waits"]);
    put(
      store,
      Array.from({ length: 20 }, (_, key) => write(key, 2, "no room")),
    );
    expect([store.dropped(), told, storedAt(store, 1, 1), storedAt(store, 1, 2)]).toEqual([21, [21], undefined, undefined]);
    other.run("drop trigger full");
    other.close();
    put(store, [write(2, 1, "again")]);
    await store.flush();
    expect([store.dropped(), storedAt(store, 2, 1)?.value]).toEqual([21, "again"]);
    await store.close();
  });

  test("what flush acknowledged is there after the process was killed", async () => {
    const path = newPath();
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "flush-and-wait.ts"), path], { stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    child.kill("SIGKILL");
    await child.exited;
    expect(new TextDecoder().decode(value)).toBe("flushed\n");
    const store = openSqliteOnlineStore(path);
    for (let key = 0; key < 1_000; key++) expect(storedAt(store, key, 1)?.value).toBe(key);
    await store.close();
  });

  test("a file without expiry is brought to the newest schema; what it holds is served, and never expires", async () => {
    const path = newPath();
    const old = new Database(path, { create: true });
    ONLINE_MIGRATIONS[0]?.(old);
    old.run("insert into online values ('main', 'user', 'i:1', 1, '\"kept\"', 5, 5, 'm.f')");
    old.run("pragma application_id = 0x7376636f");
    old.run("pragma user_version = 1");
    old.close();
    const store = openSqliteOnlineStore(path, { now: () => 1e15 });
    expect(storedAt(store, 1, 1)).toEqual({ value: "kept", observedAt: 5, resolver: "m.f" });
    expect([await store.sweep(), storedAt(store, 1, 1)?.value]).toEqual([0, "kept"]);
    await store.close();
    expect(statSync(`${path}.v1.backup`).size).toBeGreaterThan(0);
  });

  test("lists of numbers that are stored as text are read as they were, and visited as vectors", async () => {
    const path = newPath();
    await openSqliteOnlineStore(path).close();
    const numbers = Array.from({ length: 12 }, (_, n) => n / 7);
    const db = new Database(path);
    const stored =
      "insert into online (scope, ns, pk, fid, value, observed_at, inserted_at, op) values ('main', 'user', ?, 1, ?, 5, 5, 'm.f')";
    db.query(stored).run("i:1", JSON.stringify(numbers));
    db.query(stored).run("i:2", '[1,{"$float":"NaN"},null]');
    db.close();
    const store = openSqliteOnlineStore(path);
    expect(storedAt(store, 1, 1)).toEqual({ value: numbers, observedAt: 5, resolver: "m.f" });
    expect(storedAt(store, 2, 1)?.value).toEqual([1, Number.NaN, null]);
    const visited: (readonly [string, number[]])[] = [];
    await store.eachVector("main", { namespace: "user", featureId: 1 }, (vectors) =>
      visited.push(...vectors.map(({ key, packed }) => [key, unpackedList(packed)] as const)),
    );
    expect(visited).toEqual([["i:1", numbers]]);
    await store.close();
  });

  test("a vector takes the bytes of its elements in the smallest precision that holds them", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path);
    const vector = (round: (number: number) => number) => Array.from({ length: 768 }, (_, n) => round(Math.sin(n)));
    put(store, [write(1, 1, vector(Math.f16round)), write(1, 2, vector(Math.fround)), write(1, 3, vector(Number))]);
    await store.flush();
    await store.close();
    const db = new Database(path, { readonly: true });
    const sizes = db.query<{ bytes: number }, []>("select length(value) as bytes from online order by fid").all();
    expect(sizes.map(({ bytes }) => bytes)).toEqual([2 * 768 + 1, 4 * 768 + 1, 8 * 768 + 1]);
    db.close();
  });

  test("room that a sweep made is used again", async () => {
    const path = newPath();
    let now = 1_000;
    const store = openSqliteOnlineStore(path, { now: () => now });
    const sizes: number[] = [];
    for (let round = 0; round < 5; round++) {
      put(
        store,
        Array.from({ length: 2_000 }, (_, key) => ({ ...write(round * 2_000 + key, 1, "x".repeat(200)), expiresAt: now + 10 })),
      );
      await store.flush();
      now += 100;
      expect(await store.sweep()).toBe(2_000);
      const db = new Database(path, { readonly: true });
      sizes.push(db.query<{ page_count: number }, []>("pragma page_count").get()?.page_count ?? 0);
      db.close();
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual((sizes[0] as number) * 1.1);
    await store.close();
  });

  test("a sweep that meets damage has the file set aside and begun anew", async () => {
    const path = newPath();
    const { promise: renewed, resolve } = Promise.withResolvers<string>();
    const store = openRenewableOnlineStore(path, { onRenewal: (_, kept) => resolve(kept) });
    put(store, [{ ...write(1, 1, "old"), expiresAt: 1 }]);
    await store.flush();
    const other = new Database(path);
    other.run("drop table online");
    other.close();
    expect(await store.sweep().catch(String)).toContain("no such table");
    expect(await renewed).toBe(`${path}.damaged`);
    put(store, [write(1, 1, "new")]);
    await store.flush();
    expect(storedAt(store, 1, 1)?.value).toBe("new");
    await store.close();
  });

  test("the file is private, and a damaged or newer one is refused untouched", async () => {
    const path = newPath();
    await openSqliteOnlineStore(path).close();
    expect(statSync(path).mode & 0o077).toBe(0);
    const db = new Database(path);
    db.run("pragma user_version = 99");
    db.close();
    const before = Bun.hash(await Bun.file(path).bytes());
    expect(() => openSqliteOnlineStore(path, { programVersion: "v0" })).toThrow("schema 99");
    expect(Bun.hash(await Bun.file(path).bytes())).toBe(before);
    const damaged = newPath();
    writeFileSync(damaged, "this is no database, whatever its name says, and it is long enough to hold a header of 100 bytes. Really.");
    chmodSync(damaged, 0o600);
    expect(() => openSqliteOnlineStore(damaged)).toThrow("cannot be read");
  });

  test("a process that is killed leaves a sound file with values that were put", async () => {
    const path = newPath();
    for (let round = 0; round < 5; round++) {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "write-forever.ts"), path, String(round)], { stdout: "pipe" });
      const reader = child.stdout.getReader();
      const decoder = new TextDecoder();
      let said = "";
      while (said.split("\n").length < 4 + round * 7) {
        const { done, value } = await reader.read();
        if (done) throw new Error("the writer ended by itself");
        said += decoder.decode(value);
      }
      child.kill("SIGKILL");
      await child.exited;
      const settled = Number(said.trimEnd().split("\n").at(-2));

      const db = new Database(path);
      expect(db.query<{ integrity_check: string }, []>("pragma integrity_check").get()?.integrity_check).toBe("ok");
      const rows = db.query<{ pk: string; fid: number; value: string; observed_at: number }, []>("select * from online").all();
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(JSON.parse(row.value)).toEqual({ key: row.pk, fid: row.fid, at: row.observed_at });
      db.close();

      const store = openSqliteOnlineStore(path);
      const newest = Math.max(...rows.map((row) => row.observed_at));
      expect(newest).toBeGreaterThanOrEqual(settled);
      expect(storedAt(store, 0, 1)).toBeDefined();
      store.probe();
      await store.close();
    }
  }, 300_000);
});
