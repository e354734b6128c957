/** What the audit log of every metadata store must do. */

import { describe, expect, test } from "bun:test";
import { type AuditEntry, auditHash } from "../../../../src/server/stores/metadata/audit.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { auditEntry, NOW, openEach } from "./records.ts";

const START = { seq: 0, hash: new Uint8Array(32) };

/** Runs the suite against a driver. */
export function auditConformance(driver: Driver<MetadataStore>): void {
  describe(`audit: ${driver.name}`, () => {
    const on = openEach(driver);
    const append = (...entries: AuditEntry[]) => on.store.audit.append(entries);
    const all = () => on.store.audit.rows(undefined, 1_000);
    const list = (filter: object = {}) => on.store.audit.list({ teamId: "team_1", limit: 100, ...filter });
    const seqs = async (filter: object = {}) => (await list(filter)).map(({ seq }) => seq);

    test("a row is kept with all that was said of it, also when the store is closed", async () => {
      await append(auditEntry());
      await on.reopen();
      const [row] = await all();
      if (!row) throw new Error("there is no row");
      const { seq, hash, ...kept } = row;
      expect(kept).toEqual(auditEntry());
      expect(seq).toBe(1);
      expect(hash).toEqual(auditHash(START.hash, { ...kept, seq }));
    });

    test("each row's hash covers the one before, and the ends are known", async () => {
      expect(await on.store.audit.chain()).toEqual({ anchor: START, head: START });
      await append(auditEntry({ code: "a" }), auditEntry({ code: "b" }));
      await append(auditEntry({ code: "c" }));
      const rows = await all();
      expect(rows.map(({ seq, code }) => [seq, code])).toEqual([
        [1, "a"],
        [2, "b"],
        [3, "c"],
      ]);
      let before: Uint8Array = START.hash;
      for (const row of rows) {
        expect(row.hash).toEqual(auditHash(before, row));
        before = row.hash;
      }
      expect(await on.store.audit.chain()).toEqual({ anchor: START, head: { seq: 3, hash: before } });
    });

    test("many that append at once make one chain", async () => {
      await Promise.all(Array.from({ length: 50 }, (_, i) => append(auditEntry({ about: String(i) }))));
      const rows = await all();
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
      expect(new Set(rows.map(({ about }) => about)).size).toBe(50);
    });

    test("a text that no database keeps as it is still verifies", async () => {
      await append(auditEntry({ clientName: "a\0b\ud800c", address: "\udc00" }));
      await on.reopen();
      const [row] = await all();
      expect(row?.clientName).toBe("a\ufffdb\ufffdc");
      expect(row && auditHash(START.hash, row)).toEqual(row?.hash);
    });

    test("rows are listed newest first, by page and by each filter; other teams' are not", async () => {
      await append(
        auditEntry({ clientId: "x", clientName: "one" }),
        auditEntry({ endpoint: "POST /v1/oauth/token", at: NOW + 10 }),
        auditEntry({ code: "permission_denied", environmentId: "env_2", address: "::1", at: NOW + 20 }),
        auditEntry({ teamId: "team_2" }),
        auditEntry({ teamId: "", clientId: "", clientName: "" }),
      );
      expect(await seqs()).toEqual([5, 3, 2, 1]);
      expect(await seqs({ limit: 2 })).toEqual([5, 3]);
      expect(await seqs({ limit: 2, before: 3 })).toEqual([2, 1]);
      expect([await seqs({ client: "x" }), await seqs({ client: "one" })]).toEqual([[1], [1]]);
      expect(await seqs({ endpoint: "OAuth" })).toEqual([2]);
      expect(await seqs({ endpoint: "%" })).toEqual([]);
      expect(await seqs({ code: "permission_denied" })).toEqual([3]);
      expect(await seqs({ environmentId: "env_2", address: "::1" })).toEqual([3]);
      expect(await seqs({ since: NOW + 10, until: NOW + 20 })).toEqual([2]);
    });

    test("pruning takes the oldest, in steps, and moves the anchor", async () => {
      await append(...[1, 2, 3, 4, 5, 6].map((n) => auditEntry({ at: NOW + n })));
      const hashes = (await all()).map(({ hash }) => hash);
      const prune = (options: { before: number; most: number; limit?: number }) => on.store.audit.prune({ limit: 100, ...options });
      expect(await prune({ before: NOW, most: 6 })).toBe(0);
      expect(await prune({ before: NOW + 4, most: 6, limit: 2 })).toBe(2);
      expect(await prune({ before: NOW + 4, most: 6, limit: 2 })).toBe(1);
      expect((await on.store.audit.chain()).anchor).toEqual({ seq: 3, hash: hashes[2] as Uint8Array });
      expect(await prune({ before: NOW, most: 1 })).toBe(2);
      expect(await prune({ before: NOW + 100, most: 1 })).toBe(1);
      const { anchor, head } = await on.store.audit.chain();
      expect([anchor, head]).toEqual(Array(2).fill({ seq: 6, hash: hashes[5] as Uint8Array }));
      await append(auditEntry());
      const [row] = await all();
      expect([row?.seq, row && auditHash(anchor.hash, row)]).toEqual([7, row?.hash as Uint8Array]);
    });
  });
}
