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
  });
}
