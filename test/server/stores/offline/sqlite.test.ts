/**
 * What the offline store on SQLite does beyond every offline store: SQL, and looking at all that it
 * keeps.
 */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSqliteOfflineStore, type SqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import type { FeatureVersion } from "../../../../src/server/stores/offline/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { dtypeOf, featureVersion } from "./versions.ts";

let folder: TempFolder;
let store: SqliteOfflineStore;
beforeEach(() => {
  folder = new TempFolder();
  store = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1.0.0", now: () => 1_000 });
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const append = (version: FeatureVersion, values: readonly (number | string)[]) =>
  store.append([
    {
      version,
      deploymentId: "dpl_1",
      resolver: "m.f",
      op: "query",
      keys: values.map(() => "i:1"),
      observedAt: values.map((_, at) => at),
      values,
    },
  ]);

test("what is stored is measured by environment in whole pages, again when it changed; a store that holds nothing is not made", async () => {
  const path = join(folder.path, "offline.db");
  expect(await store.measure()).toEqual({ bytes: 0, environments: new Map() });
  expect(existsSync(path)).toBe(false);
  const many = Array.from({ length: 3_000 }, (_, n) => n);
  await append(featureVersion(1), many);
  await append(featureVersion(2, { environmentId: "env_2" }), many);
  await append(featureVersion(3, { environmentId: "env_2", namespace: "other" }), [1]);
  /** Bytes of the pages of each environment's tables, page by page. */
  const pages = () => {
    using db = new Database(path, { readonly: true });
    const environments = new Map<string, number>();
    for (const { name, pgsize } of db.query<{ name: string; pgsize: number }, []>("select name, pgsize from dbstat").all()) {
      const environment = /^obs_1_/.test(name) ? "env_1" : /^obs_/.test(name) ? "env_2" : undefined;
      if (environment) environments.set(environment, (environments.get(environment) ?? 0) + pgsize);
    }
    return environments;
  };
  const first = await store.measure();
  expect(first.environments).toEqual(pages());
  expect(first.bytes).toBeGreaterThan([...first.environments.values()].reduce((sum, bytes) => sum + bytes, 0));
  expect(await store.measure()).toBe(first);
  await append(featureVersion(1), many);
  const grown = await store.measure();
  expect(grown.environments).toEqual(pages());
  expect((grown.environments.get("env_1") ?? 0) > (first.environments.get("env_1") ?? 0)).toBe(true);
  await store.dropVersion(1);
  expect([...(await store.measure()).environments.keys()]).toEqual(["env_2"]);
});

describe("statements", () => {
  test("a version has a table, named once something was stored; the earlier ones are its history", async () => {
    const first = featureVersion(1, { name: "grown" });
    const second = featureVersion(2, { name: "grown", internalVersion: 2, dtype: dtypeOf("STRING") });
    expect(await store.tableNames(1)).toEqual([]);
    await append(first, [1]);
    await append(second, ["a"]);
    const names = ["obs_1_user__grown__v1", "obs_2_user__grown__v2"];
    expect([await store.tableNames(2), await store.tableNames(2, true)]).toEqual([names.slice(1), names]);
    await store.dropVersion(1);
    expect([await store.tableNames(1), await store.tableNames(2, true)]).toEqual([[], names.slice(1)]);
  });

  test("a select sees the tables; anything else is refused, and nothing is written", async () => {
    await append(featureVersion(1, { dtype: dtypeOf("FLOAT64") }), [1, 2]);
    const [name] = await store.tableNames(1);
    const { columns, rows, truncated } = await store.query(
      `-- mean\nselect pk, sum(value) / 4 as quarter, count(*) from "${name}" group by pk`,
    );
    expect({ columns, rows, truncated }).toEqual({ columns: ["pk", "quarter", "count(*)"], rows: [["i:1", 0.75, 2n]], truncated: false });
    const all = `select value from "${name}"`;
    expect((await store.query(all, { limit: 1 })).truncated).toBe(true);
    expect((await store.query(all, { limit: 2 })).truncated).toBe(false);
    for (const wrong of [
      `delete from "${name}"`,
      `with x as (select 1) delete from "${name}"`,
      "attach ':memory:' as other",
      "pragma user_version = 9",
      "vacuum into '/tmp/copy'",
      "/* select */ drop table version",
      "select * from nowhere",
      "select",
      "",
    ])
      expect(await store.query(wrong).catch((error: unknown) => error)).toMatchObject({ name: "OfflineStoreError" });
    await store.query(`select 1; delete from "${name}"`).catch(() => undefined);
    expect((await store.query(all)).rows).toEqual([[1], [2]]);
  });
});

test("verify passes over every type of value", async () => {
  await append(featureVersion(1), [1, 2]);
  await append(featureVersion(2, { dtype: dtypeOf("STRING") }), ["a\0b", "\ud800", "x".repeat(5_000)]);
  await append(featureVersion(3, { dtype: dtypeOf("FLOAT64") }), [Number.NaN, -0, 1.5]);
  await store.verify();
});

test("the file is opened with the first call, which says so once; a file that cannot be opened is tried again", async () => {
  const path = join(folder.path, "later", "offline.db");
  let opened = 0;
  const late = createSqliteOfflineStore({ path, programVersion: "1.0.0", now: () => 1, onOpen: () => opened++ });
  const refused = await late.scanKeys("env_1", "user").catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: "OfflineStoreError", code: "unusable" });
  expect(opened).toBe(0);
  await Bun.write(join(folder.path, "later", "made"), "");
  expect([await late.scanKeys("env_1", "user"), await late.scanKeys("env_1", "user"), opened]).toEqual([[], [], 1]);
  await late.close();
});
