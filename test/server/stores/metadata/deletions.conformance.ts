/** What every metadata store must do: deletions of stored values. */

import { describe, expect, test } from "bun:test";
import type { DeletionRecord } from "../../../../src/server/stores/metadata/deletions.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

const deletion = (id: string, keys: readonly string[], expiresAt = NOW + 10): DeletionRecord => ({
  ...{ id, environmentId: "env_1", branch: "b", createdAt: NOW, expiresAt, removed: {}, versions: null },
  rows: [{ namespace: "user", keys, featureIds: [1, 2], relationIds: [3] }],
});

/** Runs the suite against a driver. */
export function deletionsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, deletions: ${driver.name}`, () => {
    const on = openEach(driver);

    test("are kept as they were made, with what each node removed, until they expire", async () => {
      const { deletions } = on.store;
      const [one, two] = [deletion("del_1", ["i:1", "s:ä\0"]), deletion("del_2", ["i:2"], NOW + 20)];
      expect([await deletions.create(one, 9), await deletions.create(two, 9)]).toEqual(["created", "created"]);
      const counts = { online: 1, offline: 2, queries: 3 };
      await Promise.all([
        deletions.settle("del_1", "a", counts),
        deletions.settle("del_1", "b", { ...counts, online: 7 }),
        deletions.settle("none", "a", counts),
      ]);
      await on.reopen();
      const after = on.store.deletions;
      expect(await after.ids()).toEqual(["del_1", "del_2"]);
      expect(await after.get("del_1")).toEqual({ ...one, removed: { a: counts, b: { ...counts, online: 7 } } });
      expect(await after.get("none")).toBeUndefined();
      expect([await after.purge(NOW + 9), await after.purge(NOW + 10)]).toEqual([0, 1]);
      expect(await after.ids()).toEqual(["del_2"]);
    });

    test("have a bounded number of keys together", async () => {
      const { deletions } = on.store;
      expect(await deletions.create(deletion("del_1", ["i:1", "i:2"]), 3)).toBe("created");
      expect(await deletions.create(deletion("del_2", ["i:1", "i:2"]), 3)).toBe("full");
      expect(await deletions.create(deletion("del_3", ["i:1"]), 3)).toBe("created");
      expect(await deletions.ids()).toEqual(["del_1", "del_3"]);
    });

    test("go with their environment", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
      for (const environmentId of ["env_1", "env_2"])
        await on.store.deletions.create({ ...deletion(`del_${environmentId}`, ["i:1"]), environmentId }, 9);
      const job = { id: "job_1", kind: "erase", payload: {}, group: { name: "g", slots: 1 }, maxAttempts: 1, attemptTimeoutMs: 1 };
      await on.store.removeEnvironment("env_1", NOW, job);
      await on.store.eraseEnvironment("env_1");
      expect(await on.store.deletions.ids()).toEqual(["del_env_2"]);
    });
  });
}
