/** What every metadata store must do: monitors. */

import { describe, expect, test } from "bun:test";
import type { MonitorSilence, MonitorStanding } from "../../../../src/server/stores/metadata/monitors.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

const standing = (name: string, more: Partial<MonitorStanding> = {}): MonitorStanding => ({
  ...{ environmentId: "env_1", name, state: "ok", since: NOW, value: 0.125, labels: {}, evaluatedAt: NOW },
  ...{ brokenSince: undefined, firedAt: undefined, toldAt: undefined },
  ...more,
});
const silence = (name: string, more: Partial<MonitorSilence> = {}): MonitorSilence => ({
  ...{ environmentId: "env_1", name, until: NOW + 9, createdAt: NOW, clientId: "cli_1", reason: "it is known" },
  ...more,
});

/** Runs the suite against a driver. */
export function monitorsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, monitors: ${driver.name}`, () => {
    const on = openEach(driver);

    test("stand as they were put last", async () => {
      const fired = standing("b", {
        state: "firing",
        labels: { query_name: "é'" },
        brokenSince: NOW - 2,
        firedAt: NOW - 1,
        toldAt: NOW - 1,
      });
      const unknown = standing("a", { state: "no_data", value: undefined });
      const other = standing("a", { environmentId: "env_2" });
      await on.store.monitors.put([standing("b"), other]);
      await on.store.monitors.put([fired, unknown]);
      await on.reopen();
      expect(await on.store.monitors.list("env_1")).toEqual([unknown, fired]);
      expect(await on.store.monitors.list()).toEqual([unknown, fired, other]);
    });

    test("have one silence each, which ends once", async () => {
      const { monitors } = on.store;
      await monitors.silence(silence("a"));
      await monitors.silence(silence("a", { until: NOW + 20, reason: "" }));
      await monitors.silence(silence("a", { environmentId: "env_2" }));
      expect(await monitors.silences("env_1")).toEqual([silence("a", { until: NOW + 20, reason: "" })]);
      expect(await monitors.silences()).toHaveLength(2);
      expect((await monitors.endSilence("env_1", "a"))?.until).toBe(NOW + 20);
      expect(await monitors.endSilence("env_1", "a")).toBeUndefined();
    });

    test("are forgotten with their silences, but for those that are kept", async () => {
      const { monitors } = on.store;
      const other = standing("gone", { environmentId: "env_2" });
      await monitors.put([standing("kept"), standing("gone"), other]);
      for (const name of ["kept", "gone"]) await monitors.silence(silence(name));
      await monitors.keepOnly("env_1", ["kept"]);
      expect(await monitors.list()).toEqual([standing("kept"), other]);
      expect(await monitors.silences()).toEqual([silence("kept")]);
    });

    test("go with their environment", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
      for (const environmentId of ["env_1", "env_2"]) {
        await on.store.monitors.put([standing("a", { environmentId })]);
        await on.store.monitors.silence(silence("a", { environmentId }));
      }
      const job = { id: "job_1", kind: "erase", payload: {}, group: { name: "g", slots: 1 }, maxAttempts: 1, attemptTimeoutMs: 1 };
      await on.store.removeEnvironment("env_1", NOW, job);
      await on.store.eraseEnvironment("env_1");
      expect((await on.store.monitors.list()).map(({ environmentId }) => environmentId)).toEqual(["env_2"]);
      expect((await on.store.monitors.silences()).map(({ environmentId }) => environmentId)).toEqual(["env_2"]);
    });
  });
}
