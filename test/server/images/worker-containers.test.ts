/** Workers of deployments in containers: they do what processes do, and are told apart by their walls. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { WorkerContainerSchema } from "../../../gen/svc/v1/environment_pb.ts";
import { ImageBuildService } from "../../../gen/svc/v1/image_build_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../../harness/python-image.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { configureWorkers } from "./configuring.ts";
import { makeWheel } from "./wheel.ts";

/** Images are made, and containers started. */
setDefaultTimeout(300_000);

const FEATURES = `from svc.features import features

@features
class User:
    id: int
    inside: str
    answer: int
    exits: int
    aborts: int
    eats: int
    hangs: int
    version: int
`;
const RESOLVERS = (version: number): string => `import os, socket, sys, time
from svc import online
from features import User

@online
def inside(id: User.id) -> User.inside:
    print("printed for", id)
    os.write(1, b"written past Python\\n")
    try:
        open(os.path.join(os.environ["TARGET_ROOT"], "features.py"), "a")
        written = "written"
    except OSError as error:
        written = error.strerror
    try:
        socket.create_connection(("1.1.1.1", 80), 1)
        network = "network"
    except OSError:
        network = "no network"
    return f"{os.getppid()} {written}, {network}, {os.environ.get('COLOUR')}, {os.path.exists('/usr/bin/env')}"

@online
def answer(id: User.id) -> User.answer:
    import tinypkg
    return tinypkg.ANSWER + id

@online
def exits(id: User.id) -> User.exits:
    os._exit(3)

@online
def aborts(id: User.id) -> User.aborts:
    os.abort()

@online
def eats(id: User.id) -> User.eats:
    return len(bytearray(b"x") * (1 << 30))

@online(timeout="300ms")
def hangs(id: User.id) -> User.hangs:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

@online
def version(id: User.id) -> User.version:
    return ${version}
`;

test("a deployment that is to run in containers is refused where there is no engine", async () => {
  using folder = new TempFolder();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, SVC_CONTAINER_ENGINE: "off" };
  const server = await TestServer.start(folder.path, { env });
  await configureWorkers(server, { image: PYTHON });
  const refused = await deploy(server, { "features.py": FEATURES, "resolvers.py": RESOLVERS(1) });
  expect([refused.status, refused.error]).toEqual([
    DeploymentStatus.FAILED,
    expect.stringMatching(/^This server has no container engine: .* install Podman/),
  ]);
  await server.server.stop();
});

