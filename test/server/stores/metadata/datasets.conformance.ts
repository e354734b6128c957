/** What the datasets of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type {
  DatasetFileRecord,
  DatasetUploadRecord,
  NewRevisionRecord,
  RevisionRecord,
} from "../../../../src/server/stores/metadata/datasets.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const LIMITS = { datasets: 100, writing: 100 };
const COLUMNS = [{ name: "n", dtype: { primitive: "PRIMITIVE_TYPE_INT64" } }];

/** Runs the suite against a driver. */
export function datasetsConformance(driver: Driver<MetadataStore>): void {
  describe(`datasets: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    const revision = (id: string, patch: Partial<NewRevisionRecord> = {}): NewRevisionRecord => ({
      ...{ id, environmentId: "env_1", origin: "sql", originId: `of ${id}`, createdBy: "cli_1", createdAt: 1, ...patch },
    });
    const begin = async (id: string, name: string | undefined, patch: Partial<NewRevisionRecord> = {}) =>
      (await store.datasets.begin({ id: `dst_${id}`, name }, revision(id, patch), LIMITS)) as RevisionRecord;
    const file = (revisionId: string, name: string, patch: Partial<DatasetFileRecord> = {}): DatasetFileRecord => ({
      ...{ revisionId, name, kind: "output", key: `k/${name}`, bytes: 10, rows: 2, sha256: "0f", ...patch },
    });
    const upload = (id: string, revisionId: string, fingerprint = "f"): DatasetUploadRecord => ({
      ...{ id, environmentId: "env_1", revisionId, fingerprint, partBytes: 5, createdAt: 1 },
      files: [{ name: "a", bytes: 9, sha256: "0f" }],
    });

    beforeEach(async () => {
      folder = new TempFolder();
      store = await driver.open(folder.path);
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a revision is begun once for its origin, completed once, and is kept", async () => {
      const { datasets } = store;
      const begun = await begin("r1", "sales");
      expect(begun).toEqual({
        ...revision("r1"),
        ...{ datasetId: "dst_r1", number: undefined, state: "writing", columns: [], rows: 0, bytes: 0, statistics: undefined },
        ...{ touchedAt: 1, completedAt: undefined, archivedAt: undefined, hasRemains: true },
      });
      expect((await begin("r2", "other", { originId: "of r1" })).id).toBe("r1");
      expect(await datasets.putFile(file("r1", "b"), 2, 9)).toBeUndefined();
      expect(await datasets.putFile(file("r1", "a", { kind: "givens", rows: 7 }), 3, 9)).toBeUndefined();
      expect(await datasets.putFile(file("r1", "b", { bytes: 20 }), 4, 9)).toEqual(file("r1", "b"));
      expect(await datasets.list({ environmentId: "env_1", limit: 9 })).toEqual([]);
      const completed = await datasets.complete("r1", COLUMNS, 5);
      expect(completed).toMatchObject({ number: 1, state: "complete", columns: COLUMNS, rows: 2, bytes: 30, completedAt: 5 });
      expect(await datasets.complete("r1", [], 6)).toEqual(completed as RevisionRecord);
      await store.close();
      store = await driver.open(folder.path);
      expect(await store.datasets.revision("r1")).toEqual(completed as RevisionRecord);
      expect(await store.datasets.files("r1")).toEqual([file("r1", "b", { bytes: 20 }), file("r1", "a", { kind: "givens", rows: 7 })]);
      expect((await store.datasets.fileOf("r1", "k/a"))?.name).toBe("a");
      expect(await store.datasets.fileOf("r2", "k/a")).toBeUndefined();
      expect(await store.datasets.dataset("env_1", "sales")).toEqual({
        ...{ id: "dst_r1", environmentId: "env_1", name: "sales", createdAt: 1, updatedAt: 5, lastNumber: 1, revisions: 1 },
      });
    });

    test("nothing is added to a revision that is not being written, or that has as many files as it may", async () => {
      const { datasets } = store;
      await begin("r1", "a");
      await datasets.putFile(file("r1", "one"), 1, 1);
      expect(await datasets.putFile(file("r1", "two"), 1, 1)).toBe("refused");
      expect(await datasets.putFile(file("r1", "one"), 1, 1)).toEqual(file("r1", "one"));
      expect(await datasets.fail("r1", 2)).toBe(true);
      expect(await datasets.fail("r1", 2)).toBe(false);
      expect(await datasets.putFile(file("r1", "one"), 1, 9)).toBe("refused");
      expect(await datasets.putFile(file("none", "one"), 1, 9)).toBe("refused");
      expect(await datasets.complete("r1", [], 3)).toBeUndefined();
      expect(await datasets.archive("r1", 3)).toBeUndefined();
      expect(await datasets.touch("r1", 4)).toBe(false);
    });

    test("revisions of a dataset are numbered in the order of their completion", async () => {
      const { datasets } = store;
      for (const id of ["r1", "r2", "r3"]) await begin(id, "a");
      await begin("o", "a", { environmentId: "env_2" });
      await Promise.all(["r3", "r1"].map((id, at) => datasets.complete(id, [], 10 + at)));
      await datasets.complete("o", [], 12);
      const numbers = async (options: { below?: number; limit: number }) =>
        (await datasets.revisions("dst_r1", options)).map(({ id, number }) => [id, number]);
      expect(await numbers({ limit: 9 })).toEqual([
        ["r1", 2],
        ["r3", 1],
      ]);
      expect(await numbers({ limit: 1 })).toEqual([["r1", 2]]);
      expect(await numbers({ below: 2, limit: 9 })).toEqual([["r3", 1]]);
      expect((await datasets.revision("o"))?.number).toBe(1);
    });

    test("an environment has no more than its limits say", async () => {
      await begin("r1", "a");
      const { datasets } = store;
      const wish = { id: "dst_2", name: "b" };
      expect(await datasets.begin(wish, revision("r2"), { datasets: 9, writing: 1 })).toBe("full");
      expect(await datasets.begin(wish, revision("r2"), { datasets: 1, writing: 9 })).toBe("full");
      expect(await datasets.beginUpload(wish, revision("r2"), upload("u", "r2"), { datasets: 1, writing: 9 })).toBe("full");
      expect(await datasets.begin({ ...wish, name: "a" }, revision("r2"), { datasets: 1, writing: 9 })).toMatchObject({
        datasetId: "dst_r1",
      });
      expect(await datasets.upload("u")).toBeUndefined();
    });

    test("datasets without a name are of their own", async () => {
      await begin("r1", undefined);
      await begin("r2", undefined);
      await store.datasets.complete("r1", [], 1);
      expect(await store.datasets.list({ environmentId: "env_1", limit: 9 })).toMatchObject([{ id: "dst_r1", name: undefined }]);
      expect(await store.datasets.dataset("env_1", "dst_r2")).toMatchObject({ revisions: 0 });
    });

    test("lists what has a complete revision, newest first, by name, page after page", async () => {
      const { datasets } = store;
      for (const [id, name] of Object.entries({ r1: "Sales", r2: "sold_100%", r3: "other", r4: "hidden" })) await begin(id, name);
      await begin("o", "sales", { environmentId: "env_2" });
      for (const id of ["r2", "r1", "r3", "r4", "o"]) await datasets.complete(id, [], 9);
      await datasets.archive("r4", 10);
      const names = async (filter: object) =>
        (await datasets.list({ environmentId: "env_1", limit: 9, ...filter })).map(({ name }) => name);
      expect(await names({})).toEqual(["other", "sold_100%", "Sales"]);
      expect(await names({ search: "SAL" })).toEqual(["Sales"]);
      expect(await names({ search: "0%" })).toEqual(["sold_100%"]);
      expect(await names({ limit: 1, before: "dst_r3" })).toEqual(["sold_100%"]);
      expect(await names({ before: "none" })).toEqual([]);
      expect(await datasets.dataset("env_1", "dst_o")).toBeUndefined();
    });

    test("a name belongs to one dataset, whoever asks first", async () => {
      const { datasets } = store;
      await begin("r1", "a");
      await begin("r2", "b");
      const renamed = await Promise.all([datasets.rename("dst_r1", "c"), datasets.rename("dst_r2", "c")]);
      expect(renamed).toMatchObject([{ id: "dst_r1", name: "c" }, "taken"]);
      expect(await datasets.rename("dst_r1", "c")).toMatchObject({ name: "c" });
      expect(await datasets.rename("none", "d")).toBeUndefined();
      expect((await begin("r3", "a")).datasetId).toBe("dst_r3");
    });

    test("an upload that is open is the one of its fingerprint", async () => {
      const { datasets } = store;
      const beginUpload = (id: string, fingerprint = "f") =>
        datasets.beginUpload({ id: `dst_${id}`, name: "a" }, revision(id), upload(`u_${id}`, id, fingerprint), LIMITS);
      expect(await beginUpload("r1")).toEqual(upload("u_r1", "r1"));
      expect(await beginUpload("r2")).toEqual(upload("u_r1", "r1"));
      expect(await datasets.revision("r2")).toBeUndefined();
      expect(await beginUpload("r3", "g")).toEqual(upload("u_r3", "r3", "g"));
      await datasets.complete("r1", [], 2);
      expect(await beginUpload("r4")).toEqual(upload("u_r4", "r4"));
      expect(await datasets.upload("u_r4")).toEqual(upload("u_r4", "r4"));
    });

    test("an archived revision is told from others, and its number is not given again", async () => {
      const { datasets } = store;
      await begin("r1", "a");
      await begin("r2", "a");
      await datasets.complete("r1", [], 2);
      expect((await datasets.latest("dst_r1"))?.id).toBe("r1");
      const archived = await datasets.archive("r1", 3);
      expect(await datasets.latest("dst_r1")).toBeUndefined();
      expect(archived).toMatchObject({ state: "archived", archivedAt: 3 });
      expect(await datasets.archive("r1", 4)).toEqual(archived as RevisionRecord);
      expect(await datasets.complete("r1", [], 5)).toBeUndefined();
      await datasets.remove("r1");
      expect(await datasets.complete("r2", [], 6)).toMatchObject({ number: 2 });
    });

    test("what is over and what is left to be done is found, and removed with all that belongs to it", async () => {
      const { datasets } = store;
      const ids = (found: readonly RevisionRecord[]) => found.map(({ id }) => id).sort();
      for (const id of ["r1", "r2", "r3", "r4"]) await begin(id, id);
      await datasets.complete("r1", COLUMNS, 10);
      await datasets.complete("r2", COLUMNS, 10);
      await datasets.archive("r2", 20);
      await datasets.fail("r3", 20);
      await datasets.touch("r4", 30);
      expect(ids(await datasets.overdue({ endedBefore: 20, untouchedSince: 30, limit: 9 }))).toEqual([]);
      expect(ids(await datasets.overdue({ endedBefore: 21, untouchedSince: 30, limit: 9 }))).toEqual(["r2", "r3"]);
      expect(ids(await datasets.overdue({ endedBefore: 0, untouchedSince: 31, limit: 9 }))).toEqual(["r4"]);
      expect(ids(await datasets.unswept(9))).toEqual(["r1", "r2", "r3"]);
      await datasets.swept("r1");
      await datasets.swept("r4");
      expect(ids(await datasets.unswept(9))).toEqual(["r2", "r3"]);
      await datasets.complete("r4", [], 40);
      expect(ids(await datasets.unswept(9))).toEqual(["r2", "r3", "r4"]);
      expect(ids(await datasets.unprofiled(9))).toEqual(["r1"]);
      await datasets.keepStatistics("r1", [{ name: "n", nulls: 0, distinct: 1 }]);
      expect(ids(await datasets.unprofiled(9))).toEqual([]);
      expect((await datasets.revision("r1"))?.statistics).toEqual([{ name: "n", nulls: 0, distinct: 1 }]);

      for (let again = 0; again < 2; again++) await datasets.remove("r2");
      expect(await datasets.revision("r2")).toBeUndefined();
      expect(await datasets.dataset("env_1", "dst_r2")).toBeUndefined();
      expect(await datasets.dataset("env_1", "dst_r1")).toBeDefined();
    });
  });
}
