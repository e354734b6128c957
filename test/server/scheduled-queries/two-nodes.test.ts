/** Scheduled queries on two nodes: each tick is one run, and ticks that nobody was there for are one. */

import { expect, test } from "bun:test";
import { SCHEDULED_QUERY_JOB } from "../../../src/server/scheduled-queries/scheduled-queries.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { scheduledProject } from "../resolver-runs/worlds.ts";

const HOUR_MS = 3_600_000;
const QUERY = `
from svc.queries import ScheduledQuery

ScheduledQuery(name="hourly", schedule="0 * * * *", output=[User.label], store_online=False)
`;

test("on two nodes each tick is one run, and ticks that nobody was there for are one", async () => {
  using folder = new TempFolder();
  await using cluster = new Cluster();
  const a = await cluster.start("a");
  await cluster.start("b");
  const project = scheduledProject(folder.path);
  expectLive(await deploy(a, { ...project, "features.py": `${project["features.py"]}${QUERY}` }));
  const { schedules } = cluster.openMetadata();
  await eventually(async () => (await schedules.list(SCHEDULED_QUERY_JOB))[0]?.nextAt !== undefined, "the next run is planned");
  const ids = () => cluster.rows<{ id: string }>("select id from offline_query order by seq");
  for (const [round, hours] of [1, 1, 5].entries()) {
    cluster.clock.advance(hours * HOUR_MS);
    cluster.clock.release();
    await eventually(async () => {
      const open = cluster.rows<{ n: number }>("select count(*) as n from offline_query where ended_at is null");
      return ids().length === round + 1 && open[0]?.n === 0;
    }, "the run of the tick has ended");
  }
  const runs = cluster.rows<{ state: string; kind: string; name: string }>("select state, kind, query_name as name from offline_query");
  expect(runs).toEqual(Array.from({ length: 3 }, () => ({ state: "completed", kind: "scheduled_query", name: "hourly" })));
  expect(cluster.rows(`select count(*) as n from job where kind = '${SCHEDULED_QUERY_JOB}'`)).toEqual([{ n: 3 }]);
}, 300_000);
