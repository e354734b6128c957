/** What every metadata store must do: graphs. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { deploymentRecord, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function graphsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, graphs: ${driver.name}`, () => {
    const on = openEach(driver);

    test("keeps graphs byte for byte", async () => {
      await on.bootstrap();
      await on.createDeployment(deploymentRecord("dpl_1", "env_1"));
      expect(await on.store.graph("dpl_1")).toBeUndefined();
      const bytes = crypto.getRandomValues(new Uint8Array(50_000));
      await on.store.putGraph("dpl_1", new Uint8Array([1]));
      await on.store.putGraph("dpl_1", bytes);
      await on.reopen();
      expect(await on.store.graph("dpl_1")).toEqual(bytes);
    });
  });
}
