/** Workflows by the command line. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { planWorkflow } from "../../src/server/jobs/workflows.ts";
import type { NewJob } from "../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

/** Milliseconds until the jobs are due: nothing runs them during the tests. */
const DELAY_MS = 86_400_000;

let platform: Platform;
let id = "";
const svc = (line: string) => {
  const [first = "", ...others] = line.split(" ");
  return runCommand(first, others, platform);
};
const ids = async (words = "") =>
  ((await svc(`workflows list --json ${words}`.trim())).json() as { workflows: { id: string }[] }).workflows.map((one) => one.id);

beforeAll(async () => {
  platform = await startPlatform();
  const store = createSqliteMetadataStore({ path: join(platform.home, "data/meta.db"), programVersion: "v0.0.0-test" });
  const job = (name: string): NewJob => ({
    ...{ id: `job_${name}`, kind: "deployment", payload: null, scope: platform.environmentId },
    ...{ delayMs: DELAY_MS, maxAttempts: 2, attemptTimeoutMs: 60_000 },
  });
  const [first, ...others] = planWorkflow(
    {
      ...{ environmentId: platform.environmentId, deploymentId: "dpl_1", kind: "manual", subject: "churn" },
      operations: [
        { name: "prepare", jobs: [job("p")] },
        { name: "labels", jobs: [job("l")] },
        { name: "shard", after: ["prepare"], jobs: [job("s0"), job("s1"), job("s2")] },
        { name: "complete", after: ["shard", "labels"], jobs: [job("c")] },
      ],
    },
    Date.now(),
  );
  if (!first) throw new Error("a plan has jobs");
  await store.jobs.enqueueAll([first, ...others]);
  id = first.workflowId ?? "";
  await store.close();
});
afterAll(() => platform.server.stop());

describe("workflows", () => {
  test("are listed, filtered and shown", async () => {
    const { stdout } = await svc("workflow list");
    expect(stdout).toMatch(/^ID +About +Deployment +Kind +Status +Created/);
    expect(stdout).toMatch(new RegExp(`${id} +churn +dpl_1 +manual +queued`));
    expect(await ids(`--kind manual --status queued --deployment dpl_1 --search ${id.slice(4, 12)}`)).toEqual([id]);
    for (const words of ["--kind cron", "--status failed", "--deployment-id dpl_2", "--id nowhere", "--offset 1"])
      expect([words, await ids(words)]).toEqual([words, []]);
    expect((await svc(`workflows get ${id}`)).stdout).toMatch(/About: +churn\n/);
    expect((await svc(`workflows get ${id} --json`)).json()).toMatchObject({
      id,
      kind: "manual",
      status: "queued",
      deployment_id: "dpl_1",
    });
  });

  test("are a tree of operations, and nodes and edges with --json", async () => {
    expect((await svc(`workflows get-graph ${id}`)).stdout).toBe(`prepare (deployment): queued
  shard (deployment): queued, 3 jobs
    complete (deployment): queued, also after labels (deployment)
labels (deployment): queued
`);
    const graph = (await svc(`workflows get-graph ${id} --json`)).json() as {
      nodes: { id: string; name: string; jobs: number }[];
      edges: { from: string; to: string }[];
    };
    expect(graph.nodes.map(({ name, jobs }) => [name, jobs])).toEqual([
      ["prepare", 1],
      ["labels", 1],
      ["shard", 3],
      ["complete", 1],
    ]);
    const nameOf = (wanted: string) => graph.nodes.find((node) => node.id === wanted)?.name;
    expect(graph.edges.map(({ from, to }) => [nameOf(from), nameOf(to)])).toEqual([
      ["prepare", "shard"],
      ["shard", "complete"],
      ["labels", "complete"],
    ]);
  });

  test("their jobs say what they wait for", async () => {
    const { stdout } = await svc("jobs get job_c");
    expect(stdout).toMatch(/Name: +complete\n/);
    expect(stdout).toMatch(/Waits for: +the end of jobs 2, 3, 4, 5\n/);
    expect(stdout).toContain(id);
    expect((await svc("jobs list --state not_ready")).stdout).toContain("deployment: shard 2");
  });

  test("that there are not, or by flags that say nothing, are refused with what would do", async () => {
    expect((await svc("workflows get wf_none")).stderr).toContain("There is no workflow 'wf_none' in this environment.");
    expect((await svc("workflows list --kind manul")).stderr).toContain("manual");
    expect((await svc("workflows list --offset 10001")).exitCode).not.toBe(0);
  });
});
