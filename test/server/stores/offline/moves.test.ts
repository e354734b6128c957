/** Moves of observations to the history, whatever dies on the way. */

import { expect, test } from "bun:test";
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createSqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import { type FeatureVersion, OfflineStoreError } from "../../../../src/server/stores/offline/store.ts";
import { eventually } from "../../../harness/eventually.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { runs, seed } from "../../../harness/seed.ts";
import { openEmbedded } from "./drivers.ts";
import { featureVersion } from "./versions.ts";

type Store = ReturnType<typeof openEmbedded>;

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** All values of a feature. */
async function valuesOf(store: Pick<Store, "scan">, featureId: number): Promise<number[]> {
  return (await store.scan(featureId, { limit: 1_000_000 })).map(({ value }) => value as number);
}

function append(store: Pick<Store, "append">, version: FeatureVersion, values: readonly number[]) {
  return store.append([
    {
      version,
      deploymentId: "dpl_1",
      resolver: "m.f",
      op: "query",
      keys: values.map((value) => `i:${value % 5}`),
      observedAt: values,
      values,
    },
  ]);
}

/** Rows that `moving-process.ts` stores in one commit. */
const ROWS_OF_COMMIT = 30;

test("what was acknowledged is there once, whatever was killed while it was moved", async () => {
  using folder = new TempFolder();
  let random = seed;
  const below = (limit: number): number => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((random / 2 ** 31) * limit);
  };
  const acknowledged: (readonly [first: number, last: number])[] = [];
  let deaths = 0;
  for (let round = 1; round <= runs(4, 50); round++) {
    const first = round * 1_000_000;
    /** Every other one kills itself between the two halves of a move. */
    const lastMove = round % 2 === 0 ? 1 + below(6) : 0;
    const program = join(import.meta.dir, "moving-process.ts");
    const child = Bun.spawn([process.execPath, program, folder.path, String(first), String(lastMove)], {
      stdout: "pipe",
      stderr: "ignore",
    });
    const last = 10 + below(50);
    const ofHistory = new Set(Array.from({ length: below(4) }, () => 1 + below(last)));
    /** Counted from the first move. */
    let lines = 0;
    let hasMoved = false;
    let history = 0;
    let stored = first - 1;
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of child.stdout) {
      text += decoder.decode(piece, { stream: true });
      const whole = text.split("\n");
      text = whole.pop() ?? "";
      for (const line of whole) {
        const [what, number] = line.split(" ");
        if (what === "history") history = Number(number);
        else if (what === "stored") stored = Number(number);
        else hasMoved = true;
        if (!hasMoved) continue;
        lines++;
        if (ofHistory.has(lines) && history > 0 && kill(history)) deaths++;
        if (lines === last && lastMove === 0) child.kill("SIGKILL");
      }
    }
    await child.exited;
    acknowledged.push([first, stored]);
    const store = openEmbedded(folder.path);
    const found = new Set<number>();
    let count = 0;
    for (const id of [1, 2, 3])
      for (const value of await valuesOf(store, id)) {
        found.add(value);
        count++;
      }
    await store.close();
    expect(found.size).toBe(count);
    let certain = 0;
    for (const [from, to] of acknowledged)
      for (let value = from; value <= to; value++) {
        if (!found.has(value)) throw new Error(`value ${value} of round ${round} was acknowledged and is lost`);
        certain++;
      }
    expect(count - certain).toBeLessThanOrEqual(acknowledged.length * ROWS_OF_COMMIT);
  }
  expect(deaths).toBeGreaterThan(0);
});

test("nothing is moved, and no process started, while little is stored; reads are then those of landing", async () => {
  using folder = new TempFolder();
  let starts = 0;
  const store = openEmbedded(folder.path, { rowsPerMove: 100, onStart: () => starts++ });
  const version = featureVersion(1);
  await append(store, version, upTo(99));
  expect(sorted(await valuesOf(store, 1))).toEqual(upTo(99));
  expect(await store.scanKeys("env_1", "user")).toHaveLength(5);
  expect([starts, existsSync(join(folder.path, "offline.duckdb"))]).toEqual([0, false]);
  await append(store, version, [99]);
  await eventually(() => starts === 1, "the process of the history");
  expect(sorted(await valuesOf(store, 1))).toEqual(upTo(100));
  const { bytes, environments } = await store.measure();
  expect(bytes).toBeGreaterThan(0);
  expect([...environments.keys()]).toEqual(["env_1"]);
  await store.close();
});

test("a probe is answered without a move, however much waits", async () => {
  using folder = new TempFolder();
  const store = openEmbedded(folder.path);
  await append(store, featureVersion(1), [1]);
  await store.exportKeys({ environmentId: "env_1", namespace: "user" }, join(folder.path, "keys.parquet"));
  await append(store, featureVersion(1), [2, 3]);
  await store.probe();
  await store.close();
  const landing = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1.0.0", now: () => 1 });
  expect(sorted(await valuesOf(landing, 1))).toEqual([2, 3]);
  await landing.close();
});

