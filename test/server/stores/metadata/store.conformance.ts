/** What every metadata store must do: all nouns together. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function storeConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, all nouns together: ${driver.name}`, () => {
    const on = openEach(driver);

    test("a write that fails undoes itself and no other that came with it", async () => {
      await on.bootstrap();
      const results = await Promise.allSettled([
        on.store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW }),
        on.store.createEnvironment({ id: "env_2", name: "three", projectId: "prj_1", createdAt: NOW }),
        on.store.createEnvironment({ id: "env_4", name: "four", projectId: "prj_1", createdAt: NOW }),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      await on.reopen();
      expect((await on.store.environments()).map(({ id }) => id)).toEqual(["env_1", "env_4", "env_2"]);
    });

    test("probes itself, also when several ask at once", async () => {
      await on.store.probe();
      const first = on.store.probe();
      const asked = Date.now();
      while (Date.now() < asked + 2);
      await Promise.all([first, on.store.probe()]);
    });
  });
}
