/** The priority of a job that waits for the one slot of its group, on a real server. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { JobService, JobState, JobWaitReason } from "../../../gen/svc/v1/job_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

const project = (gate: string) => ({
  "features.py": `import os, time
from svc import DataFrame, offline
from svc.features import features

@features
class User:
    id: int
    rank: int

@offline
def ranks() -> DataFrame[User.id, User.rank]:
    while not os.path.exists(${JSON.stringify(gate)}):
        time.sleep(0.01)
    return DataFrame({User.id: [1], User.rank: [10]})
`,
});

test("of jobs that wait for a slot the one that was put first runs first; what runs or has ended is refused", async () => {
  using folder = new TempFolder();
  await using server = await TestServer.start(folder.path);
  const gate = join(folder.path, "go");
  expectLive(await deploy(server, project(gate)));
  const [jobs, runs] = [server.client(JobService), server.client(ResolverRunService)];
  const begin = async () => (await runs.triggerResolver({ resolver: "ranks" })).run?.id ?? "";
  const jobOf = async (id: string) => (await jobs.getJob({ id })).job;
  const first = await begin();
  await eventually(async () => (await jobOf(first))?.state === JobState.RUNNING, "the first run has the slot");
  const [second, third] = [await begin(), await begin()];
  expect((await jobOf(third))?.waitsFor?.reason).toBe(JobWaitReason.SLOT);

  const { job } = await jobs.setJobPriority({ id: third, priority: 10 });
  expect(job).toMatchObject({ id: third, priority: 10, state: JobState.SCHEDULED });
  await expect(jobs.setJobPriority({ id: first, priority: 10 })).rejects.toMatchObject({ code: Code.FailedPrecondition });
  await expect(jobs.setJobPriority({ id: second, priority: 101 })).rejects.toMatchObject({ code: Code.InvalidArgument });

  writeFileSync(gate, "");
  const startOf = async (id: string) => (await runs.getResolverRun({ id })).run?.startedAt;
  await eventually(
    async () => (await runs.getResolverRun({ id: second })).run?.state === ResolverRunState.SUCCEEDED,
    "the last run has ended",
  );
  const [secondAt, thirdAt] = [await startOf(second), await startOf(third)];
  expect(secondAt && thirdAt && timestampMs(thirdAt) < timestampMs(secondAt)).toBe(true);
  await expect(jobs.setJobPriority({ id: third, priority: 0 })).rejects.toMatchObject({ code: Code.FailedPrecondition });
  const { logs } = await server.client(AuditService).listAuditLogs({ endpoint: "SetJobPriority" });
  expect(logs.map(({ about, code }) => [code, about])).toContainEqual(["ok", { id: third, priority: "10" }]);
}, 300_000);
