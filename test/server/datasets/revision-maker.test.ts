/** Revisions as they are made, on real files and a real store of objects. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { createRevisionMaker, type Revisions } from "../../../src/server/datasets/revision-maker.ts";
import type { DatasetFile } from "../../../src/server/datasets/revisions.ts";
import type { RevisionRecord } from "../../../src/server/stores/metadata/datasets.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import type { ObjectStore } from "../../../src/server/stores/objects/store.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const COLUMNS = [{ name: "n", dtype: create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.INT64 } }) }];

describe("revisions as they are made", () => {
  let folder: TempFolder;
  let metadata: MetadataStore;
  let objects: ObjectStore;
  let revisions: Revisions;
  let counted = 0;

  beforeAll(() => {
    folder = new TempFolder();
    const addresses = { sign: () => ({ url: "", expiresAt: 0 }), check: () => ({ refused: "never" }) };
    objects = createDirectoryObjectStore(join(folder.path, "objects"), addresses);
    metadata = createSqliteMetadataStore({ path: ":memory:", programVersion: "1.0.0" });
    const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
    revisions = createRevisionMaker({ metadata, objects, clock: new TestClock(), log });
  });
  afterAll(async () => {
    await metadata.close();
    folder[Symbol.dispose]();
  });

  const begin = async (dataset = "") =>
    (await revisions.begin({ environmentId: "env_1", dataset, origin: "sql", originId: `${++counted}`, createdBy: "cli_1" })).revisionId;
  const local = (content: string | Uint8Array, name = "local"): string => {
    const path = join(folder.path, name);
    writeFileSync(path, content);
    return path;
  };
  const add = (id: string, name: string, content: string | Uint8Array, rows = 1): Promise<DatasetFile> =>
    revisions.addFile(id, { name, kind: "output", rows, path: local(content) });
  const keys = async (id: string) => (await objects.list({ prefix: `datasets/env_1/${id}/`, limit: 100 })).map(({ key }) => key);

  test("a file comes out as it went in, whatever its name", async () => {
    const id = await begin();
    const content = crypto.getRandomValues(new Uint8Array(300_000));
    const file = await add(id, "Größe (1).parquet", content, 7);
    expect(file).toMatchObject({ bytes: content.length, rows: 7, sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex") });
    await revisions.complete(id, COLUMNS);
    expect(await revisions.files(id)).toEqual([file]);
    const out = join(folder.path, "out");
    await revisions.fetch(file, out);
    expect(new Uint8Array(readFileSync(out))).toEqual(content);
    expect((await metadata.datasets.revision(id)) as RevisionRecord).toMatchObject({ rows: 7, bytes: content.length, number: 1 });
  });

  test("a file is replaced by one of its name, and the same again changes nothing", async () => {
    const id = await begin();
    const first = await add(id, "a", "one");
    expect(await add(id, "a", "one")).toEqual(first);
    const second = await add(id, "a", "two!");
    await add(id, "b", "two!");
    expect((await revisions.files(id)).map(({ name, bytes }) => [name, bytes])).toEqual([
      ["a", 4],
      ["b", 4],
    ]);
    expect(await keys(id)).not.toContain(first.key);
    expect(await keys(id)).toContain(second.key);
  });

  test("completing removes what writing left; abandoning removes all", async () => {
    const [kept, dropped] = [await begin(), await begin()];
    for (const id of [kept, dropped]) {
      await add(id, "a", "one");
      await objects.put(`datasets/env_1/${id}/parts/left`, new Blob(["x"]).stream());
    }
    await revisions.complete(kept, COLUMNS);
    await revisions.complete(kept, COLUMNS);
    await revisions.abandon(dropped);
    await revisions.abandon(dropped);
    expect(await keys(kept)).toEqual((await revisions.files(kept)).map(({ key }) => key));
    expect(await keys(dropped)).toEqual([]);
    expect((await metadata.datasets.revision(kept))?.hasRemains).toBe(false);
    await expect(revisions.files(dropped)).rejects.toThrow(`Revision ${dropped} is failed, so its files cannot be read.`);
    await expect(revisions.complete(dropped, [])).rejects.toThrow("is not being written any more: it is failed");
    await expect(add(kept, "b", "x")).rejects.toThrow("is not being written any more: it is complete");
  });

  test("an object that was damaged on the disk is told, and no file appears", async () => {
    const id = await begin();
    const file = await add(id, "a", "0123456789");
    await revisions.complete(id, COLUMNS);
    const stored = join(folder.path, "objects", "da", ...file.key.split("/"));
    const out = join(folder.path, "damaged");
    for (const damage of ["0123456780", "01234567890"]) {
      writeFileSync(stored, damage);
      await expect(revisions.fetch(file, out)).rejects.toThrow("The file 'a' of a dataset is damaged in the object store.");
    }
    truncateSync(stored, 3);
    await expect(revisions.fetch(file, out)).rejects.toThrow("damaged");
    await objects.delete(file.key);
    await expect(revisions.fetch(file, out)).rejects.toThrow("missing");
    expect(readdirSync(folder.path).filter((name) => name.startsWith("damaged"))).toEqual([]);
  });

  test.each(["", "a/b", "..\\b", ".", "..", "a\0b", "a\u202eb", "é".repeat(128)])("no file is called %j", async (name) => {
    await expect(add(await begin(), name, "x")).rejects.toThrow("The name of a file cannot be");
  });

  test.each([" a", "a\n", "rev_1", "dst_x", "a".repeat(201)])("no dataset is called %j", async (name) => {
    await expect(begin(name)).rejects.toThrow("The name of a dataset cannot be");
  });

  test("a file that is not there adds nothing, and an ended signal ends the copy", async () => {
    const id = await begin();
    const wish = { name: "a", kind: "output", rows: 1 } as const;
    await expect(revisions.addFile(id, { ...wish, path: join(folder.path, "none") })).rejects.toThrow("ENOENT");
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(revisions.addFile(id, { ...wish, path: local("x"), signal })).rejects.toThrow("stopped");
    expect(await revisions.files(id)).toEqual([]);
    expect(await keys(id)).toEqual([]);
  });

  test("the objects of one environment are forgotten alone", async () => {
    const id = await begin();
    await add(id, "a", "one");
    await objects.put("datasets/env_10/rev_1/x", new Blob(["x"]).stream());
    await revisions.forget("env_1", new AbortController().signal);
    expect(await keys(id)).toEqual([]);
    expect(await objects.size("datasets/env_10/rev_1/x")).toBe(1);
  });

  test("a file whose revision ends while it is put is not left behind", async () => {
    const id = await begin();
    let isPut = false;
    const ending: ObjectStore = {
      ...objects,
      async put(...given) {
        await revisions.abandon(id);
        isPut = true;
        return objects.put(...given);
      },
    };
    const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
    const slow = createRevisionMaker({ metadata, objects: ending, clock: new TestClock(), log });
    const path = local("late");
    await expect(slow.addFile(id, { name: "late.parquet", kind: "output", rows: 1, path })).rejects.toThrow("not being written any more");
    expect([isPut, await keys(id)]).toEqual([true, []]);
  });

  test("the revision that was begun for an origin is found by it", async () => {
    const id = await begin();
    const origin = { environmentId: "env_1", origin: "sql", originId: `${counted}` } as const;
    expect([await revisions.begun(origin), await revisions.begun({ ...origin, originId: "none" })]).toEqual([id, undefined]);
  });
});
