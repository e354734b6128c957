/** What the usage of every metadata store must do. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { type HeldBytes, NO_USE, type UsageRecord } from "../../../../src/server/stores/metadata/usage.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";
import { openEach } from "./records.ts";

const record = (day: string, patch: Partial<UsageRecord>): UsageRecord => ({
  ...{ ...NO_USE, day, environmentId: "env_1", resourceGroup: "default", kind: "query" },
  ...patch,
});

/** Runs the suite against a driver. */
export function usageConformance(driver: Driver<MetadataStore>): void {
  describe(`usage: ${driver.name}`, () => {
    const on = openEach(driver);
    const all = () => on.store.usage.between("0000", "9999");

    test("adds up by day, environment, group and kind, and is found by days", async () => {
      await on.store.usage.add([record("2026-01-01", { queries: 1, rows: 5 }), record("2026-01-02", { queries: 2, errors: 1 })]);
      await on.store.usage.add([
        record("2026-01-02", { queries: 3, rows: 4, cpuMs: 1, wallMs: 2, memoryByteMs: 2 ** 60, storageByteMs: 0.5 }),
        record("2026-01-02", { queries: 4, environmentId: "" }),
        record("2026-01-02", { queries: 5, kind: "bulk_query" }),
        record("2026-01-02", { queries: 6, resourceGroup: "gpu" }),
      ]);
      await on.reopen();
      expect(await all()).toEqual([
        record("2026-01-01", { queries: 1, rows: 5 }),
        record("2026-01-02", { queries: 4, environmentId: "" }),
        record("2026-01-02", { queries: 5, kind: "bulk_query" }),
        record("2026-01-02", { queries: 5, rows: 4, errors: 1, cpuMs: 1, wallMs: 2, memoryByteMs: 2 ** 60, storageByteMs: 0.5 }),
        record("2026-01-02", { queries: 6, resourceGroup: "gpu" }),
      ]);
      expect((await on.store.usage.between("2026-01-01", "2026-01-01")).map(({ queries }) => queries)).toEqual([1]);
      expect(await on.store.usage.between("2026-01-03", "2026-01-09")).toEqual([]);
    });

    test("an addition of which a part cannot be made adds nothing", async () => {
      const wrong = record("2026-01-01", { queries: null as unknown as number, kind: "bulk_query" });
      await expect(on.store.usage.add([record("2026-01-01", { queries: 1 }), wrong])).rejects.toThrow();
      expect(await all()).toEqual([]);
    });
  });

  describe(`bytes over time: ${driver.name}`, () => {
    const MIDNIGHT = Date.UTC(2026, 0, 2);
    const held = (bytes: number): HeldBytes[] => [{ kind: "online_store", environmentId: "env_1", resourceGroup: "default", bytes }];

    test("count from one call to the next, whoever makes it, by day, and of a long pause only the last part", async () => {
      using folder = new TempFolder();
      let now = MIDNIGHT - 1_000;
      const open = () => driver.open(folder.path, { now: () => now });
      const days = async (store: MetadataStore) =>
        (await store.usage.between("0000", "9999")).map(({ day, storageByteMs }) => [day, storageByteMs]);
      const [one, other] = [await open(), await open()];
      await one.usage.hold("online", held(7), 60_000);
      expect(await days(one)).toEqual([]);
      now += 3_000;
      await other.usage.hold("online", held(10), 60_000);
      await one.usage.hold("online", held(10), 60_000);
      const first = [
        ["2026-01-01", 10_000],
        ["2026-01-02", 20_000],
      ];
      expect(await days(one)).toEqual(first);
      await one.usage.hold("another place", held(10), 60_000);
      expect(await days(one)).toEqual(first);
      await one.close();
      await other.close();
      const later = await open();
      now += 3_600_000;
      await later.usage.hold("online", held(1), 60_000);
      expect(await days(later)).toEqual([
        ["2026-01-01", 10_000],
        ["2026-01-02", 80_000],
      ]);
      now -= 1_000_000;
      await later.usage.hold("online", held(1), 60_000);
      expect((await days(later)).at(-1)).toEqual(["2026-01-02", 80_000]);
      await later.close();
    });
  });
}
