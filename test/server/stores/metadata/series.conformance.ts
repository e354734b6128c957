/** What every metadata store must do: series of tiles. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function seriesConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, series: ${driver.name}`, () => {
    const on = openEach(driver);

    test("a definition has one id in an environment, and another in another", async () => {
      const [first, second] = await on.store.series.identify("env_1", ["a", "b"]);
      const [elsewhere] = await on.store.series.identify("env_2", ["a"]);
      expect(new Set([first, second, elsewhere]).size).toBe(3);
      expect(await on.store.series.identify("env_1", ["b", "c", "a"])).toEqual([second as number, expect.any(Number), first as number]);
      expect((await on.store.series.list("env_1")).map(({ definition }) => definition)).toEqual(["a", "b", "c"]);
      expect((await on.store.series.list()).length).toBe(4);
    });

    test("what is used stays, and an id that was forgotten is not given again", async () => {
      const [first, second] = (await on.store.series.identify("env_1", ["a", "b"])) as [number, number];
      const [{ usedAt } = { usedAt: 0 }] = await on.store.series.list("env_1");
      expect(usedAt).toBeGreaterThanOrEqual(NOW);
      expect(await on.store.series.forget([first, second, 99], usedAt)).toEqual([]);
      expect(await on.store.series.forget([second, 99], usedAt + 1_000_000)).toEqual([second]);
      const [again] = await on.store.series.identify("env_1", ["b"]);
      expect(again).not.toBe(second);
      expect((await on.store.series.list("env_1")).map(({ id }) => id)).toEqual([first, again as number]);
    });
  });
}
