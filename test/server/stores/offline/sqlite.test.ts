/**
 * What the offline store on SQLite does beyond every offline store: SQL, and looking at all that it
 * keeps.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
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
