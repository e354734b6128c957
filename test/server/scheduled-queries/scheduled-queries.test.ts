/** Scheduled queries on a real server: offline queries that run by themselves. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "@connectrpc/connect";
import { IncrementalService } from "../../../gen/svc/v1/incremental_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { type OfflineQuery, OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { ScheduledQueryService } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { SqlFormat, SqlService } from "../../../gen/svc/v1/sql_pb.ts";
import { WorkflowKind, WorkflowService, WorkflowStatus } from "../../../gen/svc/v1/workflow_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ended, scheduledProject, USERS } from "../resolver-runs/worlds.ts";

let folder: TempFolder;
let server: TestServer;
let scheduled: Client<typeof ScheduledQueryService>;
let runs: Client<typeof ResolverRunService>;
let offline: Client<typeof OfflineQueryService>;

const QUERIES = `
from svc.queries import ScheduledQuery

ScheduledQuery(name="labels", schedule="30 2 * * *", output=[User.label], store_online=False)
ScheduledQuery(name="ages", schedule="36500d", output=[User.age], recompute_features=False, max_samples=5)
ScheduledQuery(name="fresh", schedule="1d", output=[User.label], incremental_resolvers=["users"])
ScheduledQuery(name="failing", schedule="1d", output=[User.half], incremental_resolvers="users")
`;

const project = (more = "") => {
  const files = scheduledProject(folder.path);
  return { ...files, "features.py": `${files["features.py"]}${QUERIES}${more}` };
};

async function done(id: string): Promise<OfflineQuery> {
  let last: OfflineQuery | undefined;
  await eventually(async () => {
    last = (await offline.getOfflineQuery({ id })).query;
    return last !== undefined && last.status >= OfflineQueryStatus.COMPLETED;
  }, "the query ends");
  return last as OfflineQuery;
}
/** Number of observations of a feature in the history; 0 when nothing of it was stored yet. */
async function stored(feature: string): Promise<number> {
  const pieces: Uint8Array[] = [];
  const statement = `select count(*) as n from historical.${feature}`;
  for await (const { part } of server.client(SqlService).runSql({ statement, format: SqlFormat.JSON }))
    if (part.case === "piece") pieces.push(part.value);
  return (JSON.parse(Buffer.concat(pieces).toString()) as { n: number }).n;
}

const trigger = async (name: string) => done((await scheduled.triggerScheduledQuery({ name })).id);

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, project()));
  scheduled = server.client(ScheduledQueryService);
  offline = server.client(OfflineQueryService);
  runs = server.client(ResolverRunService);
  await ended(runs, (await runs.triggerResolver({ resolver: "users" })).run?.id ?? "");
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("those of the live deployment are listed with their schedules and next runs", async () => {
  await eventually(async () => {
    const { scheduledQueries } = await scheduled.listScheduledQueries({});
    expect(
      scheduledQueries.map(({ name, schedule, outputs, incrementalResolvers }) => [name, schedule, outputs, incrementalResolvers]),
    ).toEqual([
      ["ages", "36500d", ["user.age"], []],
      ["failing", "1d", ["user.half"], ["users"]],
      ["fresh", "1d", ["user.label"], ["users"]],
      ["labels", "30 2 * * *", ["user.label"], []],
    ]);
    return scheduledQueries.every(({ nextRunAt }) => nextRunAt !== undefined);
  }, "the next runs are planned");
});

test("a run computes for the rows that are known, and stores what it computes; it is a workflow", async () => {
  const run = await trigger("labels");
  expect(run).toMatchObject({ status: OfflineQueryStatus.COMPLETED, kind: "scheduled_query", queryName: "labels", rows: BigInt(USERS) });
  await eventually(async () => (await stored("user.label")) > 0, "the values are stored");
  const [workflow] = (await server.client(WorkflowService).listWorkflows({ kind: WorkflowKind.SCHEDULED_QUERY })).workflows;
  expect(workflow).toMatchObject({ subject: "labels", status: WorkflowStatus.COMPLETED });
  const { nodes, edges } = await server.client(WorkflowService).getWorkflowGraph({ id: workflow?.id ?? "" });
  expect([nodes.map(({ name }) => name), edges.length]).toEqual([["prepare", "shard", "complete"], 2]);
});

