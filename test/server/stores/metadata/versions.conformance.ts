/** What every metadata store must do: feature identities and resolver versions. */

import { describe, expect, test } from "bun:test";
import type { DeletionRecord } from "../../../../src/server/stores/metadata/deletions.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function versionsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, feature identities and resolver versions: ${driver.name}`, () => {
    const on = openEach(driver);

    test("a feature has one id per type and environment, for ever", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
      const ask = async (environmentId: string, dtype: string) =>
        (await on.store.featureIdentities(environmentId, [{ fqn: "user.id", dtype }], NOW)).get("user.id");
      const [asInt, again] = await Promise.all([ask("env_1", "int"), ask("env_1", "int")]);
      expect(again).toEqual(asInt);
      expect(asInt?.internalVersion).toBe(1);
      const asText = await ask("env_1", "str");
      expect(asText?.internalVersion).toBe(2);
      expect(asText?.id).not.toBe(asInt?.id);
      const elsewhere = await ask("env_2", "int");
      expect(elsewhere?.internalVersion).toBe(1);
      expect([asInt?.id, asText?.id]).not.toContain(elsewhere?.id);
      const owners = [asInt, asText, elsewhere].map((one, n) => [one?.id, n < 2 ? "env_1" : "env_2"] as const);
      expect(await on.store.featureOwners()).toEqual(new Map(owners) as Map<number, string>);
      expect(await on.store.knownFeatures("env_1")).toEqual([
        { id: asInt?.id ?? 0, fqn: "user.id", dtype: "int", internalVersion: 1, isEnded: false },
        { id: asText?.id ?? 0, fqn: "user.id", dtype: "str", internalVersion: 2, isEnded: false },
      ]);
      await on.reopen();
      expect(await ask("env_1", "int")).toEqual(asInt);
      const many = await on.store.featureIdentities(
        "env_1",
        Array.from({ length: 500 }, (_, n) => ({ fqn: `user.f${n}`, dtype: "int" })),
        NOW,
      );
      expect(new Set([...many.values()].map(({ id }) => id)).size).toBe(500);
    });

    test("a version that is ended is followed by the next one, in one step with the deletion of it", async () => {
      await on.bootstrap();
      const feature = { fqn: "user.id", dtype: "int" };
      const id = async (dtype: string) => (await on.store.featureIdentities("env_1", [{ ...feature, dtype }], NOW)).get("user.id")?.id ?? 0;
      const [asInt, asText] = [await id("int"), await id("str")];
      const given = {
        id: "del_1",
        environmentId: "env_1",
        branch: "",
        rows: [],
        versions: null,
        createdAt: NOW,
        expiresAt: NOW + 10,
        removed: {},
      };
      const what = { environmentId: "env_1", features: [feature, { fqn: "user.none", dtype: "int" }], isDropped: false };
      expect(await on.store.endVersions(what, given, 1)).toBe("full");
      expect([await id("int"), await id("str"), await on.store.deletions.ids()]).toEqual([asInt, asText, []]);

      const migrated = await on.store.endVersions(what, given, 2);
      await on.reopen();
      const next = await id("int");
      expect([asInt, asText]).not.toContain(next);
      expect(migrated).toEqual({
        ...given,
        versions: { ended: [asInt, asText], dropped: [], begun: [{ ...feature, id: next, internalVersion: 3 }] },
      });
      expect(await on.store.deletions.get("del_1")).toEqual(migrated as DeletionRecord);
      expect((await on.store.knownFeatures("env_1")).map(({ internalVersion, isEnded }) => [internalVersion, isEnded])).toEqual([
        [1, true],
        [2, true],
        [3, false],
      ]);

      const dropped = await on.store.endVersions({ ...what, isDropped: true }, { ...given, id: "del_2" }, 99);
      expect(dropped).toMatchObject({ versions: { ended: [next], dropped: [asInt, asText, next], begun: [{ internalVersion: 4 }] } });
      expect(await id("str")).toBeGreaterThan(next);
      const { length } = await on.store.knownFeatures("env_1");
      expect(length).toBe(5);
    });

    test("a resolver's version counts the distinct sources that were recorded", async () => {
      await on.bootstrap();
      const ask = async (sourceSha256: string, record?: { deploymentId: string; now: number }) =>
        (await on.store.resolverVersions("env_1", [{ fqn: "m.f", sourceSha256 }], record)).get("m.f");
      const record = { deploymentId: "dpl_1", now: NOW };
      expect(await ask("a")).toBe(1);
      expect(await ask("b")).toBe(1);
      expect(await ask("a", record)).toBe(1);
      expect(await ask("b")).toBe(2);
      expect(await ask("b", record)).toBe(2);
      expect(await ask("a", record)).toBe(1);
      await on.reopen();
      expect(await ask("c")).toBe(3);
      expect(await ask("b")).toBe(2);
    });
  });
}
