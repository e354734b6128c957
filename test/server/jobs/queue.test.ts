import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createJobQueue, type JobQueue, type JobViewer, type ShownFilter, type ShownJob } from "../../../src/server/jobs/queue.ts";
import type { NewJob } from "../../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "./manual-clock.ts";

const ALL: JobViewer = { environmentIds: undefined };
const OF_ONE: JobViewer = { environmentIds: ["env_1"] };
const GROUP = { name: "g", slots: 1 };

let folder: TempFolder;
let clock: ManualClock;
let store: MetadataStore;
let queue: JobQueue;
let changes: string[];

beforeEach(() => {
  folder = new TempFolder();
  clock = new ManualClock();
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
  const bus = createMemoryBus();
  changes = [];
  bus.subscribe("changes", (id) => changes.push(id));
  queue = createJobQueue({ jobs: store.jobs, kinds: ["build", "purge"], bus, clock });
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const enqueue = (id: string, patch: Partial<NewJob> = {}) =>
  store.jobs.enqueue({ id, kind: "build", payload: { key: "s3cret" }, scope: "env_1", maxAttempts: 2, attemptTimeoutMs: 1, ...patch });
const claim = async (leaseMs = 1_000) => {
  const [claimed] = await store.jobs.claim({ node: "node_1", kinds: ["build", "purge"], limit: 1, leaseMs });
  if (!claimed) throw new Error("nothing is due");
  return claimed.lease;
};
const list = (filter: Partial<ShownFilter> = {}, viewer = ALL): Promise<ShownJob[]> =>
  queue.list(viewer, { states: [], kinds: [], environmentId: undefined, before: undefined, offset: 0, limit: 10, ...filter });
const numbers = async (...given: Parameters<typeof list>) => (await list(...given)).map(({ entry }) => entry.number);
const states = async () => (await list()).map(({ entry, state, wait }) => [entry.number, state, wait]);

test("a job waits for its time, for a slot of its group, for an earlier job, or for a node", async () => {
  await enqueue("1", { group: GROUP });
  await enqueue("2", { group: GROUP });
  await enqueue("3", { delayMs: 10 });
  await enqueue("4");
  expect(await states()).toEqual([
    [4, "scheduled", { for: "node" }],
    [3, "not_ready", { for: "run_time", until: clock.now() + 10 }],
    [2, "scheduled", { for: "earlier_job", behind: [1] }],
    [1, "scheduled", { for: "node" }],
  ]);
  await claim();
  expect((await states()).slice(2)).toEqual([
    [2, "scheduled", { for: "slot", behind: [1] }],
    [1, "running", undefined],
  ]);
  await clock.advance(1_000);
  expect((await states()).slice(1)).toEqual([
    [3, "scheduled", { for: "node" }],
    [2, "scheduled", { for: "slot", behind: [1] }],
    [1, "running", { for: "node" }],
  ]);
});

test("a job waits for others that must succeed first, and for the gate of its operation", async () => {
  await enqueue("1", { operationId: "op", gate: 1 });
  await enqueue("2", { operationId: "op", gate: 1 });
  await enqueue("3", { after: ["2", "1"] });
  await enqueue("4", { scope: "env_2", after: ["3"] });
  expect((await states()).slice(0, 3)).toEqual([
    [4, "not_ready", { for: "jobs", behind: [3] }],
    [3, "not_ready", { for: "jobs", behind: [1, 2] }],
    [2, "scheduled", { for: "node" }],
  ]);
  expect((await list({ environmentId: "env_2" }, { environmentIds: ["env_2"] }))[0]?.wait).toEqual({ for: "jobs", behind: [] });
  expect([await numbers({ states: ["not_ready"] }), await numbers({ states: ["scheduled"] })]).toEqual([
    [4, 3],
    [2, 1],
  ]);
  const lease = await claim();
  expect((await states())[2]).toEqual([2, "scheduled", { for: "gate", behind: [1] }]);
  await store.jobs.succeed(lease);
  expect((await states()).slice(1, 3)).toEqual([
    [3, "not_ready", { for: "jobs", behind: [2] }],
    [2, "scheduled", { for: "node" }],
  ]);
});

test("jobs are shown by state: a queued one by whether it is due, and each ended one by its end", async () => {
  for (const id of ["1", "2", "3"]) await enqueue(id);
  await enqueue("4", { delayMs: 10 });
  await store.jobs.succeed(await claim());
  await store.jobs.fail(await claim(), "no", 5);
  await store.jobs.cancel("3");
  await enqueue("5");
  const by = (...wanted: ShownFilter["states"]) => numbers({ states: wanted });
  expect([await by("completed"), await by("canceled"), await by("not_ready"), await by("scheduled")]).toEqual([[1], [3], [4, 2], [5]]);
  expect([await by("scheduled", "not_ready"), await by("failed", "running"), await by("canceled", "not_ready")]).toEqual([
    [5, 4, 2],
    [],
    [4, 3, 2],
  ]);
  await clock.advance(5);
  expect([await by("not_ready"), await by("scheduled")]).toEqual([[4], [5, 2]]);
  await claim();
  await store.jobs.fail(await claim(), "no more");
  expect([await by("running"), await by("failed")]).toEqual([[2], [5]]);
});

test("who is limited to environments sees their jobs alone, also where others are in the way", async () => {
  await enqueue("1", { group: GROUP, scope: "env_2" });
  await enqueue("2", { group: GROUP });
  await enqueue("3", { kind: "purge", scope: "" });
  expect([await numbers(), await numbers({}, OF_ONE), await numbers({}, { environmentIds: [] })]).toEqual([[3, 2, 1], [2], []]);
  const of = (environmentId: string, viewer: JobViewer) => numbers({ environmentId }, viewer);
  expect([await of("env_2", ALL), await of("env_1", OF_ONE), await of("env_2", OF_ONE), await of("", OF_ONE)]).toEqual([[1], [2], [], []]);
  expect((await list({}, OF_ONE))[0]?.wait).toEqual({ for: "earlier_job", behind: [] });
  expect((await queue.get(OF_ONE, "2")).entry.id).toBe("2");
  const refused = { kind: "not_found", message: expect.stringMatching(/^There is no job '[139]'\.$/) };
  for (const id of ["1", "3", "9"]) await expect(queue.get(OF_ONE, id)).rejects.toMatchObject(refused);
  expect((await queue.get(ALL, "3")).entry.kind).toBe("purge");
});

test("a job is found by number and by id, with its attempts, and without what it was given", async () => {
  await enqueue("job_a", { subject: "dpl_1" });
  await store.jobs.fail(await claim(), "no", 0);
  const found = await queue.get(ALL, "job_a");
  expect(found).toEqual(await queue.get(ALL, "1"));
  expect(found).toMatchObject({
    entry: { number: 1, id: "job_a", subject: "dpl_1", error: "no" },
    attempts: [{ number: 1, outcome: "failed" }],
  });
  expect(JSON.stringify([found, await list()])).not.toContain("s3cret");
});

test("a kind that there is not, and a page out of bounds, are refused with what would do", async () => {
  await expect(list({ kinds: ["bild"] })).rejects.toMatchObject({
    kind: "invalid_argument",
    detail: { hint: expect.stringContaining("build") },
  });
  await expect(list({ kinds: ["zzzzzzz"] })).rejects.toMatchObject({ detail: { hint: "There are: build, purge." } });
  await expect(list({ kinds: Array(51).fill("build") })).rejects.toMatchObject({ kind: "invalid_argument" });
  for (const offset of [-1, 10_001]) await expect(list({ offset })).rejects.toMatchObject({ kind: "invalid_argument" });
});

test("a job that waits is given another priority by who sees it, and those who look are told; no other job is", async () => {
  await enqueue("1", { group: GROUP });
  await enqueue("2", { group: GROUP });
  await enqueue("3", { group: GROUP });
  await enqueue("4", { after: ["3"] });
  await enqueue("5", { scope: "env_2" });
  expect(await queue.setPriority(OF_ONE, "3", 5)).toMatchObject({ entry: { number: 3, priority: 5 }, wait: { for: "node" } });
  expect(changes).toEqual(["runs/env_1"]);
  expect((await states()).slice(2)).toEqual([
    [3, "scheduled", { for: "node" }],
    [2, "scheduled", { for: "earlier_job", behind: [3] }],
    [1, "scheduled", { for: "earlier_job", behind: [3] }],
  ]);
  expect(await queue.setPriority(OF_ONE, "4", -100)).toMatchObject({ state: "not_ready", entry: { priority: -100 } });
  expect((await claim()).id).toBe("3");
  await expect(queue.setPriority(OF_ONE, "3", 0)).rejects.toMatchObject({ kind: "failed_precondition", message: "Job 3 runs." });
  await store.jobs.cancel("2");
  await expect(queue.setPriority(OF_ONE, "2", 0)).rejects.toMatchObject({ kind: "failed_precondition", message: "Job 2 has ended." });
  await expect(queue.setPriority(OF_ONE, "5", 0)).rejects.toMatchObject({ kind: "not_found" });
  for (const wrong of [101, -101, 0.5])
    await expect(queue.setPriority(OF_ONE, "1", wrong)).rejects.toMatchObject({ kind: "invalid_argument" });
  expect((await list()).map(({ entry }) => entry.priority)).toEqual([0, -100, 5, 0, 0]);
});
