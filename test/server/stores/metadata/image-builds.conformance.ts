/** What every metadata store must do: builds of environments and images. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NewImageBuild } from "../../../../src/server/stores/metadata/image-builds.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function imageBuildsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, builds: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const build = (name: string, patch: Partial<NewImageBuild> = {}): NewImageBuild => ({
      ...{
        environmentId: "env_1",
        name,
        kind: "venv",
        deploymentId: "dpl_1",
        venv: "",
        runtime: "python312",
        imageDestinations: [],
        ...patch,
      },
    });
    const find = (name: string) => store.imageBuilds.build("env_1", name);
    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a build is pending, runs and ends; what has ended stays as it is", async () => {
      const given = build("one", { kind: "image", imageDestinations: ["registry/a:1"] });
      expect(await store.imageBuilds.begin(given)).toBe(true);
      expect(await find("one")).toEqual({
        ...given,
        phase: "pending",
        error: "",
        createdAt: START,
        startedAt: undefined,
        endedAt: undefined,
      });
      now += 1;
      expect(await store.imageBuilds.move("env_1", "one", "running")).toBe(true);
      now += 1;
      expect(await store.imageBuilds.move("env_1", "one", "succeeded")).toBe(true);
      expect(await store.imageBuilds.move("env_1", "one", "failed", "no")).toBe(false);
      expect(await find("one")).toMatchObject({ phase: "succeeded", startedAt: START + 1, endedAt: START + 2, error: "" });
      expect(await store.imageBuilds.move("env_2", "one", "failed")).toBe(false);
    });

    test("one that was cut off or failed begins anew with an empty log, one that was made does not", async () => {
      await store.imageBuilds.begin(build("one"));
      await store.imageBuilds.addLines("env_1", "one", ["a", "b"], 10);
      await store.imageBuilds.move("env_1", "one", "failed", "no");
      expect(await find("one")).toMatchObject({ phase: "failed", error: "no" });
      expect(await store.imageBuilds.begin(build("one"))).toBe(true);
      expect(await find("one")).toMatchObject({ phase: "pending", error: "", startedAt: undefined, endedAt: undefined });
      expect(await store.imageBuilds.lines("env_1", "one")).toEqual([]);
      await store.imageBuilds.move("env_1", "one", "skipped");
      expect(await store.imageBuilds.begin(build("one"))).toBe(false);
      expect((await find("one"))?.phase).toBe("skipped");
    });

    test("the last lines of a log are kept, of each build its own", async () => {
      await store.imageBuilds.begin(build("one"));
      await store.imageBuilds.addLines("env_1", "two", ["x"], 2);
      await store.imageBuilds.addLines("env_1", "one", ["a", "b", "c"], 2);
      await store.imageBuilds.addLines("env_1", "one", ["d"], 2);
      expect(await store.imageBuilds.lines("env_1", "one")).toEqual(["c", "d"]);
      expect(await store.imageBuilds.lines("env_1", "two")).toEqual(["x"]);
    });

    test("builds are listed newest first, by phase, with an offset", async () => {
      for (const name of ["a", "b", "c"]) await store.imageBuilds.begin(build(name));
      await store.imageBuilds.begin(build("d", { environmentId: "env_2" }));
      await store.imageBuilds.move("env_1", "b", "omitted");
      const names = async (given: { phases?: ["omitted" | "pending"]; offset?: number }) =>
        (await store.imageBuilds.list({ environmentId: "env_1", limit: 2, offset: 0, ...given })).map(({ name }) => name);
      expect(await names({})).toEqual(["c", "b"]);
      expect(await names({ offset: 2 })).toEqual(["a"]);
      expect(await names({ phases: ["pending"] })).toEqual(["c", "a"]);
    });

    test("the builds of a deployment that is given up end as errors, and old ones are removed with their logs", async () => {
      for (const name of ["a", "b"]) await store.imageBuilds.begin(build(name));
      await store.imageBuilds.begin(build("c", { deploymentId: "dpl_2" }));
      await store.imageBuilds.move("env_1", "a", "succeeded");
      await store.imageBuilds.addLines("env_1", "a", ["line"], 10);
      await store.imageBuilds.stop("dpl_1", "stopped");
      expect([(await find("a"))?.phase, (await find("b"))?.error, (await find("c"))?.phase]).toEqual(["succeeded", "stopped", "pending"]);
      now += 10;
      expect(await store.imageBuilds.purge(10, 5)).toBe(0);
      expect(await store.imageBuilds.purge(9, 1)).toBe(1);
      expect(await store.imageBuilds.purge(9, 5)).toBe(1);
      expect([await find("a"), await find("b"), (await find("c"))?.phase]).toEqual([undefined, undefined, "pending"]);
      expect(await store.imageBuilds.lines("env_1", "a")).toEqual([]);
    });
  });
}
