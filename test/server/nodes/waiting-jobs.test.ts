import { expect, test } from "bun:test";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { sampleWaitingJobs } from "../../../src/server/nodes/waiting-jobs.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";

const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
const clock = { now: () => Date.now(), sleep: (ms: number) => Bun.sleep(ms) };

test("of two nodes the older one samples the jobs that wait, and zero when none do any more", async () => {
  const metadata = createSqliteMetadataStore({ path: ":memory:", programVersion: "1" });
  const store = createSqliteMetricStore({ path: ":memory:", programVersion: "1", clock });
  const nodes = ["node_1", "node_2"].map((id) => {
    const metrics = createMetricRecorder({ store: async () => store, clock, log });
    sampleWaitingJobs({ jobs: metadata.jobs, nodes: metadata.nodes, node: () => id, metrics });
    return { id, metrics, waiting: () => metrics.series().filter(({ metric }) => metric === "job.waiting") };
  });
  const [first, second] = nodes as [(typeof nodes)[number], (typeof nodes)[number]];
  const sample = async () => {
    for (const { metrics } of nodes) await metrics.flush();
    return nodes.map(({ waiting }) => waiting().map(({ environmentId, labels, last }) => `${environmentId} ${labels.kind} ${last}`));
  };
  try {
    for (const { id } of nodes) await metadata.nodes.join({ id, url: "", gatewayUrl: "", version: "1", isDraining: false });
    expect(await sample()).toEqual([[], []]);
    for (const id of ["job_1", "job_2"])
      await metadata.jobs.enqueue({ id, kind: "deployment", scope: "env_1", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    expect(await sample()).toEqual([["env_1 deployment 2"], []]);
    await metadata.jobs.claim({ node: "node_1", kinds: ["deployment"], limit: 2, leaseMs: 60_000 });
    expect(await sample()).toEqual([["env_1 deployment 0"], []]);
    await metadata.nodes.leave(first.id);
    await metadata.jobs.enqueue({ id: "job_3", kind: "deployment", scope: "env_1", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    expect(await sample()).toEqual([["env_1 deployment 0"], ["env_1 deployment 1"]]);
    expect(second.waiting()).toHaveLength(1);
  } finally {
    for (const { metrics } of nodes) metrics.end();
    await store.close();
    await metadata.close();
  }
});
