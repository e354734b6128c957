import { afterEach, beforeEach, expect, test } from "bun:test";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, follow, uploadProject } from "./deploying.ts";

/** A project whose resolver says which process it runs in; `first` is run when it is imported. */
const project = (first = "") => ({
  "features.py": `import os
import time
from svc import online
from svc.features import feature, features

${first}

@features
class User:
    id: int
    process: int = feature(max_staleness="0s")


@online
def process(id: User.id) -> User.process:
    return os.getpid()
`,
});

let folder: TempFolder;
let server: TestServer;
beforeEach(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const processOf = async (): Promise<number> => {
  const inputs = [{ feature: "user.id", value: { case: "typed" as const, value: { kind: { case: "int64Value" as const, value: 1n } } } }];
  const { data } = await server.client(QueryService).query({ inputs, outputs: ["user.process"] });
  const kind = data[0]?.value?.kind;
  return kind?.case === "int64Value" ? Number(kind.value) : 0;
};

test("workers end when their environment is suspended, and others begin when it is resumed", async () => {
  expectLive(await deploy(server, project()));
  const pid = await processOf();
  expect(isAlive(pid)).toBe(true);
  await server.client(EnvironmentService).suspendEnvironment({});
  await eventually(() => !isAlive(pid), "the worker ends");
  await expect(processOf()).rejects.toThrow("is suspended");
  await server.client(EnvironmentService).resumeEnvironment({});
  const next = await processOf();
  expect([next !== pid, isAlive(next)]).toEqual([true, true]);
}, 300_000);

test("a build ends when its environment is suspended, and what was live is live again afterwards", async () => {
  expectLive(await deploy(server, project()));
  const uploadId = await uploadProject(server, project("time.sleep(600)"));
  const { deployment } = await server.client(DeploymentService).createDeployment({ uploadId });
  const deploymentId = deployment?.id ?? "";
  for await (const { deployment: state } of server.client(DeploymentService).watchDeployment({ deploymentId }))
    if (state?.status === DeploymentStatus.BUILDING) break;
  await server.client(EnvironmentService).suspendEnvironment({});
  const ended = await follow(server, deploymentId);
  expect([ended.status, ended.error]).toEqual([
    DeploymentStatus.FAILED,
    "The build was stopped: environment 'default' is suspended. Deploy again with `svc apply` when it runs.",
  ]);
  await server.client(EnvironmentService).resumeEnvironment({});
  expect(isAlive(await processOf())).toBe(true);
}, 300_000);
