/** Schedules that somebody paused: over deployments, suspensions and restarts, and on two nodes. */

import { expect, test } from "bun:test";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { ScheduledQueryService } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { RESOLVER_RUN_JOB } from "../../../src/server/resolver-runs/resolver-runs.ts";
import { SCHEDULED_QUERY_JOB } from "../../../src/server/scheduled-queries/scheduled-queries.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { scheduledProject } from "../resolver-runs/worlds.ts";
import { deploy, expectLive } from "./deploying.ts";

const HOUR_MS = 3_600_000;
const query = (schedule: string) => `
from svc.queries import ScheduledQuery

ScheduledQuery(name="labels", schedule="${schedule}", output=[User.label], store_online=False)
`;

/** A project with a resolver and a query that run by schedules. */
function project(folder: TempFolder, ofResolver: string, ofQuery: string) {
  const files = scheduledProject(folder.path, ofResolver);
  return { ...files, "features.py": `${files["features.py"]}${ofQuery === "" ? "" : query(ofQuery)}` };
}

test("a schedule stays paused over deployments, a suspension and a restart, until it is resumed or gone", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  await first.server.ready;
  let runs = first.client(ResolverRunService);
  let queries = first.client(ScheduledQueryService);
  const standing = async () => {
    const [resolver] = (await runs.listScheduledResolvers({})).resolvers;
    const [scheduled] = (await queries.listScheduledQueries({})).scheduledQueries;
    return [resolver, scheduled].map((one) => one && [one.schedule, one.paused, one.nextRunsAt.length]);
  };
  const becomes = (wanted: readonly unknown[]) =>
    eventually(async () => Bun.deepEquals(await standing(), wanted), `the schedules are ${JSON.stringify(wanted)}`);
  {
    await using server = first;
    expectLive(await deploy(server, project(folder, "7 * * * *", "30 2 * * *")));
    await becomes([
      ["7 * * * *", false, 3],
      ["30 2 * * *", false, 3],
    ]);
    expect((await runs.pauseScheduledResolver({ resolver: "everyone" })).resolver).toMatchObject({ paused: true, nextRunsAt: [] });
    expect((await queries.pauseScheduledQuery({ name: "labels" })).scheduledQuery).toMatchObject({ paused: true, nextRunsAt: [] });
    await runs.pauseScheduledResolver({ resolver: "features.everyone" });
    expectLive(await deploy(server, project(folder, "0 7 * * *", "30 3 * * *")));
    await becomes([
      ["0 7 * * *", true, 0],
      ["30 3 * * *", true, 0],
    ]);
    const environments = server.client(EnvironmentService);
    await environments.createEnvironment({ name: "other" });
    await environments.suspendEnvironment({});
    await environments.resumeEnvironment({});
    const { logs } = await server.client(AuditService).listAuditLogs({ endpoint: "svc.v1.ResolverRunService/PauseScheduledResolver" });
    expect(logs.map(({ about }) => about)).toEqual([{ resolver: "features.everyone" }, { resolver: "everyone" }]);
  }
  await using server = await TestServer.start(folder.path, { credentials: first.credentials });
  await server.server.ready;
  runs = server.client(ResolverRunService);
  queries = server.client(ScheduledQueryService);
  await becomes([
    ["0 7 * * *", true, 0],
    ["30 3 * * *", true, 0],
  ]);
  await runs.resumeScheduledResolver({ resolver: "everyone" });
  await becomes([
    ["0 7 * * *", false, 3],
    ["30 3 * * *", true, 0],
  ]);
  const [resolver] = (await runs.listScheduledResolvers({})).resolvers;
  const next = resolver?.nextRunsAt.map(timestampMs) ?? [];
  expect(resolver?.nextRunAt).toEqual(resolver?.nextRunsAt[0]);
  expect(next.map((at) => new Date(at).toISOString().slice(11))).toEqual(Array.from({ length: 3 }, () => "07:00:00.000Z"));
  expect([(next[1] ?? 0) - (next[0] ?? 0), (next[2] ?? 0) - (next[1] ?? 0)]).toEqual([24 * HOUR_MS, 24 * HOUR_MS]);
  expectLive(await deploy(server, project(folder, "0 7 * * *", "")));
  await eventually(async () => (await queries.listScheduledQueries({})).scheduledQueries.length === 0, "the scheduled query is gone");
  expectLive(await deploy(server, project(folder, "0 7 * * *", "30 3 * * *")));
  await becomes([
    ["0 7 * * *", false, 3],
    ["30 3 * * *", false, 3],
  ]);
  expect(await runs.pauseScheduledResolver({ resolver: "none" }).catch(String)).toContain("There is no resolver 'none'");
  expect(await runs.pauseScheduledResolver({ resolver: "broken" }).catch(String)).toContain("does not run by a schedule");
  expect(await queries.pauseScheduledQuery({ name: "label" }).catch(String)).toContain("did you mean 'labels'");
}, 300_000);

test("what is paused on one node runs on none, and what is resumed runs once", async () => {
  using folder = new TempFolder();
  await using cluster = new Cluster();
  const a = await cluster.start("a");
  const b = await cluster.start("b");
  expectLive(await deploy(a, project(folder, "*/20 * * * *", "*/20 * * * *")));
  const { schedules } = cluster.openMetadata();
  const isPlanned = async (kind: string) => (await schedules.list(kind))[0]?.nextAt !== undefined;
  await eventually(async () => (await isPlanned(RESOLVER_RUN_JOB)) && (await isPlanned(SCHEDULED_QUERY_JOB)), "the next runs are planned");
  const jobs = (kind: string) => cluster.rows<{ n: number }>(`select count(*) as n from job where kind = '${kind}'`)[0]?.n;
  const tick = () => {
    cluster.clock.advance(HOUR_MS / 3);
    cluster.clock.release();
  };
  await b.client(ResolverRunService).pauseScheduledResolver({ resolver: "everyone" });
  tick();
  // Schedules that are due together are worked off in one go, those of resolvers first.
  await eventually(() => jobs(SCHEDULED_QUERY_JOB) === 1, "the query's run is due");
  expect(jobs(RESOLVER_RUN_JOB)).toBe(0);
  await a.client(ResolverRunService).resumeScheduledResolver({ resolver: "everyone" });
  await eventually(() => isPlanned(RESOLVER_RUN_JOB), "the next run is planned again");
  tick();
  await eventually(() => jobs(SCHEDULED_QUERY_JOB) === 2 && jobs(RESOLVER_RUN_JOB) === 1, "both runs are due");
}, 300_000);