describe.skipIf(lacksPodman() || lacksPythonImage())("workers in containers", () => {
  const folder = new TempFolder();
  const data = join(folder.path, "data");
  let podman: TestPodman;
  let server: TestServer;
  let wheel: Uint8Array<ArrayBuffer>;

  const start = async (credentials?: TestServer["credentials"]): Promise<TestServer> =>
    TestServer.start(data, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, SVC_CONTAINER_ENGINE: podman.address },
      ...(credentials && { credentials }),
    });
  const project = (version: number) => ({
    "features.py": FEATURES,
    "resolvers.py": RESOLVERS(version),
    "requirements.txt": "./tinypkg-1.0-py3-none-any.whl\n",
    "tinypkg-1.0-py3-none-any.whl": wheel,
  });
  const configure = (container: MessageInitShape<typeof WorkerContainerSchema>) => configureWorkers(server, container);
  const ask = async (output: string, id = 1, at: Pick<TestServer, "url"> = server, token?: string): Promise<unknown> => {
    const response = await fetch(`${at.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token ?? (await server.token())}` },
      body: JSON.stringify({ inputs: { "user.id": id }, outputs: [output] }),
    });
    const body = (await response.json()) as { data?: { value: unknown; error?: { message: string } }[] };
    return body.data?.[0]?.error?.message ?? body.data?.[0]?.value;
  };

  beforeAll(async () => {
    podman = await startPodman();
    importPython(podman);
    wheel = await makeWheel("tinypkg", "1.0", "ANSWER = 42\n");
    server = await start();
    await configure({ image: PYTHON, memory: "256Mi", cpu: "1", network: false });
    expectLive(await deploy(server, project(1), { requirements: "requirements.txt" }));
  });
  afterAll(async () => {
    await server?.server.stop();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("have the requirements and variables, cannot change the code, and reach no network", async () => {
    expect(await ask("user.answer", 2)).toBe(44);
    expect(await ask("user.inside")).toBe("1 Read-only file system, no network, blue, False");
    expect(podman.containers().length).toBe(1);
    const [name = ""] = podman.containers();
    const limits = podman.podman("inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}", name).trim();
    expect(limits).toBe(`${256 * 1024 ** 2} 1000000000`);
    const { builds } = await server.client(ImageBuildService).listImageBuilds({});
    expect(builds.some(({ imageDestinations, deploymentId }) => deploymentId !== "" && imageDestinations.length === 1)).toBe(true);
  });

  test("have what they print in the log, with the resolver, and past Python without", async () => {
    await ask("user.inside", 7);
    const lines = async (search: string) => (await server.client(LogService).searchLogs({ search })).lines;
    await eventually(
      async () => (await lines('"printed for 7"')).some(({ resolver }) => resolver === "resolvers.inside"),
      "the line of the resolver",
    );
    await eventually(async () => (await lines('"written past Python"')).length > 0, "the line past Python");
  });

  test("that die are told of, and replaced", async () => {
    expect(await ask("user.exits")).toContain("the worker exited with code 3 while it ran resolver 'resolvers.exits'");
    expect(await ask("user.answer", 3)).toBe(45);
    expect(await ask("user.aborts")).toContain("the worker was killed by SIGABRT at resolvers.py:");
    expect(await ask("user.answer", 4)).toBe(46);
  });

  test("that take more memory than they may are told of so", async () => {
    expect(await ask("user.eats")).toMatch(/the worker was killed( because it used|; it may have used) more memory than it may, 256Mi/);
    expect(await ask("user.answer", 5)).toBe(47);
  });

  test("that do not answer in time are ended, and others answer", async () => {
    expect(await ask("user.hangs")).toContain("did not answer within 300 ms");
    expect(await ask("user.answer", 6)).toBe(48);
    await eventually(() => podman.containers().length === 1, "the end of the one that hung");
  });

  test("are those of the next deployment once it takes over", async () => {
    const [before] = podman.containers();
    expectLive(await deploy(server, project(2), { requirements: "requirements.txt" }));
    expect(await ask("user.version")).toBe(2);
    await eventually(() => podman.containers().length === 1 && podman.containers()[0] !== before, "the end of those before");
  });

  test("are refused in words of an image that is not there, and those before go on", async () => {
    await configure({ image: "localhost/none:none" });
    const missing = await deploy(server, project(3));
    expect([missing.status, missing.error]).toEqual([
      DeploymentStatus.FAILED,
      expect.stringContaining("There is no image 'localhost/none:none'"),
    ]);
    expect(await ask("user.version")).toBe(2);
    await configure({ image: PYTHON, memory: "256Mi" });
  });

  test("leave nothing that runs on when their server is killed", async () => {
    const token = await server.token();
    const { credentials } = server;
    await server.server.stop();
    expect(podman.containers()).toEqual([]);
    const killed = await spawnServer(data, credentials, { SVC_CONTAINER_ENGINE: podman.address });
    expect(await ask("user.version", 1, killed, token)).toBe(2);
    const [left = ""] = podman.containers();
    void ask("user.hangs", 1, killed, token).catch(() => undefined);
    await killed.kill();
    server = await start(credentials);
    await eventually(() => !podman.containers().includes(left), "the end of what was left");
    expect(await ask("user.version")).toBe(2);
    await server.server.stop();
    expect(podman.containers()).toEqual([]);
  });
});
