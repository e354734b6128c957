/** Tasks in resource groups of the environment's configuration: what these give and take. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, ConnectError } from "@connectrpc/connect";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { type RunTasksRequest, type Task, TaskService, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { tinyWheel } from "../deployments/tiny-wheel.ts";

/** The environment of a venv is made, of seconds of CPU. */
setDefaultTimeout(300_000);

const FILES = {
  ...GREETING,
  "work.py": `import os, resource, sys, time

def place():
    print("in its place")
    names = ("SIZE", "SHARED", "SVC_DEPLOYMENT_ID")
    return [*(os.environ.get(name) for name in names), resource.getrlimit(resource.RLIMIT_AS)[0], sys.prefix]

def fills():
    return len(bytearray(2 * 1024 ** 3))

def waits(folder: str):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.02)
`,
};
const MEMORY = 1024 ** 3;
const GROUPS = {
  additional_env_vars: { SHARED: "all", SIZE: "usual" },
  specs_config: {
    resource_groups: [
      {
        resource_group_name: "small",
        services: { task: { replicas: 2, memory: { limits: "1Gi" }, additional_env_vars: { SIZE: "small" }, note: "kept" } },
      },
      { resource_group_name: "other", services: { task: { venv: "other" }, engine: { replicas: 3 } } },
      { resource_group_name: "lost", services: { task: { venv: "othre" } } },
    ],
  },
};

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof TaskService>;
let deploymentId: string;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(join(folder.path, "data"), { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
  await configure(GROUPS);
  const files = { ...FILES, "requirements-other.txt": `${await tinyWheel(folder.path)}\n` };
  const live = await deploy(server, files, { venvs: [{ name: "other", requirements: "requirements-other.txt" }] });
  expectLive(live);
  deploymentId = live.id;
  service = server.client(TaskService);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function configure({
  specs_config,
  additional_env_vars,
}: Pick<typeof GROUPS, "additional_env_vars"> & { readonly specs_config: object }) {
  const environments = server.client(EnvironmentService);
  const { config, environment, etag } = await environments.getEnvironmentConfig({});
  await environments.updateEnvironmentConfig({
    environmentId: environment?.id ?? "",
    config: { ...config, specsConfigJson: JSON.stringify(specs_config), additionalEnvVars: additional_env_vars } as typeof config & object,
    etag,
  });
}

const run = async (
  callable: string,
  resourceGroup: string,
  more: Partial<Pick<RunTasksRequest, "venv">> & { count?: number; args?: unknown[] } = {},
) => {
  const { args = [], count = 1, ...rest } = more;
  const { ids } = await service.runTasks({
    ...{ target: { code: { case: "path", value: "work.py" }, callable }, resourceGroup, ...rest },
    arguments: Array.from({ length: count }, () => ({ argsJson: JSON.stringify(args) })),
  });
  return ids;
};
const ended = async (id = ""): Promise<Task> => {
  let task: Task | undefined;
  await eventually(async () => {
    task = (await service.getTask({ id })).task;
    return task !== undefined && task.state !== TaskState.RECEIVED && task.state !== TaskState.RUNNING;
  }, "the end of the task");
  return task as Task;
};
const placeIn = async (group: string, more: Parameters<typeof run>[2] = {}) => {
  const task = await ended((await run("place", group, more))[0]);
  expect(task.error).toBe("");
  return { task, place: JSON.parse(task.resultJson) as [string, string, string, number, string] };
};
const refusal = async (asked: Promise<unknown>): Promise<string> => {
  const error = await asked.catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return error.rawMessage;
};

describe("a task in a resource group", () => {
  test("has its variables and its memory, and is told apart by its name", async () => {
    const usual = await placeIn("");
    expect([usual.task.resourceGroup, ...usual.place.slice(0, 4)]).toEqual(["default", "usual", "all", deploymentId, -1]);
    const small = await placeIn("small");
    expect([small.task.resourceGroup, ...small.place.slice(0, 4)]).toEqual(["small", "small", "all", deploymentId, MEMORY]);
    const { lines } = await server.client(LogService).searchLogs({ search: "resource_group:small", pageSize: 50 });
    expect(lines.map(({ message }) => message)).toContain("in its place");
    const { pods } = await server.client(UsageService).listPodLifetimes({ resourceGroup: "small", serviceKind: "task" });
    expect(pods.map(({ memoryLimit }) => memoryLimit)).toEqual(["1.1 GB"]);
  });

  test("fails when it takes more memory than there is for it", async () => {
    expect((await ended((await run("fills", ""))[0])).resultJson).toBe(String(2 * 1024 ** 3));
    expect((await ended((await run("fills", "small"))[0])).error).toContain("MemoryError");
  });

  test("runs with the venv of the group, or with the one that is asked for", async () => {
    const [usual, other] = [await placeIn(""), await placeIn("other")];
    expect(other.place[4]).not.toBe(usual.place[4]);
    expect((await placeIn("", { venv: "other" })).place[4]).toBe(other.place[4]);
    expect((await placeIn("lost", { venv: "other" })).place[4]).toBe(other.place[4]);
    expect(await refusal(run("place", "lost"))).toContain("has no venv 'othre'");
  });

  test("waits while as many run as the group lets, beside those of other groups", async () => {
    const marks = join(folder.path, "marks");
    mkdirSync(marks);
    const asked = await run("waits", "small", { count: 3, args: [marks] });
    await eventually(() => readdirSync(marks).length === 2, "two tasks that run");
    expect((await ended((await run("place", "other"))[0])).state).toBe(TaskState.SUCCEEDED);
    const jobs = await Promise.all(
      asked.map(async (id) => (await server.client(JobService).getJob({ id: id.replace(/^st-/, "job_") })).job),
    );
    expect(jobs.map((job) => [job?.resourceGroup.split("/").at(-1), job?.slots])).toEqual(Array(3).fill(["small", 2]));
    const tasks = await Promise.all(asked.map(async (id) => (await service.getTask({ id })).task?.state));
    expect(tasks.toSorted()).toEqual([TaskState.RECEIVED, TaskState.RUNNING, TaskState.RUNNING]);
    expect(readdirSync(marks)).toHaveLength(2);
    writeFileSync(join(marks, "go"), "");
    for (const id of asked) expect((await ended(id)).state).toBe(TaskState.SUCCEEDED);
    const one = (await run("place", "other"))[0] as string;
    expect((await server.client(JobService).getJob({ id: one.replace(/^st-/, "job_") })).job?.slots).toBe(1);
    await ended(one);
  });

  test("that there is not is refused, with those that there are", async () => {
    expect(await refusal(run("place", "smal"))).toContain("no resource group 'smal'");
    const [id = ""] = await run("place", "other");
    await ended(id);
    await configure({ ...GROUPS, specs_config: {} });
    expect(await refusal(service.rerunTask({ id }))).toContain("no resource group 'other'");
    await configure(GROUPS);
    expect((await ended((await service.rerunTask({ id })).task?.id)).resourceGroup).toBe("other");
  });
});
