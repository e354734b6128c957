/** What the runs of resolvers of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { NewResolverRun, ResolverRunRecord } from "../../../../src/server/stores/metadata/resolver-runs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function resolverRunsConformance(driver: Driver<MetadataStore>): void {
  describe(`runs of resolvers: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const request = (resolver = "f.a") => ({
      ...{ resolver, deploymentId: "", persistOnline: true, persistOffline: false, lowerBound: null, upperBound: 5 },
    });
    const run = (id: string, patch: Partial<NewResolverRun> = {}): NewResolverRun => ({
      ...{ id, environmentId: "env_1", cause: "trigger", request: request(), idempotencyKey: undefined, ...patch },
    });
    const job = (id: string): NewJob => ({ id, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    const create = async (id: string, patch: Partial<NewResolverRun> = {}, limit = 100) =>
      (await store.resolverRuns.create(run(id, patch), job(id), limit)) as ResolverRunRecord;

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a run and its job are stored in one step, with all that was said of it", async () => {
      await create("r1", { idempotencyKey: "k" });
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.resolverRuns.run("r1")).toEqual({
        ...run("r1", { idempotencyKey: "k" }),
        ...{
          resolver: "f.a",
          deploymentId: "",
          state: "received",
          fence: 0,
          createdAt: START,
          rows: 0,
          failedRows: 0,
          error: "",
          position: "",
          incremental: undefined,
        },
        ...{ startedAt: undefined, endedAt: undefined },
      });
      expect((await store.jobs.job("r1"))?.state).toBe("queued");
      expect(await store.resolverRuns.run("r2")).toBeUndefined();
    });

    test("of many calls with one key one run is stored, in each environment", async () => {
      const ids = Array.from({ length: 100 }, (_, at) => `r${at}`);
      const made = await Promise.all(ids.map((id) => create(id, { idempotencyKey: "k" })));
      expect(new Set(made.map(({ id }) => id))).toEqual(new Set(["r0"]));
      expect(await store.jobs.job("r1")).toBeUndefined();
      expect((await create("o", { idempotencyKey: "k", environmentId: "env_2" })).id).toBe("o");
    });

    test("no more runs than the limit wait", async () => {
      await create("r1", { idempotencyKey: "k" }, 1);
      expect(await store.resolverRuns.create(run("r2"), job("r2"), 1)).toBe("full");
      expect((await create("r3", { idempotencyKey: "k" }, 1)).id).toBe("r1");
      expect((await create("o", { environmentId: "env_2" }, 1)).id).toBe("o");
      expect(await store.jobs.job("r2")).toBeUndefined();
    });

    test("an attempt goes on where the one before was, in its deployment; who holds an older number writes no more", async () => {
      const { resolverRuns } = store;
      await create("r1");
      expect((await resolverRuns.begin(run("r1"), 3, 9, "dpl_1"))?.deploymentId).toBe("dpl_1");
      expect(await resolverRuns.update("r1", 3, { rows: 5, failedRows: 1, error: "e", position: "i:5" })).toBe(true);
      now += 10;
      const again = await resolverRuns.begin(run("r1"), 4, 9, "dpl_2");
      expect(again).toMatchObject({ state: "running", deploymentId: "dpl_1", rows: 5, position: "i:5", createdAt: START });
      expect(await resolverRuns.run("r1")).toEqual(again as ResolverRunRecord);
      expect(await resolverRuns.update("r1", 3, { rows: 9 })).toBe(false);
      expect(await resolverRuns.begin(run("r1"), 3, 9, "dpl_2")).toBeUndefined();
      expect(await resolverRuns.update("r1", 4, { rows: 2, state: "succeeded" })).toBe(true);
      expect(await resolverRuns.run("r1")).toMatchObject({ state: "succeeded", rows: 2, startedAt: START, endedAt: START + 10 });
      expect(await resolverRuns.update("r1", 5, { state: "failed" })).toBe(false);
      expect(await resolverRuns.begin(run("r1"), 5, 9, "dpl_2")).toBeUndefined();
    });

    test("a run that a schedule enqueued is stored when it begins", async () => {
      const begun = await store.resolverRuns.begin(run("r1", { cause: "schedule" }), 1, 42, "dpl_1");
      expect(begun).toMatchObject({ id: "r1", cause: "schedule", createdAt: 42, state: "running", deploymentId: "dpl_1" });
      expect(await store.resolverRuns.run("r1")).toEqual(begun as ResolverRunRecord);
    });

    test("lists the runs of an environment, newest first, by resolver and time, page after page", async () => {
      for (const [at, resolver] of ["f.a", "f.b", "f.a", "f.a"].entries()) {
        now = START + at;
        await create(`r${at}`, { request: request(resolver) });
      }
      await create("o", { environmentId: "env_2" });
      const ids = async (filter: object) =>
        (await store.resolverRuns.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);
      expect(await ids({})).toEqual(["r3", "r2", "r1", "r0"]);
      expect(await ids({ resolver: "f.a" })).toEqual(["r3", "r2", "r0"]);
      expect(await ids({ resolver: "f.a", limit: 2 })).toEqual(["r3", "r2"]);
      expect(await ids({ resolver: "f.a", limit: 2, before: "r2" })).toEqual(["r0"]);
      expect(await ids({ since: START + 1, until: START + 3 })).toEqual(["r2", "r1"]);
      expect(await ids({ before: "none" })).toEqual([]);
    });

    test("runs that ended long ago are removed", async () => {
      await create("old");
      await create("open");
      await store.resolverRuns.update("old", 1, { state: "failed" });
      now += 10;
      expect(await store.resolverRuns.purge(10, 9)).toBe(0);
      now += 1;
      expect(await store.resolverRuns.purge(10, 9)).toBe(1);
      expect((await store.resolverRuns.list({ environmentId: "env_1", limit: 9 })).map(({ id }) => id)).toEqual(["open"]);
    });
  });
}
