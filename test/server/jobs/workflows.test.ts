import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createWorkflows, type PlannedOperation, planWorkflow, type Workflows } from "../../../src/server/jobs/workflows.ts";
import type { NewJob } from "../../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../harness/running-server.ts";

let folder: TempFolder;
let store: MetadataStore;
let workflows: Workflows;

beforeEach(() => {
  folder = new TempFolder();
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1" });
  workflows = createWorkflows({ jobs: store.jobs, workflows: store.workflows, bus: createMemoryBus(), now: () => 1_000 });
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const job = (id: string): NewJob => ({ id, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
const plan = (operations: readonly PlannedOperation[]) =>
  ({ environmentId: "env_1", deploymentId: "", kind: "manual", subject: "s", operations }) as const;
const SHARDED: readonly PlannedOperation[] = [
  { name: "prepare", jobs: [job("p")] },
  { name: "shard", after: ["prepare"], gate: 1, jobs: [job("s0"), { ...job("s1"), name: "the last" }] },
  { name: "complete", after: ["prepare", "shard"], jobs: [job("c")] },
];
const claim = () => store.jobs.claim({ node: "n", kinds: ["k"], limit: 9, leaseMs: 1_000 });

test("a plan's jobs wait for all jobs of the operations before theirs, pass their gate, and are named", async () => {
  const made = await workflows.begin(plan(SHARDED));
  expect(made.map(({ id, name, index, gate, isHeld }) => [id, name, index, gate, isHeld])).toEqual([
    ["p", "prepare", 0, undefined, false],
    ["s0", "shard 0", 0, 1, true],
    ["s1", "the last", 1, 1, true],
    ["c", "complete", 0, undefined, true],
  ]);
  expect(new Set(made.map(({ workflowId }) => workflowId)).size).toBe(1);
  const order: string[] = [];
  for (let claimed = await claim(); claimed.length > 0; claimed = await claim())
    for (const { job, lease } of claimed) {
      expect(claimed.length).toBe(1);
      order.push(job.id);
      await store.jobs.succeed(lease);
    }
  expect(order).toEqual(["p", "s0", "s1", "c"]);
});

test("the operations are shown as their jobs stand, with what was added, also after the jobs are removed", async () => {
  const [first] = await workflows.begin(plan(SHARDED));
  const id = first?.workflowId ?? "";
  const shown = async () =>
    (await workflows.operations(await workflows.find(id, "env_1"))).map(({ name, status, jobs, completed, failed, canceled }) => [
      ...[name, status, jobs],
      [completed, failed, canceled],
    ]);
  const [prepare] = await claim();
  expect(await shown()).toEqual([
    ["prepare", "working", 1, [0, 0, 0]],
    ["shard", "queued", 2, [0, 0, 0]],
    ["complete", "queued", 1, [0, 0, 0]],
  ]);
  if (prepare) await store.jobs.succeed(prepare.lease);
  const [shard] = await claim();
  if (shard) await store.jobs.fail(shard.lease, "no");
  await store.jobs.cancel("s1");
  await store.jobs.enqueue({ ...job("more"), workflowId: id, operationId: "added" });
  expect(await shown()).toEqual([
    ["prepare", "completed", 1, [1, 0, 0]],
    ["shard", "failed", 2, [0, 1, 1]],
    ["complete", "queued", 1, [0, 0, 0]],
    ["k", "queued", 1, [0, 0, 0]],
  ]);
  await store.jobs.cancel("more");
  await store.jobs.cancel("c");
  await store.jobs.purge(-1, 100);
  expect((await shown()).map(([, status]) => status)).toEqual(["failed", "failed", "failed"]);
  const operations = await workflows.operations(await workflows.find(id, "env_1"));
  expect(operations.map(({ after }) => after.map((one) => operations.find(({ id }) => id === one)?.name))).toEqual([
    [],
    ["prepare"],
    ["prepare", "shard"],
  ]);
});

test("a plan in the wrong order, without jobs or with too many pairs is refused, and one of another environment is not found", async () => {
  expect(() => planWorkflow(plan([{ name: "a", after: ["b"], jobs: [job("1")] }]), 0)).toThrow("'b'");
  expect(() => planWorkflow(plan([]), 0)).toThrow();
  const many = Array.from({ length: 400 }, (_, at) => job(`${at}`));
  expect(() =>
    planWorkflow(
      plan([
        { name: "a", jobs: many },
        { name: "b", after: ["a"], jobs: many },
      ]),
      0,
    ),
  ).toThrow("100000");
  const [first] = await workflows.begin(plan(SHARDED));
  const id = first?.workflowId ?? "";
  await expect(workflows.find(id, "env_2")).rejects.toMatchObject({ kind: "not_found" });
  await expect(workflows.find(`${id}x`, "env_1")).rejects.toMatchObject({ detail: { hint: expect.stringContaining(id) } });
  await expect(workflows.list({ environmentId: "env_1", limit: 1, offset: 10_001 })).rejects.toMatchObject({ kind: "invalid_argument" });
});
