/** Statistics of columns: whose values they tell, and what becomes of a table that cannot be read. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { createRevisionMaker } from "../../../src/server/datasets/revision-maker.ts";
import { createDatasetStatistics } from "../../../src/server/datasets/statistics.ts";
import type { RevisionRecord } from "../../../src/server/stores/metadata/datasets.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import { type TableEngine, TableError } from "../../../src/server/tables/engine.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const STRING = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.STRING } });
const COLUMNS = [
  { name: "user.email", dtype: STRING },
  { name: "user.city", dtype: STRING },
];
const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
const never = new AbortController().signal;

let folder: TempFolder;
let metadata: MetadataStore;
let engine: TableEngine;

beforeAll(() => {
  folder = new TempFolder();
  metadata = createSqliteMetadataStore({ path: ":memory:", programVersion: "1.0.0" });
  engine = createTableEngine({ folder: join(folder.path, "tables"), libraryFolders: [join(folder.path, "library")], log });
});
afterAll(async () => {
  await engine.close();
  await metadata.close();
  folder[Symbol.dispose]();
});

function capabilities(personal: readonly string[], tables: () => Promise<TableEngine> = async () => engine) {
  const addresses = { sign: () => ({ url: "", expiresAt: 0 }), check: () => ({ refused: "never" }) };
  const objects = createDirectoryObjectStore(join(folder.path, "objects"), addresses);
  const revisions = createRevisionMaker({ metadata, objects, clock: new TestClock(), log });
  const statistics = createDatasetStatistics({
    ...{ metadata, revisions, tables, log, workFolder: async () => mkdtempSync(join(folder.path, "work-")) },
    personal: async () => new Set(personal),
  });
  return { revisions, statistics };
}

let counted = 0;
async function completed(personal: readonly string[], path: string): Promise<string> {
  const { revisions } = capabilities(personal);
  const begun = await revisions.begin({ environmentId: "env_1", dataset: "", origin: "sql", originId: `${++counted}`, createdBy: "c" });
  await revisions.addFile(begun.revisionId, { name: "t.parquet", kind: "output", rows: 2, path });
  await revisions.complete(begun.revisionId, COLUMNS);
  return begun.revisionId;
}
const revisionOf = async (id: string) => (await metadata.datasets.revision(id)) as RevisionRecord;

async function table(): Promise<string> {
  const path = join(folder.path, `${++counted}.parquet`);
  const writer = await engine.write(path, COLUMNS);
  await writer.append({
    rows: 2,
    columns: [
      ["ann@example.com", "bob@example.com"],
      ["Oslo", null],
    ],
  });
  await writer.finish();
  return path;
}

test("values of features that are tagged as personal are not kept, nor shown when the tag comes later", async () => {
  const id = await completed([], await table());
  const { statistics } = capabilities(["user.email"]);
  await statistics.catchUp(never);
  expect(JSON.stringify(await revisionOf(id))).not.toContain("example.com");
  expect((await revisionOf(id)).statistics).toEqual([
    { name: "user.email", nulls: 0, distinct: 2 },
    { name: "user.city", nulls: 1, distinct: 1, min: "Oslo", max: "Oslo" },
  ]);
  expect(readdirSync(folder.path).filter((name) => name.startsWith("work-"))).toEqual([]);
  const later = capabilities(["user.city"]).statistics;
  const shown = await later.shown(await revisionOf(id), { values: true });
  expect(JSON.stringify(shown)).not.toContain("Oslo");
  expect((await capabilities([]).statistics.shown(await revisionOf(id), { values: false }))?.[1]).toEqual({
    ...{ name: "user.city", nulls: 1, distinct: 1 },
  });
}, 300_000);

test("a table that cannot be read has none and is not tried again; without an engine it is tried later", async () => {
  const path = join(folder.path, "broken.parquet");
  writeFileSync(path, "no table");
  const id = await completed([], path);
  const absent = capabilities([], () => Promise.reject(new TableError("unavailable", "no library")));
  await absent.statistics.catchUp(never);
  expect((await revisionOf(id)).statistics).toBeUndefined();
  const { statistics } = capabilities([]);
  await statistics.catchUp(never);
  expect((await revisionOf(id)).statistics).toEqual([]);
  expect(await statistics.shown(await revisionOf(id), { values: true })).toBeUndefined();
}, 300_000);
