import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteOnlineStore, type SqliteOnlineOptions } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore, OnlineWrite } from "../../../../src/server/stores/online.ts";
import { eventually } from "../../../harness/eventually.ts";
import { onlineStoreConformance, type StorePlace } from "../online.conformance.ts";

const root = mkdtempSync(join(tmpdir(), "svc-online-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let places = 0;
const newPath = (): string => join(root, `${places++}.db`);

function filePlace(options?: SqliteOnlineOptions): () => StorePlace {
  return () => {
    const path = newPath();
    return { open: () => openSqliteOnlineStore(path, options), durable: true, remove: () => {} };
  };
}

onlineStoreConformance("sqlite file", filePlace());
onlineStoreConformance("sqlite file, no room in memory", filePlace({ cacheBytes: 0, maxPending: 3 }));
onlineStoreConformance("sqlite in memory", () => ({
  open: () => openSqliteOnlineStore(":memory:"),
  durable: false,
  remove: () => {},
}));

const write = (key: number, featureId: number, value: OnlineWrite["value"], observedAt = 1): OnlineWrite => ({
  namespace: "user",
  key: `i:${key}`,
  featureId,
  value,
  observedAt,
  resolver: "m.f",
});

const storedAt = (store: OnlineStore, key: number, featureId: number): unknown =>
  (store.getMany("main", "user", [`i:${key}`], [featureId]) as ReturnType<OnlineStore["getMany"]> & unknown[][])[0]?.[0];

describe("sqlite online store", () => {
  test("writes reach the file without a close, in the background", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path);
    const reader = new Database(path, { readonly: true });
    const count = (): number => reader.query<{ n: number }, []>("select count(*) n from online").get()?.n ?? 0;
    store.putMany(
      "main",
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
      store.putMany(
        "main",
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

  test("more than maxPending unwritten values are written before putMany returns", async () => {
    const path = newPath();
    const store = openSqliteOnlineStore(path, { maxPending: 100 });
    store.putMany(
      "main",
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
    store.putMany("main", [write(1, 1, "kept")]);
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
  }, 60_000);
});
