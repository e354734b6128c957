/** What every metadata store must do: workflows, which follow their jobs. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ClaimedJob, JobLease, NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { NewWorkflow, WorkflowFilter } from "../../../../src/server/stores/metadata/workflows.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function workflowsConformance(driver: Driver<MetadataStore>): void {
  describe(`workflows: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const workflow = (id: string, patch: Partial<NewWorkflow> = {}): NewWorkflow => ({
      ...{ id, environmentId: "env_1", deploymentId: "dpl_1", kind: "manual", subject: "f.a" },
      operations: [
        { id: "op_1", name: "prepare", kind: "k", jobs: 1, after: [] },
        { id: "op_2", name: "shard", kind: "k", jobs: 2, after: ["op_1"] },
      ],
      ...patch,
    });
    const job = (id: string, patch: Partial<NewJob> = {}): NewJob => ({
      ...{ id, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1, scope: "env_1" },
      ...patch,
    });
    /** A workflow of one job before two. */
    const begin = (id: string, patch: Partial<NewWorkflow> = {}) =>
      store.jobs.enqueueAll([
        job(`${id}/1`, { operationId: "op_1", begins: workflow(id, patch) }),
        job(`${id}/2`, { operationId: "op_2", workflowId: id, after: [`${id}/1`] }),
        job(`${id}/3`, { operationId: "op_2", workflowId: id, after: [`${id}/1`] }),
      ]);
    const leases = async (limit = 1): Promise<JobLease[]> =>
      (await store.jobs.claim({ node: "n", kinds: ["k"], limit, leaseMs: 1_000 })).map(({ lease }: ClaimedJob) => lease);
    const succeed = async () => {
      for (const lease of await leases()) await store.jobs.succeed(lease);
    };
    const status = async (id: string) => (await store.workflows.workflow(id))?.status;
    const listed = async (filter: Partial<WorkflowFilter> = {}) =>
      (await store.workflows.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("one is kept with all that was said of it, and its jobs are its parts", async () => {
      const made = await begin("wf_1");
      expect(made.map(({ workflowId }) => workflowId)).toEqual(["wf_1", "wf_1", "wf_1"]);
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      const kept = { ...workflow("wf_1"), status: "queued", createdAt: START, startedAt: undefined, endedAt: undefined } as const;
      expect(await store.workflows.workflow("wf_1")).toEqual(kept);
      expect(await store.workflows.workflow("wf_2")).toBeUndefined();
      await expect(store.jobs.enqueue(job("x", { workflowId: "wf_2" }))).rejects.toThrow("wf_2");
      await expect(begin("wf_1")).rejects.toThrow();
      expect(await listed()).toEqual(["wf_1"]);
    });

    test("its status follows its jobs: queued, working from the first on, completed with the last", async () => {
      await begin("wf_1");
      now += 5;
      const [lease] = await leases();
      expect(await store.workflows.workflow("wf_1")).toMatchObject({ status: "working", startedAt: START + 5, endedAt: undefined });
      await store.jobs.release(lease as JobLease);
      now += 5;
      await succeed();
      await succeed();
      expect(await status("wf_1")).toBe("working");
      expect(await store.workflows.counts("wf_1")).toEqual([
        { operationId: "op_1", kind: "k", state: "succeeded", jobs: 1 },
        { operationId: "op_2", kind: "k", state: "succeeded", jobs: 1 },
        { operationId: "op_2", kind: "k", state: "queued", jobs: 1 },
      ]);
      now += 5;
      await succeed();
      expect(await store.workflows.workflow("wf_1")).toMatchObject({ status: "completed", startedAt: START + 5, endedAt: START + 15 });
    });

    test("it has failed once a job failed and the others ended, and is canceled when they were", async () => {
      await begin("failing");
      await store.jobs.fail((await leases())[0] as JobLease, "no");
      expect(await status("failing")).toBe("working");
      for (const lease of await leases(2)) await store.jobs.fail(lease, "given up");
      expect(await status("failing")).toBe("failed");
      await begin("cancelled");
      await store.jobs.cancel("cancelled/1");
      expect(await status("cancelled")).toBe("canceled");
      await begin("half");
      await succeed();
      await store.jobs.cancel("half/2");
      expect(await status("half")).toBe("working");
      await succeed();
      expect(await status("half")).toBe("canceled");
      await begin("forgotten");
      await store.jobs.forget({ kind: "k", scope: "env_1" }, 100);
      expect(await status("forgotten")).toBe("canceled");
    });

    test("it goes on when a job is added or tried again after its end", async () => {
      await store.jobs.enqueue(job("1", { begins: workflow("wf_1") }));
      await store.jobs.fail((await leases())[0] as JobLease, "no");
      expect(await status("wf_1")).toBe("failed");
      await store.jobs.retry("1", 1, 10);
      expect(await store.workflows.workflow("wf_1")).toMatchObject({ status: "working", endedAt: undefined });
      await succeed();
      expect(await status("wf_1")).toBe("completed");
      await store.jobs.enqueue(job("2", { workflowId: "wf_1", operationId: "more" }));
      expect(await status("wf_1")).toBe("working");
      await store.jobs.cancel("2");
      expect(await status("wf_1")).toBe("canceled");
    });

    test("a job that was enqueued before begins no second one", async () => {
      await store.jobs.enqueue(job("1", { idempotencyKey: "once", begins: workflow("wf_1") }));
      expect(await store.jobs.enqueue(job("2", { idempotencyKey: "once", begins: workflow("wf_2") }))).toMatchObject({
        workflowId: "wf_1",
      });
      expect(await listed()).toEqual(["wf_1"]);
    });

    test("those of an environment are listed newest first, in pages, and by all that tells them apart", async () => {
      await begin("wf_a");
      await begin("wf_b", { deploymentId: "dpl_2", kind: "cron" });
      await begin("wf_ab", { kind: "scheduled_query" });
      await begin("wf_other", { environmentId: "env_2" });
      await store.jobs.cancel("wf_a/1");
      expect(await listed()).toEqual(["wf_ab", "wf_b", "wf_a"]);
      expect([await listed({ limit: 2 }), await listed({ before: "wf_b" }), await listed({ offset: 1, limit: 1 })]).toEqual([
        ["wf_ab", "wf_b"],
        ["wf_a"],
        ["wf_b"],
      ]);
      expect([await listed({ deploymentId: "dpl_2" }), await listed({ kind: "scheduled_query" }), await listed({ idPart: "_a" })]).toEqual([
        ["wf_b"],
        ["wf_ab"],
        ["wf_ab", "wf_a"],
      ]);
      expect([await listed({ status: "canceled" }), await listed({ status: "queued" }), await listed({ idPart: "%" })]).toEqual([
        ["wf_a"],
        ["wf_ab", "wf_b"],
        [],
      ]);
    });

    test("those that ended long ago are removed, others are not", async () => {
      await begin("old");
      await begin("open");
      await store.jobs.cancel("old/1");
      now += 10;
      expect([await store.workflows.purge(10, 5), await store.workflows.purge(9, 5)]).toEqual([0, 1]);
      expect(await listed()).toEqual(["open"]);
    });
  });
}
