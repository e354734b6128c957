/** Resolvers of venvs: their packages, their modules, their hooks, and their workers. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { type Deployment, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import { ImageBuildPhase, ImageBuildService } from "../../../gen/svc/v1/image_build_pb.ts";
import { TaskService, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, featureValue, type ProjectFiles } from "./deploying.ts";
import { tinyWheel } from "./tiny-wheel.ts";

/** An environment is made, of seconds of CPU. */
setDefaultTimeout(300_000);

const FEATURES = `from svc.features import features

@features
class User:
    id: int
    answer: int
    plain: str
    hooks: str
    pid: int
    own_pid: int
    end: int
`;

const PROJECT = (wheel: string): ProjectFiles => ({
  "requirements-model.txt": `${wheel}\n`,
  "features.py": FEATURES,
  // Fails in the workers of the venv alone, where nobody needs its class.
  "accounts.py": `import sys
from svc.features import features

if "models" in sys.modules and "own" not in sys.modules:
    import not_there

@features
class Account:
    id: int
`,
  "own.py": `import os
from svc import before_all, online
from features import User

steps = []

@online
def plain(id: User.id) -> User.plain:
    try:
        import tinypkg
    except ModuleNotFoundError as error:
        return f"{error} {steps} {id}" if steps is not None else ""
    return "there"

@online(translate=False)
def own_pid(id: User.id) -> User.own_pid:
    return os.getpid()

@before_all
def everywhere() -> None:
    steps.append("everywhere")
`,
  "models.py": `import os
from svc import before_all, online
from features import User

model = None

@before_all(venv="model-1")
def load() -> None:
    global model
    import tinypkg
    model = tinypkg

@online(venv="model-1")
def answer(id: User.id) -> User.answer:
    return model.ANSWER + id

@online(venv="model-1")
def hooks(id: User.id) -> User.hooks:
    import sys
    return " ".join(name for name in ("own", "models", "accounts", "warm") if name in sys.modules)

@online(venv="model-1")
def pid(id: User.id) -> User.pid:
    return os.getpid()

@online(venv="model-1")
def end(id: User.id) -> User.end:
    os._exit(3)

def total() -> int:
    import tinypkg
    return tinypkg.ANSWER
`,
  "warm.py": `from svc import before_all

@before_all(venv=["model-1"])
def warm() -> None:
    pass
`,
});
const VENVS = [{ name: "model-1", requirements: "requirements-model.txt" }];

describe("venvs", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let live: Deployment;
  let wheel: string;
  beforeAll(async () => {
    wheel = await tinyWheel(folder.path);
    server = await TestServer.start(join(folder.path, "data"), { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
    live = await deploy(server, PROJECT(wheel), { venvs: VENVS });
    expectLive(live);
  });
  afterAll(async () => {
    await server.server.stop();
    folder[Symbol.dispose]();
  });

  const ask = (output: string, id?: number): Promise<unknown> => featureValue(server, output, id);

  test("a resolver has the packages of its venv, others have not, and the workers are others", async () => {
    expect(await ask("user.answer")).toBe(43);
    expect(await ask("user.plain")).toBe("No module named 'tinypkg' ['everywhere'] 1");
    expect(await ask("user.pid")).not.toBe(await ask("user.own_pid"));
  });

  test("its workers import the modules of its resolvers and hooks, and leave out classes that nobody needs there", async () => {
    expect(await ask("user.hooks")).toBe("models warm");
  });

  test("a worker of it that dies is replaced, and ends no other's work", async () => {
    const before = await ask("user.own_pid");
    expect(await ask("user.end")).toContain("models.end");
    expect(await ask("user.answer", 2)).toBe(44);
    expect(await ask("user.own_pid")).toBe(before);
  });

  test("the graph tells of it", async () => {
    const { resolver } = await server.client(GraphService).getResolver({ resolver: "models.answer" });
    expect(resolver?.venv).toBe("model-1");
    const { graph } = await server.client(GraphService).getGraph({});
    expect(graph?.hooks.map(({ name, venvs }) => [name, venvs])).toEqual([
      ["models.load", ["model-1"]],
      ["own.everywhere", []],
      ["warm.warm", ["model-1"]],
    ]);
  });

  test("how its environments were made is recorded, and one that was made before is skipped", async () => {
    const builds = server.client(ImageBuildService);
    const phases = async (deployment: Deployment) => {
      const own = (await builds.listImageBuilds({})).builds.filter(({ deploymentId }) => deploymentId === deployment.id);
      return Object.fromEntries(own.map(({ phase, venv }) => [venv, ImageBuildPhase[phase]]));
    };
    expect(await phases(live)).toEqual({ "": "OMITTED", "model-1": "SUCCEEDED" });
    const name = `${live.id.replace("dpl_", "venv-")}-model-1`;
    const { build, log } = await builds.getImageBuild({ name });
    expect(build).toMatchObject({ name, imageDestinations: [], venv: "model-1", error: "" });
    expect(Number(build?.startedAt?.seconds)).toBeGreaterThan(0);
    expect(log.join("\n")).toContain("tinypkg");
    expect((await builds.listImageBuilds({ phases: [ImageBuildPhase.SUCCEEDED] })).builds.map((one) => one.name)).toEqual([name]);
    expect((await builds.listImageBuilds({ limit: 1, offset: 1 })).more).toBe(false);
    await expect(builds.getImageBuild({ name: "none" })).rejects.toThrow("There is no build 'none'");
    const again = await deploy(server, PROJECT(wheel), { noPromote: true, venvs: VENVS });
    expect(await phases(again)).toEqual({ "": "OMITTED", "model-1": "SKIPPED" });
  });

  test("a task runs in a venv that it names, and one that is not there is refused", async () => {
    const tasks = server.client(TaskService);
    const run = (venv: string) =>
      tasks.runTasks({ target: { code: { case: "module", value: "models" }, callable: "total" }, arguments: [{}], venv });
    await expect(run("model-2")).rejects.toThrow("has no venv 'model-2'");
    const { ids } = await run("model-1");
    await eventually(async () => (await tasks.getTask({ id: ids[0] as string })).task?.state === TaskState.SUCCEEDED, "the task succeeds");
    expect((await tasks.getTask({ id: ids[0] as string })).task).toMatchObject({ resultJson: "42", venv: "model-1" });
  });

  test("a venv that the deployment lacks, a file that is not there and a module that needs more fail it with the reason", async () => {
    const files = PROJECT(wheel);
    const unnamed = await deploy(server, files, { noPromote: true });
    expect(unnamed.error).toContain(
      "Error[196] the resolver 'models.answer' runs in venv 'model-1', which svc.yaml does not have for this environment: it has none, and 5 more",
    );
    const absent = await deploy(server, files, { noPromote: true, venvs: [{ name: "model-1", requirements: "none.txt" }] });
    expect(absent.error).toContain("The requirements file 'none.txt' is not in the source bundle.");
    const needs = {
      ...files,
      "models.py": `import sys\nif "own" not in sys.modules and "warm" not in sys.modules and "accounts" not in sys.modules:\n    import lacking\n${files["models.py"]}`,
    };
    const lacking = await deploy(server, needs, { noPromote: true, venvs: VENVS });
    expect(lacking.status).toBe(DeploymentStatus.FAILED);
    expect(lacking.error).toContain("lacking");
  });
});
