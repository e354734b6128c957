/** What the tasks of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { NewTask, TaskRequest } from "../../../../src/server/stores/metadata/tasks.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function tasksConformance(driver: Driver<MetadataStore>): void {
  describe(`tasks: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const request: TaskRequest = {
      target: { path: "a.py", module: "", callable: "main" },
      ...{ args: [1, "b", null], kwargs: { day: "2026-01-31" }, texts: false, deploymentId: "", maxRetries: 2, profiling: true },
    };
    const task = (id: string, patch: Partial<NewTask> = {}): NewTask => ({
      ...{ id, environmentId: "env_1", workflowId: "wf_1", request, ...patch },
    });
    const job = (id: string): NewJob => ({ id: `job_${id}`, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    const create = (ids: readonly string[], patch: Partial<NewTask> = {}, limit = 100) =>
      store.tasks.create(
        ids.map((id) => task(id, patch)),
        ids.map(job),
        limit,
      );
    const begun = (patch: Partial<{ deploymentId: string; attempts: number }> = {}) => ({
      ...{ deploymentId: "dpl_1", branch: "b", attempts: 1, ...patch },
    });
    const output = { result: "[1]", stacks: [{ frames: ["f", "g"], samples: 3 }], dropped: 1 };

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("tasks and their jobs are stored in one step, with all that was said of them", async () => {
      expect(await create(["st-1", "st-2"])).toBe("stored");
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.tasks.task("st-2")).toEqual({
        ...task("st-2"),
        ...{ deploymentId: "", branch: "", state: "received", fence: 0, attempts: 0, exitCode: undefined, error: "" },
        ...{ createdAt: START, startedAt: undefined, endedAt: undefined },
      });
      expect((await store.jobs.job("job_st-2"))?.state).toBe("queued");
      expect(await store.tasks.task("st-3")).toBeUndefined();
      expect(await store.tasks.output("st-2")).toBeUndefined();
    });

    test("more than an environment may have are stored not at all; those that ended do not count", async () => {
      await create(["st-1", "st-2"], {}, 3);
      expect(await create(["st-3", "st-4"], {}, 3)).toBe("full");
      expect(await store.tasks.task("st-3")).toBeUndefined();
      expect(await store.jobs.job("job_st-3")).toBeUndefined();
      expect(await create(["st-5", "st-6"], { environmentId: "env_2" }, 3)).toBe("stored");
      await store.tasks.cancel("st-1");
      expect(await create(["st-3", "st-4"], {}, 3)).toBe("stored");
    });

    test("an attempt begins with its deployment; the first beginning stays", async () => {
      await create(["st-1"]);
      now += 5;
      expect(await store.tasks.begin("st-1", 1, begun())).toMatchObject({ state: "running", fence: 1, attempts: 1, startedAt: START + 5 });
      now += 5;
      expect(await store.tasks.begin("st-1", 2, begun({ deploymentId: "dpl_2", attempts: 2 }))).toMatchObject({
        ...{ deploymentId: "dpl_2", branch: "b", attempts: 2, startedAt: START + 5 },
      });
      expect(await store.tasks.begin("st-9", 1, begun())).toBeUndefined();
    });

    test("who lost the task to a later fencing number writes nothing", async () => {
      await create(["st-1"]);
      await store.tasks.begin("st-1", 2, begun());
      expect(await store.tasks.begin("st-1", 1, begun())).toBeUndefined();
      expect(await store.tasks.update("st-1", 1, { state: "failed", error: "old" })).toBe(false);
      expect(await store.tasks.task("st-1")).toMatchObject({ state: "running", error: "" });
    });

    test("an attempt that failed leaves the task to wait, the last one ends it; what it left is that of the last", async () => {
      await create(["st-1"]);
      await store.tasks.begin("st-1", 1, begun());
      expect(await store.tasks.update("st-1", 1, { state: "received", exitCode: 3, error: "boom", output })).toBe(true);
      expect(await store.tasks.task("st-1")).toMatchObject({ state: "received", exitCode: 3, error: "boom", endedAt: undefined });
      now += 7;
      await store.tasks.begin("st-1", 2, begun({ attempts: 2 }));
      await store.tasks.update("st-1", 2, { state: "succeeded", exitCode: 0, error: "", output: { ...output, result: "2" } });
      expect(await store.tasks.task("st-1")).toMatchObject({ state: "succeeded", exitCode: 0, error: "", endedAt: START + 7 });
      expect(await store.tasks.output("st-1")).toMatchObject({ ...output, result: "2" });
      expect(await store.tasks.update("st-1", 3, { state: "failed" })).toBe(false);
      expect(await store.tasks.begin("st-1", 3, begun())).toBeUndefined();
    });

    test("whoever cancels ends it, and who ran it writes nothing more", async () => {
      await create(["st-1"]);
      await store.tasks.begin("st-1", 1, begun());
      expect(await store.tasks.cancel("st-1")).toBe(true);
      expect(await store.tasks.cancel("st-1")).toBe(false);
      expect(await store.tasks.cancel("st-9")).toBe(false);
      expect(await store.tasks.update("st-1", 1, { state: "succeeded" })).toBe(false);
      expect(await store.tasks.task("st-1")).toMatchObject({ state: "cancelled", endedAt: START });
    });

    test("a list is that of an environment, newest first, by workflow, state and time, in pages", async () => {
      await create(["st-1", "st-2"]);
      now += 10;
      await create(["st-3"], { workflowId: "wf_2" });
      await create(["st-4"], { environmentId: "env_2" });
      await store.tasks.cancel("st-2");
      const ids = async (filter: Partial<Parameters<typeof store.tasks.list>[0]>) =>
        (await store.tasks.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);
      expect(await ids({})).toEqual(["st-3", "st-2", "st-1"]);
      expect(await ids({ workflowId: "wf_1" })).toEqual(["st-2", "st-1"]);
      expect(await ids({ states: ["cancelled", "failed"] })).toEqual(["st-2"]);
      expect(await ids({ since: START + 10 })).toEqual(["st-3"]);
      expect(await ids({ until: START + 10 })).toEqual(["st-2", "st-1"]);
      expect(await ids({ limit: 1, before: "st-3" })).toEqual(["st-2"]);
    });

    test("what ended long ago is removed with what it left, in batches", async () => {
      await create(["st-1", "st-2", "st-3"]);
      await store.tasks.begin("st-1", 1, begun());
      await store.tasks.update("st-1", 1, { state: "failed", output });
      await store.tasks.cancel("st-2");
      now += 1_000;
      expect(await store.tasks.purge(1_000, 10)).toBe(0);
      expect(await store.tasks.purge(999, 1)).toBe(1);
      expect(await store.tasks.purge(999, 10)).toBe(1);
      expect(await store.tasks.output("st-1")).toBeUndefined();
      expect((await store.tasks.task("st-3"))?.state).toBe("received");
    });
  });
}
