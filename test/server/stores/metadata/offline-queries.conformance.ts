/** What the offline queries of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { NewOfflineQuery, OfflineQueryRequest, OfflineQueryStanding } from "../../../../src/server/stores/metadata/offline-queries.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;
const REQUEST: OfflineQueryRequest = {
  rows: { from: "keys", lowerBound: null, upperBound: 5, maxSamples: 7 },
  ...{ time: "", outputs: ["u.a"], requiredOutputs: [], recompute: ["u.b"], asKnown: true, includeObservedAt: false, numShards: 2 },
  ...{
    storeOnline: false,
    storeOffline: true,
    tags: ["t"],
    sampleFraction: 0,
    testFraction: 0.5,
    splitBy: "time",
    plannerOptions: { a: "b" },
  },
  deployment: "",
};

/** Runs the suite against a driver. */
export function offlineQueriesConformance(driver: Driver<MetadataStore>): void {
  describe(`offline queries: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const query = (id: string, patch: Partial<NewOfflineQuery> = {}): NewOfflineQuery => ({
      ...{ id, environmentId: "env_1", branch: "", deploymentId: "dpl_1", kind: "manual", queryName: "n", queryNameVersion: "1" },
      ...{ agentId: "c", datasetName: "d", outputs: ["u.a"], request: REQUEST, retryOf: "" },
      ...patch,
    });
    const job = (id: string): NewJob => ({ id, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    const create = async (id: string, patch: Partial<NewOfflineQuery> = {}) =>
      (await store.offlineQueries.create(query(id, patch), [job(`${id}.0`)], 100)) as OfflineQueryStanding;
    const counts = (doneRows: number) => ({
      doneRows,
      rows: doneRows,
      failedRows: 1,
      lateValues: 2,
      rowError: `e${doneRows}`,
      isDone: doneRows === 5,
    });
    const spine = (totalRows: number) => ({
      ...{ totalRows, splitAt: 1.5, datasetId: "dst_1", revisionId: "rev_1" },
      shards: [
        { fromRow: 0, spineRows: 5 },
        { fromRow: 5, spineRows: totalRows - 5 },
      ],
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

    test("a query and its jobs are stored in one step, with all that was said of it", async () => {
      const made = await create("q1");
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      const unknown = { startedAt: undefined, endedAt: undefined, totalRows: undefined, splitAt: undefined };
      const empty = {
        datasetId: "",
        revisionId: "",
        error: "",
        isTidy: false,
        doneRows: 0,
        rows: 0,
        failedRows: 0,
        lateValues: 0,
        rowError: "",
      };
      expect(made).toEqual({ ...query("q1"), ...unknown, ...empty, state: "queued", createdAt: START });
      expect(await store.offlineQueries.query("q1")).toEqual(made);
      expect((await store.jobs.job("q1.0"))?.state).toBe("queued");
      expect(await store.offlineQueries.query("q2")).toBeUndefined();
    });

    test("no more than the limit wait, in each environment", async () => {
      await create("q1");
      expect(await store.offlineQueries.create(query("q2"), [job("q2.0")], 1)).toBe("full");
      expect(await store.jobs.job("q2.0")).toBeUndefined();
      expect(await store.offlineQueries.create(query("q3", { environmentId: "env_2" }), [], 1)).toMatchObject({ id: "q3" });
      await store.offlineQueries.end("q1", "canceled");
      expect(await store.offlineQueries.create(query("q2"), [], 1)).toMatchObject({ id: "q2" });
    });

    test("the rows are planned once, and shards tell how far they are", async () => {
      const { offlineQueries } = store;
      await create("q1");
      expect(await offlineQueries.begin("q1")).toMatchObject({ state: "working", startedAt: START });
      expect(await offlineQueries.plan("q1", spine(8))).toBe(true);
      expect(await offlineQueries.plan("q1", spine(9))).toBe(true);
      expect(await offlineQueries.shard("q1", 1)).toMatchObject({ fromRow: 5, spineRows: 3, doneRows: 0, isDone: false });
      expect(await offlineQueries.shard("q1", 2)).toBeUndefined();
      expect(await offlineQueries.report("q1", 1, 4, counts(3))).toBe(true);
      expect(await offlineQueries.report("q1", 1, 3, counts(1))).toBe(false);
      expect(await offlineQueries.report("q1", 0, 1, counts(5))).toBe(true);
      expect(await offlineQueries.report("q1", 2, 9, counts(1))).toBe(false);
      expect(await offlineQueries.query("q1")).toMatchObject({
        ...{ totalRows: 8, splitAt: 1.5, revisionId: "rev_1", doneRows: 8, rows: 8, failedRows: 2, lateValues: 4, rowError: "e5" },
      });
      expect(await offlineQueries.shard("q1", 0)).toMatchObject({ isDone: true });
    });

    test("a query whose revision others can read is completed, whatever would end it", async () => {
      const { datasets, offlineQueries } = store;
      const made = {
        id: "rev_1",
        environmentId: "env_1",
        origin: "offline_query",
        originId: "q1",
        createdBy: "cli_1",
        createdAt: 1,
      } as const;
      await datasets.begin({ id: "dst_1", name: "training" }, made, { datasets: 9, writing: 9 });
      for (const id of ["q1", "q2"]) {
        await create(id);
        await offlineQueries.plan(id, spine(8));
        if (id === "q1") await datasets.complete("rev_1", [], 2);
        else await offlineQueries.end("q1", "canceled");
      }
      expect((await offlineQueries.query("q1"))?.state).toBe("completed");
      expect(await offlineQueries.end("q2", "failed", "why")).toBe(false);
      expect(await offlineQueries.query("q2")).toMatchObject({ state: "completed", error: "", isTidy: true });
    });

    test("a revision is not completed after its query has ended without it", async () => {
      const { datasets, offlineQueries } = store;
      const made = { environmentId: "env_1", origin: "offline_query", originId: "q1", createdBy: "cli_1", createdAt: 1 } as const;
      await datasets.begin({ id: "dst_1", name: "training" }, { id: "rev_1", ...made }, { datasets: 9, writing: 9 });
      await create("q1");
      await offlineQueries.plan("q1", spine(8));
      await offlineQueries.end("q1", "canceled");
      expect(await datasets.complete("rev_1", [], 2)).toBeUndefined();
      expect(await datasets.fail("rev_1", 3)).toBe(true);
    });

    test("a query ends once, and nothing is written to it then", async () => {
      const { offlineQueries } = store;
      await create("q1");
      await offlineQueries.plan("q1", spine(8));
      now += 5;
      expect(await offlineQueries.end("q1", "failed", "why")).toBe(true);
      expect(await offlineQueries.end("q1", "completed")).toBe(false);
      expect(await offlineQueries.begin("q1")).toBeUndefined();
      expect(await offlineQueries.plan("q1", spine(8))).toBe(false);
      expect(await offlineQueries.report("q1", 0, 1, counts(5))).toBe(false);
      expect(await offlineQueries.query("q1")).toMatchObject({ state: "failed", error: "why", endedAt: START + 5, isTidy: false });
      expect((await offlineQueries.untidy(10)).map(({ id }) => id)).toEqual(["q1"]);
      await offlineQueries.tidied("q1");
      expect(await offlineQueries.untidy(10)).toEqual([]);
      await create("q2");
      await offlineQueries.end("q2", "completed");
      expect(await offlineQueries.untidy(10)).toEqual([]);
    });

    test("lists are selected, newest first", async () => {
      const { offlineQueries } = store;
      await create("q1", { branch: "b", agentId: "x" });
      now += 10;
      await create("q2", { queryName: "m", kind: "scheduled_query" });
      await create("q12", { queryNameVersion: "2" });
      await create("other", { environmentId: "env_2" });
      await offlineQueries.end("q1", "canceled");
      const list = async (filter: object) =>
        (await offlineQueries.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);
      expect(await list({})).toEqual(["q12", "q2", "q1"]);
      expect(await list({ limit: 1 })).toEqual(["q12"]);
      expect(await list({ before: "q12" })).toEqual(["q2", "q1"]);
      expect(await list({ id: "q1" })).toEqual(["q12", "q1"]);
      expect(await list({ branch: "b" })).toEqual(["q1"]);
      expect(await list({ agentId: "x" })).toEqual(["q1"]);
      expect(await list({ state: "canceled" })).toEqual(["q1"]);
      expect(await list({ state: "queued" })).toEqual(["q12", "q2"]);
      await offlineQueries.begin("q2");
      expect([await list({ state: "queued" }), await list({ state: "working" })]).toEqual([["q12"], ["q2"]]);
      expect(await list({ kind: "scheduled_query" })).toEqual(["q2"]);
      expect(await list({ queryName: "n", queryNameVersion: "2" })).toEqual(["q12"]);
      expect(await list({ since: START + 10 })).toEqual(["q12", "q2"]);
    });

    test("rows are in use as long as a query may need them; old queries that are tidy are removed", async () => {
      const { offlineQueries } = store;
      const request = { ...REQUEST, rows: { from: "inline", key: "k1" } } as const;
      await create("q1", { request });
      expect(await offlineQueries.inputsInUse(["k1", "k2"], START + 99)).toEqual(["k1"]);
      await offlineQueries.end("q1", "failed", "x");
      expect(await offlineQueries.inputsInUse(["k1"], START)).toEqual(["k1"]);
      expect(await offlineQueries.inputsInUse(["k1"], START + 1)).toEqual([]);
      now += 100;
      expect(await offlineQueries.purge(50, 10)).toBe(0);
      await offlineQueries.tidied("q1");
      expect(await offlineQueries.purge(101, 10)).toBe(0);
      expect(await offlineQueries.purge(50, 10)).toBe(1);
      expect(await offlineQueries.query("q1")).toBeUndefined();
    });
  });
}
