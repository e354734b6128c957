/** Schedules of resolvers: whose they are, and when they make runs, on one node and on two. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { RESOLVER_RUN_JOB } from "../../../src/server/resolver-runs/resolver-runs.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { scheduledProject } from "./worlds.ts";

const HOUR_MS = 3_600_000;

/** The number of calls of the resolver that counts its calls. */
function calls(folder: TempFolder): number {
  try {
    return readFileSync(join(folder.path, "calls"), "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
}

describe("schedules", () => {
  test("those of the live deployment take the place of those before; branches and suspended environments have none", async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path);
    await server.server.ready;
    const service = server.client(ResolverRunService);
    const scheduled = async () =>
      (await service.listScheduledResolvers({})).resolvers.map(({ resolver, schedule }) => `${resolver} ${schedule}`);
    const becomes = (wanted: readonly string[]) =>
      eventually(async () => Bun.deepEquals(await scheduled(), wanted), `the schedules are ${wanted.join(", ")}`);
    expect(await scheduled()).toEqual([]);
    expectLive(await deploy(server, scheduledProject(folder.path, "5 * * * *"), { branch: "try" }));
    expectLive(await deploy(server, scheduledProject(folder.path, "7 * * * *")));
    await becomes(["features.everyone 7 * * * *"]);
    expectLive(await deploy(server, scheduledProject(folder.path, "1d")));
    await becomes(["features.everyone 1d"]);
    await eventually(
      async () => (await service.listScheduledResolvers({})).resolvers[0]?.nextRunAt !== undefined,
      "the next run is planned",
    );
    const environments = server.client(EnvironmentService);
    await environments.createEnvironment({ name: "other" });
    await environments.suspendEnvironment({});
    await becomes([]);
    await environments.resumeEnvironment({});
    await becomes(["features.everyone 1d"]);
    expectLive(await deploy(server, scheduledProject(folder.path)));
    await becomes([]);
  }, 300_000);

  test("on two nodes each tick is one run, and ticks that nobody was there for are one", async () => {
    using folder = new TempFolder();
    await using cluster = new Cluster();
    const a = await cluster.start("a");
    await cluster.start("b");
    expectLive(await deploy(a, scheduledProject(folder.path, "0 * * * *")));
    const { resolverRuns, schedules, environments } = cluster.openMetadata();
    const [environment] = await environments();
    await eventually(async () => (await schedules.list(RESOLVER_RUN_JOB))[0]?.nextAt !== undefined, "the next run is planned");
    const list = () => resolverRuns.list({ environmentId: environment?.id ?? "", limit: 10 });
    for (const [round, hours] of [1, 1, 5].entries()) {
      cluster.clock.advance(hours * HOUR_MS);
      cluster.clock.release();
      await eventually(async () => {
        const runs = await list();
        return runs.length === round + 1 && runs[0]?.state === "succeeded";
      }, "the run of the tick has ended");
      expect(calls(folder)).toBe(round + 1);
    }
    expect((await list()).map(({ cause, rows, resolver }) => ({ cause, rows, resolver }))).toEqual(
      Array.from({ length: 3 }, () => ({ cause: "schedule", rows: 4, resolver: "features.everyone" })),
    );
    expect(cluster.rows("select count(*) as n from job where kind = 'resolver-run'")).toEqual([{ n: 3 }]);
  }, 300_000);
});