test("a run that only samples stores nothing, and takes as many rows as it says", async () => {
  const before = await stored("user.age");
  expect(before).toBeGreaterThan(0);
  expect(await trigger("ages")).toMatchObject({ rows: 5n, recompute: false });
  expect(await stored("user.age")).toBe(before);
});

test("an incremental one runs for what was observed since the run before, and its progress is shown and dropped", async () => {
  const progress = server.client(IncrementalService);
  const subject = { scheduledQueryName: "fresh" };
  const read = async () => (await progress.getIncrementalProgress({ subject })).progress?.maxIngestedAt;
  const rows = async () => Number((await trigger("fresh")).rows);
  expect(await read()).toBeUndefined();
  expect(await rows()).toBe(USERS);
  await eventually(async () => (await read()) !== undefined, "what it read is counted");
  expect(await rows()).toBe(0);
  await ended(runs, (await runs.triggerResolver({ resolver: "users" })).run?.id ?? "");
  expect(await rows()).toBe(USERS);
  expect(await progress.dropIncrementalProgress({ subject })).toMatchObject({ dropped: true });
  expect(await read()).toBeUndefined();
});

test("an incremental one reads again what the lookback of its resolvers says", async () => {
  const users =
    "-- resolves: User\n-- source: ages\n-- incremental: {mode: row, incremental_column: seen, lookback_period: 1d}\n" +
    "select id, age, '2026-01-01T00:00:00Z' as seen from age\n";
  expectLive(await deploy(server, { ...project(), "users.svc.sql": users }));
  const progress = server.client(IncrementalService);
  const subject = { scheduledQueryName: "fresh" };
  expect(Number((await trigger("fresh")).rows)).toBe(USERS);
  await eventually(
    async () => (await progress.getIncrementalProgress({ subject })).progress?.maxIngestedAt !== undefined,
    "what it read is counted",
  );
  expect(Number((await trigger("fresh")).rows)).toBe(USERS);
  await progress.dropIncrementalProgress({ subject });
  expectLive(await deploy(server, project()));
}, 300_000);

test("what a run read does not count when rows of it failed", async () => {
  const failed = await trigger("failing");
  expect(failed.failedRows).toBeGreaterThan(0n);
  const { jobs } = await server.client(JobService).listJobs({ kinds: ["scheduled_query"] });
  expect(jobs.some(({ name, subject }) => name === "count" && subject === failed.id)).toBe(true);
  const progress = server.client(IncrementalService);
  expect((await progress.getIncrementalProgress({ subject: { scheduledQueryName: "failing" } })).progress?.maxIngestedAt).toBeUndefined();
  await expect(progress.getIncrementalProgress({ subject: { scheduledQueryName: "labels" } })).rejects.toThrow(
    "does not run incrementally",
  );
  await expect(scheduled.triggerScheduledQuery({ name: "lables" })).rejects.toThrow("labels");
});

test("one runs whenever it is due, one at a time, and no more once it is gone", async () => {
  expectLive(await deploy(server, project('\nScheduledQuery(name="often", schedule="1s", output=[User.age], recompute_features=False)\n')));
  const of = async () => (await offline.listOfflineQueries({ kind: "scheduled_query", queryName: "often" })).queries;
  await eventually(async () => (await of()).filter(({ status }) => status === OfflineQueryStatus.COMPLETED).length > 1, "it ran twice");
  expect((await of()).filter(({ endedAt }) => endedAt === undefined).length).toBeLessThan(2);
  expectLive(await deploy(server, project()));
  await eventually(
    async () => !(await scheduled.listScheduledQueries({})).scheduledQueries.some(({ name }) => name === "often"),
    "its schedule is gone",
  );
}, 300_000);