test("a file of before, with more than one move holds, moves over page by page", async () => {
  using folder = new TempFolder();
  const before = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1.0.0", now: () => 1 });
  const versions = [1, 2, 3, 4].map((id) => featureVersion(id));
  for (const version of versions) await append(before, version, upTo(250));
  await before.close();
  let moves = 0;
  const store = openEmbedded(folder.path, {
    rowsPerMove: 100,
    between: (method, call) => {
      if (method === "move") moves++;
      return call();
    },
  });
  await append(store, featureVersion(1), [250]);
  await store.exportKeys({ environmentId: "env_1", namespace: "user" }, join(folder.path, "keys.parquet"));
  for (const { featureId } of versions) expect(sorted(await valuesOf(store, featureId))).toEqual(upTo(featureId === 1 ? 251 : 250));
  expect(moves).toBeGreaterThanOrEqual(11);
  await store.close();
  const landing = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1.0.0", now: () => 1 });
  expect(await landing.scan(1, { limit: 1 })).toEqual([]);
  await landing.close();
});

test("tables are written anew in order, without what was deleted; the values stay", async () => {
  using folder = new TempFolder();
  const compactions: Promise<number>[] = [];
  const between = (method: string, call: () => Promise<unknown>): Promise<unknown> => {
    const answer = call();
    if (method === "compact") compactions.push(answer as Promise<number>);
    return answer;
  };
  const store = openEmbedded(folder.path, { rowsPerMove: 1_000, unorderedRows: 2_000, between });
  for (let part = 0; part < 5; part++)
    await append(
      store,
      featureVersion(1),
      upTo(1_000).map((n) => n * 5 + part),
    );
  await eventually(async () => (await Promise.all(compactions)).some((tables) => tables > 0), "a table written anew");
  expect(sorted(await valuesOf(store, 1))).toEqual(upTo(5_000));
  expect(await store.deleteKeys([1], ["i:0", "i:1", "i:2"])).toBe(3_000);
  compactions.length = 0;
  await append(store, featureVersion(2), upTo(1_000));
  await eventually(async () => (await Promise.all(compactions)).some((tables) => tables > 0), "a table written anew");
  expect(sorted(await valuesOf(store, 1))).toEqual(upTo(5_000).filter((value) => value % 5 > 2));
  await store.close();
});

test("where the engine cannot run, the store goes on without a history and says so once", async () => {
  using folder = new TempFolder();
  const said: string[] = [];
  const store = openEmbedded(folder.path, {
    rowsPerMove: 10,
    onUnavailable: (reason) => said.push(reason),
    between: () => Promise.reject(new OfflineStoreError("unusable", "libstdc++.so.6 is missing on this machine")),
  });
  for (let part = 0; part < 3; part++) await append(store, featureVersion(1), upTo(20));
  expect(await valuesOf(store, 1)).toHaveLength(60);
  const failed = await store
    .exportKeys({ environmentId: "env_1", namespace: "user" }, join(folder.path, "k"))
    .catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: "unusable", message: expect.stringContaining("libstdc++") });
  await append(store, featureVersion(1), upTo(20));
  expect(await valuesOf(store, 1)).toHaveLength(80);
  expect(said).toEqual(["libstdc++.so.6 is missing on this machine"]);
  await store.close();
});

test("of the two files, one that is missing, older or another one's is noticed; a new offline.db goes on after a lost one", async () => {
  using folder = new TempFolder();
  const at = (name: string): string => join(folder.path, name);
  const move = (store: Store) => store.exportKeys({ environmentId: "env_1", namespace: "user" }, at("keys.parquet"));
  const failure = async (): Promise<unknown> => {
    const store = openEmbedded(folder.path);
    const failed = await valuesOf(store, 1).catch((error: unknown) => error);
    expect(await append(store, featureVersion(1), [])).toEqual([]);
    await store.close();
    return failed;
  };
  let store = openEmbedded(folder.path);
  await append(store, featureVersion(1), upTo(10));
  await move(store);
  await store.close();
  copyFileSync(at("offline.db"), at("older.db"));
  store = openEmbedded(folder.path);
  await append(store, featureVersion(1), upTo(10));
  await move(store);
  await store.close();

  renameSync(at("offline.duckdb"), at("kept.duckdb"));
  if (existsSync(at("offline.duckdb.wal"))) renameSync(at("offline.duckdb.wal"), at("kept.duckdb.wal"));
  expect(await failure()).toMatchObject({ code: "damaged", message: expect.stringMatching(/offline\.duckdb is damaged: it is missing/) });
  expect(existsSync(at("offline.duckdb"))).toBe(false);
  renameSync(at("kept.duckdb"), at("offline.duckdb"));
  if (existsSync(at("kept.duckdb.wal"))) renameSync(at("kept.duckdb.wal"), at("offline.duckdb.wal"));

  renameSync(at("offline.db"), at("newer.db"));
  renameSync(at("older.db"), at("offline.db"));
  expect(await failure()).toMatchObject({ code: "damaged" });
  rmSync(at("offline.db"));

  store = openEmbedded(folder.path);
  await append(store, featureVersion(1), [77]);
  const found = await store.scan(1, { limit: 99 });
  expect(found).toHaveLength(21);
  expect(new Set(found.map(({ sequence }) => sequence)).size).toBe(21);
  expect(found.find(({ value }) => value === 77)).toMatchObject({ resolver: "m.f", deploymentId: "dpl_1" });
  expect(await store.tableNames(1)).toEqual(["obs_1_user__f1__v1"]);
  await store.close();
});

/** Kills a process; false when it is no more. */
function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}
