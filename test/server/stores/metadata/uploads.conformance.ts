/** What every metadata store must do: uploads. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function uploadsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, uploads: ${driver.name}`, () => {
    const on = openEach(driver);

    test("uploads are remembered", async () => {
      const upload = { id: "upl_1", sha256: "a".repeat(64), sizeBytes: 2 ** 40, createdAt: NOW, expiresAt: NOW + 5 };
      await on.store.createUpload(upload);
      expect(await on.store.upload("upl_1")).toEqual(upload);
      expect(await on.store.upload("upl_2")).toBeUndefined();
    });

    test("uploads are kept longer by one who knows until when they are", async () => {
      await on.store.createUpload({ id: "upl_1", sha256: "a".repeat(64), sizeBytes: 1, createdAt: NOW, expiresAt: NOW + 5 });
      expect(await on.store.keepUpload("upl_1", NOW + 4, NOW + 9)).toBe(false);
      expect(await on.store.keepUpload("upl_2", NOW + 5, NOW + 9)).toBe(false);
      expect(await on.store.keepUpload("upl_1", NOW + 5, NOW + 9)).toBe(true);
      expect(await on.store.keepUpload("upl_1", NOW + 5, NOW + 12)).toBe(false);
      expect(await on.store.upload("upl_1")).toMatchObject({ expiresAt: NOW + 9 });
    });
  });
}
