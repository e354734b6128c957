/** What the documents of every metadata store must do. */

import { describe, expect, test } from "bun:test";
import type { DocumentRecord } from "../../../../src/server/stores/metadata/documents.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

const PLACE = { kind: "k", scope: "env_1" };

function record(name: string, patch: Partial<DocumentRecord> = {}): DocumentRecord {
  return { ...PLACE, id: `id_${name}`, name, content: { n: 1 }, revision: 1, createdAt: NOW, updatedAt: NOW, ...patch };
}

/** Runs the suite against a driver. */
export function documentsConformance(driver: Driver<MetadataStore>): void {
  describe(`documents: ${driver.name}`, () => {
    const on = openEach(driver);
    const insert = (document: DocumentRecord, limit = 100) => on.store.documents.insert(document, limit);

    test("a document is kept with all that was said of it, also when the store is closed", async () => {
      const given = record("ü 'x'", { content: { list: [1, null, 'a"b'], deep: { ü: true } }, revision: 7, updatedAt: NOW + 1 });
      expect(await insert(given)).toBe("inserted");
      await on.reopen();
      expect(await on.store.documents.find(PLACE, "ü 'x'")).toEqual(given);
      expect(await on.store.documents.find(PLACE, given.id)).toEqual(given);
    });

    test("a name is taken once in its place, and free in others; the loser changes nothing", async () => {
      expect(await Promise.all([insert(record("a")), insert(record("a", { id: "other" }))])).toEqual(["inserted", "taken"]);
      expect(await insert(record("a", { id: "x", scope: "env_2" }))).toBe("inserted");
      expect(await insert(record("a", { id: "y", kind: "l" }))).toBe("inserted");
      expect((await on.store.documents.list("k")).map(({ id, scope }) => [id, scope])).toEqual([
        ["id_a", "env_1"],
        ["x", "env_2"],
      ]);
      expect((await on.store.documents.list("k", "env_2")).map(({ id }) => id)).toEqual(["x"]);
      expect(await on.store.documents.find({ kind: "k", scope: "env_3" }, "a")).toBeUndefined();
    });

    test("a place that is full takes no more, also when several come at once", async () => {
      const outcomes = await Promise.all(["a", "b", "c"].map((name) => insert(record(name), 2)));
      expect(outcomes).toEqual(["inserted", "inserted", "full"]);
      expect(await insert(record("d", { scope: "env_2" }), 2)).toBe("inserted");
      expect(await insert(record("a"), 2)).toBe("taken");
    });

    test("an id goes before a name that reads the same", async () => {
      await insert(record("a"));
      await insert(record("id_a", { id: "z" }));
      expect((await on.store.documents.find(PLACE, "id_a"))?.name).toBe("a");
    });

    test("of two changes of what both read, one is made", async () => {
      const read = record("a");
      await insert(read);
      const change = (n: number) => on.store.documents.replace({ ...read, content: { n }, updatedAt: NOW + n });
      expect(await Promise.all([change(2), change(3)])).toEqual(["replaced", "stale"]);
      expect(await on.store.documents.find(PLACE, "a")).toEqual({ ...read, content: { n: 2 }, updatedAt: NOW + 2, revision: 2 });
    });

    test("a new name may not be another's, and what is gone is not changed", async () => {
      await insert(record("a"));
      await insert(record("b"));
      expect(await on.store.documents.replace(record("b", { id: "id_a" }))).toBe("taken");
      expect(await on.store.documents.replace(record("c", { id: "id_a" }))).toBe("replaced");
      expect((await on.store.documents.list("k")).map(({ name }) => name)).toEqual(["b", "c"]);
      expect((await on.store.documents.delete(PLACE, "id_a"))?.name).toBe("c");
      expect(await on.store.documents.delete(PLACE, "id_a")).toBeUndefined();
      expect(await on.store.documents.delete({ ...PLACE, scope: "env_2" }, "id_b")).toBeUndefined();
      expect(await on.store.documents.replace(record("c", { id: "id_a", revision: 2 }))).toBe("stale");
      expect((await on.store.documents.list("k")).map(({ name }) => name)).toEqual(["b"]);
    });

    test("a scope is emptied of all kinds, and others keep theirs", async () => {
      await insert(record("a"));
      await insert(record("a", { id: "x", kind: "l" }));
      await insert(record("a", { id: "y", scope: "env_2" }));
      expect(await on.store.documents.deleteScope("env_1")).toBe(2);
      expect([(await on.store.documents.list("k")).length, (await on.store.documents.list("l")).length]).toEqual([1, 0]);
    });
  });
}
