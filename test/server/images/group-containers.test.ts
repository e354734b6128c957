/** Containers of resource groups: workers of a group run in them where others are processes, or with other limits. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { EnvironmentService, WorkerContainerSchema } from "../../../gen/svc/v1/environment_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../../harness/python-image.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

/** Containers are started. */
setDefaultTimeout(300_000);

const FILES = {
  "features.py": "from svc.features import features\n\n@features\nclass User:\n    id: int\n    usual: str\n    boxed: str\n",
  "resolvers.py": `import os
from svc import online
from features import User

def here():
    return f"{os.getppid() == 1} {os.environ.get('SIZE')}"

@online
def usual(id: User.id) -> User.usual:
    return here()

@online(resource_group="boxed")
def boxed(id: User.id) -> User.boxed:
    return here()
`,
};

describe.skipIf(lacksPodman() || lacksPythonImage())("the containers of a resource group", () => {
  const folder = new TempFolder();
  let podman: TestPodman;
  let server: TestServer;

  const configure = async (image: string, settings: object): Promise<void> => {
    const service = server.client(EnvironmentService);
    const { environment, config, etag } = await service.getEnvironmentConfig({});
    const specs = { resource_groups: [{ resource_group_name: "boxed", services: { worker: settings } }] };
    const given = image === "" ? undefined : create(WorkerContainerSchema, { image, memory: "256Mi", cpu: "1" });
    await service.updateEnvironmentConfig({
      environmentId: environment?.id ?? "",
      config: { ...(config as NonNullable<typeof config>), specsConfigJson: JSON.stringify(specs), workerContainer: given },
      etag,
    });
  };
  const ask = async (output: string): Promise<unknown> => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: [output] }),
    });
    const body = (await response.json()) as { data?: { value: unknown; error?: { message: string } }[] };
    return body.data?.[0]?.error?.message ?? body.data?.[0]?.value;
  };
  /** Memory and processors of the containers that run. */
  const limits = (): string[] =>
    podman
      .containers()
      .map((name) => podman.podman("inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}", name).trim())
      .sort();

  beforeAll(async () => {
    podman = await startPodman();
    importPython(podman);
    server = await TestServer.start(join(folder.path, "data"), {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, SVC_CONTAINER_ENGINE: podman.address },
    });
  });
  afterAll(async () => {
    await server?.server.stop();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("are its alone where the environment has none", async () => {
    const container = { image: PYTHON, cpu: "500m" };
    await configure("", { worker_container: container, memory: { limits: "512Mi" }, additional_env_vars: { SIZE: "large" } });
    expectLive(await deploy(server, FILES));
    expect([await ask("user.usual"), await ask("user.boxed")]).toEqual(["False None", "True large"]);
    expect(limits()).toEqual([`${512 * 1024 ** 2} 500000000`]);
  });

  test("differ from the environment's in what it states", async () => {
    await configure(PYTHON, { worker_container: { memory: "384Mi" } });
    expectLive(await deploy(server, FILES));
    expect([await ask("user.usual"), await ask("user.boxed")]).toEqual(["True None", "True None"]);
    const both = [`${256 * 1024 ** 2} 1000000000`, `${384 * 1024 ** 2} 1000000000`];
    await eventually(() => Bun.deepEquals(limits(), both), "the end of the workers before");
  });

  test("need an image of the group or of the environment", async () => {
    await configure("", { worker_container: { cpu: "2" } });
    const refused = await deploy(server, FILES, { noPromote: true });
    expect(refused.error).toContain(
      "the settings of resource group 'boxed' cannot be used: services.worker.worker_container: names no image in which Python is",
    );
  });
});
