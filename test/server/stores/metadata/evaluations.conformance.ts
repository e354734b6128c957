/** What the runs of evaluations of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { EvaluationRunPatch, NewEvaluationRun } from "../../../../src/server/stores/metadata/evaluations.ts";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function evaluationsConformance(driver: Driver<MetadataStore>): void {
  describe(`evaluations: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const run = (id: string, patch: Partial<NewEvaluationRun> = {}): NewEvaluationRun => ({
      ...{ id, environmentId: "env_1", evaluationId: "evl_1", evaluationName: "answers", workflowId: "wf_1", dataset: "tickets" },
      ...{ revisionId: "rev_1", deploymentId: "dpl_1", branch: "b", metadata: { commit: "4f5a7b3" }, rows: 7, createdBy: "c_1", ...patch },
    });
    const job = (id: string): NewJob => ({ id: `job_${id}`, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    const create = (id: string, patch: Partial<NewEvaluationRun> = {}, limit = 100) =>
      store.evaluations.create(run(id, patch), job(id), limit);
    const scored = (averageScore: number): EvaluationRunPatch => ({
      ...{ state: "succeeded" as const, averageScore, rowsDone: 7, rowsFailed: 1, resultRevisionId: "rev_2", error: "" },
      firstFailure: { row: 3, key: "k", scorer: "near", message: "no number" },
      scores: [{ scorer: "near", count: 6, errors: 1, mean: averageScore, p50: 0.5, p90: 1, p99: 1 }],
    });

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
      expect(await create("evr_1")).toBe("stored");
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.evaluations.run("evr_1")).toEqual({
        ...run("evr_1"),
        ...{
          state: "received",
          fence: 0,
          attempts: 0,
          rowsDone: 0,
          rowsFailed: 0,
          firstFailure: undefined,
          scores: [],
          averageScore: undefined,
        },
        ...{ resultRevisionId: "", error: "", createdAt: START, startedAt: undefined, endedAt: undefined },
      });
      expect((await store.jobs.job("job_evr_1"))?.state).toBe("queued");
      expect(await store.evaluations.run("evr_2")).toBeUndefined();
    });

    test("more than an environment may have are not stored; those that ended do not count", async () => {
      await create("evr_1", {}, 1);
      expect(await create("evr_2", {}, 1)).toBe("full");
      expect(await store.evaluations.run("evr_2")).toBeUndefined();
      expect(await store.jobs.job("job_evr_2")).toBeUndefined();
      expect(await create("evr_3", { environmentId: "env_2" }, 1)).toBe("stored");
      await store.evaluations.cancel("evr_1");
      expect(await create("evr_2", {}, 1)).toBe("stored");
    });

    test("an attempt writes until a later one has, and its first beginning stays", async () => {
      await create("evr_1");
      now += 10;
      expect(await store.evaluations.begin("evr_1", 3, 1)).toMatchObject({
        state: "running",
        attempts: 1,
        fence: 3,
        startedAt: START + 10,
      });
      now += 10;
      expect(await store.evaluations.update("evr_1", 3, { rowsDone: 4 })).toBe(true);
      expect(await store.evaluations.begin("evr_1", 5, 2)).toMatchObject({ attempts: 2, rowsDone: 4, startedAt: START + 10 });
      expect(await store.evaluations.update("evr_1", 3, { rowsDone: 9 })).toBe(false);
      expect(await store.evaluations.begin("evr_1", 4, 3)).toBeUndefined();
      expect(await store.evaluations.update("evr_1", 5, { state: "received", error: "died" })).toBe(true);
      expect(await store.evaluations.run("evr_1")).toMatchObject({ state: "received", error: "died", rowsDone: 4, endedAt: undefined });
      expect(await store.evaluations.update("evr_1", 5, {})).toBe(true);
    });

    test("what ended does not change any more", async () => {
      await create("evr_1");
      await create("evr_2");
      await store.evaluations.begin("evr_1", 1, 1);
      now += 5;
      expect(await store.evaluations.update("evr_1", 1, scored(0.75))).toBe(true);
      expect(await store.evaluations.run("evr_1")).toMatchObject({ ...scored(0.75), endedAt: START + 5 });
      expect(await store.evaluations.update("evr_1", 1, { error: "late" })).toBe(false);
      expect(await store.evaluations.cancel("evr_1")).toBe(false);
      expect(await store.evaluations.cancel("evr_2")).toBe(true);
      expect(await store.evaluations.begin("evr_2", 1, 1)).toBeUndefined();
      expect(await store.evaluations.run("evr_2")).toMatchObject({ state: "cancelled", endedAt: START + 5 });
      expect(await store.evaluations.cancel("evr_3")).toBe(false);
    });

    test("lists are selected, newest first, and go on after a run", async () => {
      for (const id of ["evr_1", "evr_2", "evr_3"]) await create(id);
      await create("evr_4", { evaluationId: "evl_2" });
      await create("evr_5", { environmentId: "env_2" });
      await store.evaluations.cancel("evr_2");
      const ids = async (filter: Partial<Parameters<MetadataStore["evaluations"]["list"]>[0]>) =>
        (await store.evaluations.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);
      expect(await ids({})).toEqual(["evr_4", "evr_3", "evr_2", "evr_1"]);
      expect(await ids({ evaluationId: "evl_1", limit: 2 })).toEqual(["evr_3", "evr_2"]);
      expect(await ids({ before: "evr_3" })).toEqual(["evr_2", "evr_1"]);
      expect(await ids({ states: ["cancelled", "failed"] })).toEqual(["evr_2"]);
      expect(await ids({ states: [] })).toEqual([]);
    });

    test("the latest scored run of an evaluation is the newest that succeeded with a score", async () => {
      for (const id of ["evr_1", "evr_2", "evr_3", "evr_4"]) await create(id);
      await create("evr_5", { evaluationId: "evl_2" });
      await store.evaluations.update("evr_1", 1, scored(0.25));
      await store.evaluations.update("evr_2", 1, scored(0));
      await store.evaluations.update("evr_3", 1, { ...scored(1), averageScore: undefined });
      const latest = await store.evaluations.latestScored("env_1", ["evl_1", "evl_2", "evl_3"]);
      expect(latest.map(({ id, averageScore }) => [id, averageScore])).toEqual([["evr_2", 0]]);
      expect(await store.evaluations.latestScored("env_2", ["evl_1"])).toEqual([]);
    });

    test("old runs are removed, those that have not ended stay", async () => {
      for (const id of ["evr_1", "evr_2", "evr_3"]) await create(id);
      await store.evaluations.cancel("evr_1");
      await store.evaluations.cancel("evr_2");
      now += 1_000;
      expect(await store.evaluations.purge(1_000, 10)).toBe(0);
      now += 1;
      expect([await store.evaluations.purge(1_000, 1), await store.evaluations.purge(1_000, 10)]).toEqual([1, 1]);
      expect((await store.evaluations.list({ environmentId: "env_1", limit: 10 })).map(({ id }) => id)).toEqual(["evr_3"]);
    });
  });
}
