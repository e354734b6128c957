/**
 * Containers, sandboxes and volumes of a real server on a real Podman: what becomes of them, who may
 * run and see what, and that nothing of them stays.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import { ContainerService, type ContainerSpecSchema, ContainerStatus } from "../../../gen/svc/v1/container_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { type OpenExecRequestSchema, SandboxService } from "../../../gen/svc/v1/sandbox_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { type OpenShellRequestSchema, ShellService } from "../../../gen/svc/v1/shell_pb.ts";
import { VolumeService } from "../../../gen/svc/v1/volume_pb.ts";
import { readShellEvent, readStreamMessage } from "../../../src/domain/shell-frames.ts";
import { eventually } from "../../harness/eventually.ts";
import { BUSYBOX, lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { type Person, tokenOf } from "../approvals/persons.ts";
import { Talk } from "../shells/talk.ts";

const TEST_MS = 300_000;

/** What is said of a container beside what it runs. */
interface Wanted {
  readonly name?: string;
  readonly tags?: { [key: string]: string };
  readonly lifetime?: { readonly seconds: bigint };
}

/** What a refused call says. */
const refusal = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => (error instanceof ConnectError ? `${Code[error.code]}: ${error.rawMessage}` : String(error)),
  );

test(
  "a server without an engine refuses in words, and says what to install",
  async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path, {
      env: { PATH: process.env.PATH, HOME: folder.path, SVC_CONTAINER_ENGINE: "off" },
    });
    const containers = server.client(ContainerService);
    expect(await refusal(containers.runContainer({ spec: { image: "busybox" } }))).toBe(
      "FailedPrecondition: This server has no container engine: SVC_CONTAINER_ENGINE is off.",
    );
    expect((await containers.listContainers({})).containers).toEqual([]);
    const { volume } = await server.client(VolumeService).createVolume({ name: "kept" });
    expect(volume?.name).toBe("kept");
  },
  TEST_MS,
);

describe.skipIf(lacksPodman())("with an engine", () => {
  const folder = new TempFolder();
  let podman: TestPodman;
  let server: TestServer;
  let viewer: Person;
  let runner: Person;

  const startServer = async (credentials?: TestServer["credentials"]): Promise<TestServer> =>
    TestServer.start(folder.path, {
      env: { PATH: process.env.PATH, HOME: folder.path, SVC_CONTAINER_ENGINE: podman.address },
      ...(credentials && { credentials }),
    });
  beforeAll(async () => {
    podman = await startPodman();
    server = await startServer();
    viewer = await tokenOf(server, undefined, "viewer", ["read"]);
    runner = await tokenOf(server, undefined, "runner", ["read", "containers.write"]);
  }, TEST_MS);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  }, TEST_MS);

  const containers = () => server.client(ContainerService);
  const sandboxes = () => server.client(SandboxService);
  const volumes = () => server.client(VolumeService);
  const spec = (script: string, more: MessageInitShape<typeof ContainerSpecSchema> = {}): MessageInitShape<typeof ContainerSpecSchema> => ({
    ...{ image: BUSYBOX, entrypoint: ["/bin/sh"], arguments: ["-c", script] },
    ...more,
  });
  const run = async (script: string, more: MessageInitShape<typeof ContainerSpecSchema> = {}, request: Wanted = {}) => {
    const { container } = await containers().runContainer({ spec: spec(script, more), ...request });
    if (!container) throw new Error("no container");
    return container;
  };
  const get = async (container: string) => {
    const found = (await containers().getContainer({ container })).container;
    if (!found) throw new Error("no container");
    return found;
  };
  const ended = async (id: string) => {
    await eventually(async () => (await get(id)).endedAt !== undefined, "the end of a container");
    return get(id);
  };
  const lines = async (id: string): Promise<string[]> =>
    (await server.client(LogService).searchLogs({ search: `operation_id:${id}` })).lines.map(({ message }) => message).toSorted();

  test(
    "a container runs to its end: exit code, times, and what it printed in the log",
    async () => {
      const { id, status } = await run("echo out; echo err >&2; exit 3");
      expect([/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id), status]).toEqual([true, ContainerStatus.RUNNING]);
      const { exitCode, status: last, startedAt, endedAt } = await ended(id);
      expect([exitCode, last, startedAt !== undefined, endedAt !== undefined]).toEqual([3, ContainerStatus.FAILED, true, true]);
      await eventually(async () => (await lines(id)).length === 2, "its lines");
      expect(await lines(id)).toEqual(["err", "out"]);
      expect((await ended((await run("true")).id)).status).toBe(ContainerStatus.SUCCEEDED);
      await eventually(() => podman.containers().length === 0, "an empty engine");
    },
    TEST_MS,
  );

  test(
    "a name is taken while its container lives, and then means the newest",
    async () => {
      const first = await run("sleep 600", {}, { name: "one", tags: { team: "risk" } });
      expect(await refusal(run("true", {}, { name: "one" }))).toBe("AlreadyExists: There is a container 'one' already.");
      expect((await get("one")).tags).toEqual({ team: "risk" });
      const { container: stopped } = await containers().stopContainer({ container: "one" });
      expect(stopped?.status).toBe(ContainerStatus.STOPPED);
      expect(await refusal(containers().stopContainer({ container: first.id }))).toContain(
        "FailedPrecondition: The container 'one' has ended",
      );
      const second = await run("exit 0", {}, { name: "one" });
      await ended(second.id);
      expect([(await get("one")).id, (await get(first.id)).name]).toEqual([second.id, "one"]);
      const listed = (await containers().listContainers({})).containers.map(({ id }) => id);
      expect(listed.indexOf(second.id)).toBeLessThan(listed.indexOf(first.id));
    },
    TEST_MS,
  );

  test(
    "a lifetime ends it",
    async () => {
      const { id } = await run("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done", {}, { lifetime: { seconds: 1n } });
      const { message, status } = await ended(id);
      expect([status, message]).toEqual([ContainerStatus.STOPPED, "Its lifetime was over."]);
    },
    TEST_MS,
  );

  test(
    "memory that it may not have ends it, which is told",
    async () => {
      const { id } = await run("x=0123456789abcdef; while :; do x=$x$x; done", { resources: { memory: "16Mi" } });
      const { exitCode, message } = await ended(id);
      expect([exitCode, message]).toEqual([137, expect.stringContaining("more memory than it may, 16Mi")]);
    },
    TEST_MS,
  );

  test.each<[string, MessageInitShape<typeof ContainerSpecSchema>, string]>([
    ["an image that does not exist", { image: "localhost/none:1" }, "NotFound: There is no image 'localhost/none:1'"],
    ["no image", { image: "" }, 'InvalidArgument: "" is no image.'],
    ["an image that is none", { image: "--privileged" }, 'InvalidArgument: "--privileged" is no image.'],
    ["the host", { image: "host:" }, "FailedPrecondition: This server runs no programs of its own machine"],
    ["a program that is not there", { entrypoint: ["/none"] }, "InvalidArgument: The container engine refused: "],
    ["too little memory", { resources: { memory: "1Ki" } }, "InvalidArgument: '1Ki' is no memory of at least 4Mi."],
    ["no number of processors", { resources: { cpu: "many" } }, "InvalidArgument: 'many' is no number of processors"],
    ["accelerators", { resources: { gpu: "1" } }, "FailedPrecondition: This server cannot say whether its engine has accelerators"],
    [
      "a kernel that the engine has not",
      { kernelPolicy: "restricted" },
      "FailedPrecondition: This container engine gives no container a kernel",
    ],
    ["a filter that nobody has", { routes: ["10.0.0.0/8"] }, "FailedPrecondition: This server has no network that filters"],
    ["SSH", { ssh: true }, "FailedPrecondition: This server opens no SSH to containers."],
    ["a volume that is not there", { volumes: [{ volume: "none", path: "/data" }] }, "NotFound: There is no volume 'none'."],
    ["a volume at a path that leaves", { volumes: [{ volume: "none", path: "/data/../etc" }] }, "InvalidArgument: "],
    ["a volume over another option", { volumes: [{ volume: "none", path: "/data:rshared" }] }, "InvalidArgument: "],
    [
      "a variable that is none",
      { environment: [{ name: "A=B", source: { case: "value", value: "c" } }] },
      'InvalidArgument: "A=B" is no name of a variable.',
    ],
    [
      "a secret that is not there",
      { environment: [{ name: "A", source: { case: "secret", value: "NONE" } }] },
      "NotFound: There is no secret 'NONE'",
    ],
    ["a route without a port", { authenticated: true }, "InvalidArgument: A route needs the port of the container"],
  ])(
    "%s is refused, and leaves nothing",
    async (_name, more, said) => {
      expect(await refusal(containers().runContainer({ spec: spec("sleep 600", more) }))).toContain(said);
      expect(podman.containers()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "secrets are given by name, by who may see them; values of variables are told to nobody",
    async () => {
      await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: "hush-hush-42" }] });
      const environment = [
        { name: "KEY", source: { case: "secret" as const, value: "API_KEY" } },
        { name: "MODE", source: { case: "value" as const, value: "quite-private" } },
      ];
      expect(await refusal(runner.client(ContainerService).runContainer({ spec: spec("true", { environment }) }))).toBe(
        "PermissionDenied: A container is given secrets only by who may see them.",
      );
      const { id } = await run("[ ${#KEY} = 12 ] && [ ${#MODE} = 13 ]", { environment });
      expect((await ended(id)).status).toBe(ContainerStatus.SUCCEEDED);
      const told = JSON.stringify(await containers().listContainers({}), (_key, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      );
      expect([told.includes("API_KEY"), told.includes("hush-hush"), told.includes("quite-private")]).toEqual([true, false, false]);
    },
    TEST_MS,
  );

  test(
    "they are pods while they run, what happened to them is in the journal, and the engine is tested",
    async () => {
      const cluster = server.client(ClusterService);
      const { id } = await run("while :; do :; done", {}, { name: "busy" });
      const pod = async () => (await cluster.listPods({})).pods.find(({ name }) => name === "busy");
      await eventually(async () => ((await pod())?.cpuSeconds ?? 0) > 0, "its processor time");
      expect(await pod()).toMatchObject({ kind: "container", status: "Running", ready: true });
      await containers().stopContainer({ container: id });
      expect(await pod()).toBeUndefined();
      await ended((await run("exit 3", {}, { name: "busy" })).id);
      const told = async () => (await cluster.listEvents({ pods: ["busy"] })).events.map(({ reason, message }) => `${reason}: ${message}`);
      await eventually(async () => (await told()).length === 4, "four events");
      expect((await told()).toReversed()).toEqual([
        `Started: It runs ${BUSYBOX}.`,
        expect.stringMatching(/^Stopped: /),
        `Started: It runs ${BUSYBOX}.`,
        "Crashed: It exited with code 3.",
      ]);
      const { checks } = await cluster.testCluster({ id: "clstr_local" });
      expect(checks.find(({ name }) => name === "container engine")).toMatchObject({ ok: true });
    },
    TEST_MS,
  );

  test(
    "who may only read sees them, and makes and ends none",
    async () => {
      const { id } = await run("sleep 600", {}, { name: "seen" });
      const seen = viewer.client(ContainerService);
      expect((await seen.getContainer({ container: "seen" })).container?.id).toBe(id);
      for (const call of [
        () => seen.runContainer({ spec: spec("true") }),
        () => seen.stopContainer({ container: "seen" }),
        () => viewer.client(SandboxService).createSandbox({ image: BUSYBOX }),
        () => viewer.client(SandboxService).openExec({ sandbox: "x", command: ["ls"] }),
        () => viewer.client(VolumeService).createVolume({ name: "x" }),
      ])
        expect(await refusal(call())).toStartWith("PermissionDenied: ");
      await runner.client(ContainerService).stopContainer({ container: "seen" });
    },
    TEST_MS,
  );

  test(
    "a volume outlives its containers, is measured, and is not deleted in use",
    async () => {
      await volumes().createVolume({ name: "data" });
      expect(await refusal(volumes().createVolume({ name: "data" }))).toBe("AlreadyExists: There is a volume 'data' already.");
      expect(await refusal(volumes().createVolume({ name: "../etc" }))).toStartWith("InvalidArgument: ");
      const mounted = { volumes: [{ volume: "data", path: "/data" }] };
      await ended((await run("head -c 5000 /dev/zero > /data/file; ln -s /etc /data/link; chmod 000 /data/file", mounted)).id);
      const holder = await run("sleep 600", mounted, { name: "holder" });
      const { volume } = await volumes().getVolume({ name: "data" });
      expect([volume?.sizeBytes, volume?.usedBy]).toEqual([5_000n, ["holder"]]);
      expect(await refusal(volumes().deleteVolume({ name: "data" }))).toBe("FailedPrecondition: Volume 'data' is in use by holder.");
      await containers().stopContainer({ container: holder.id });
      await volumes().deleteVolume({ name: "data" });
      expect((await volumes().listVolumes({})).volumes).toEqual([]);
      const left = readdirSync(join(folder.path, "data/volumes"), { recursive: true }).map(String);
      expect(left.filter((path) => path.includes("vol_"))).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "an engine that goes away is told, and what ran meanwhile is right afterwards",
    async () => {
      const { id } = await run("sleep 600", {}, { name: "through" });
      await podman.stopService();
      expect(await refusal(run("true"))).toContain("Unavailable: The container engine at unix://");
      expect((await get("through")).status).toBe(ContainerStatus.RUNNING);
      podman.podman("kill", `svc-${id}`);
      await podman.startService();
      const { exitCode, status } = await ended(id);
      expect([status, exitCode]).toEqual([ContainerStatus.FAILED, 137]);
    },
    TEST_MS,
  );

  test(
    "a container that somebody else removes is lost, not running",
    async () => {
      const { id } = await run("sleep 600");
      podman.podman("rm", "--force", "--time=0", `svc-${id}`);
      expect((await ended(id)).status).toBe(ContainerStatus.LOST);
    },
    TEST_MS,
  );

  test(
    "a server that starts again finds what runs, what ended meanwhile and what is gone; strays go",
    async () => {
      const [running, over, gone] = [
        await run("trap 'echo after; exit 0' TERM; echo before; while :; do sleep 600 & wait $!; done"),
        await run("sleep 600"),
        await run("sleep 600"),
      ];
      await eventually(async () => (await lines(running.id)).length === 1, "its line");
      const { containers: seen } = await containers().listContainers({});
      const { node } = seen.find(({ id }) => id === running.id) ?? {};
      await server.server.stop();
      podman.podman("kill", `svc-${over.id}`);
      podman.podman("rm", "--force", "--time=0", `svc-${gone.id}`);
      podman.podman(
        "run",
        "--detach",
        "--label",
        `svc.node=${node}`,
        "--label",
        "svc.kind=container",
        "--label",
        "svc.id=x",
        BUSYBOX,
        "sleep",
        "600",
      );
      podman.podman("run", "--detach", "--name", "of-others", BUSYBOX, "sleep", "600");
      server = await startServer(server.credentials);
      await server.server.ready;
      expect((await get(running.id)).status).toBe(ContainerStatus.RUNNING);
      expect([(await ended(over.id)).exitCode, (await get(gone.id)).status]).toEqual([137, ContainerStatus.LOST]);
      await eventually(() => podman.containers().length === 2, "only what is known, and what is another's");
      expect(podman.containers().toSorted()).toEqual([`svc-${running.id}`, "of-others"].toSorted());
      podman.podman("rm", "--force", "--time=0", "of-others");
      await containers().stopContainer({ container: running.id });
      await eventually(async () => (await lines(running.id)).includes("before"), "its line, still");
      await eventually(async () => (await lines(running.id)).includes("after"), "the line that it printed at its end");
      expect(await lines(running.id)).toEqual(["after", "before"]);
    },
    TEST_MS,
  );

  describe("a sandbox", () => {
    type Wish = MessageInitShape<typeof OpenExecRequestSchema>;
    const ticketOf = async (wish: Wish, by?: Person) =>
      (await (by?.client(SandboxService) ?? sandboxes()).openExec({ sandbox: "box", ...wish })).ticket;
    /** Runs the command of a ticket: what it printed and its exit code, or why there is none. */
    const redeem = async (
      ticket: string,
      token?: string,
    ): Promise<{ out: string; err: string; exit?: number; failure?: string; status?: number }> => {
      const headers = { authorization: `Bearer ${token ?? (await server.token())}`, "svc-shell-ticket": ticket };
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/sandboxes/exec`, { headers } as unknown as string[]);
      socket.binaryType = "arraybuffer";
      const said: { out: string; err: string; exit?: number; failure?: string } = { out: "", err: "" };
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (typeof data === "string") {
          const event = readShellEvent(data);
          if (event?.is === "exit") said.exit = event.code;
          if (event?.is === "failed") said.failure = event.message;
          return;
        }
        const { stream, bytes } = readStreamMessage(new Uint8Array(data)) ?? { stream: "stdout", bytes: new Uint8Array() };
        said[stream === "stderr" ? "err" : "out"] += Buffer.from(bytes).toString();
      };
      socket.onopen = () => socket.send(JSON.stringify({ is: "end" }));
      await new Promise((resolve) => {
        socket.onclose = resolve;
        socket.onerror = resolve;
      });
      return said;
    };
    const exec = async (command: readonly string[], wish: Wish = {}) => redeem(await ticketOf({ command: [...command], ...wish }));
    const sh = (script: string, wish: Wish = {}) => exec(["/bin/sh", "-c", script], wish);

    beforeAll(async () => {
      const environment = [{ name: "OF_ALL", source: { case: "value" as const, value: "a" } }];
      await sandboxes().createSandbox({ image: BUSYBOX, name: "box", memory: "64Mi", environment });
    }, TEST_MS);
    afterAll(async () => {
      await sandboxes()
        .terminateSandbox({ sandbox: "box" })
        .catch(() => undefined);
    }, TEST_MS);

    test(
      "runs commands, whose files stay for the next, and has no network",
      async () => {
        expect(await sh("echo kept > /tmp/file; echo err >&2; exit 7")).toEqual({ out: "", err: "err\n", exit: 7 });
        expect(
          await sh("cat /tmp/file; ip -o link | wc -l; echo $OF_ALL$OF_THIS; pwd", {
            ...{ workdir: "/bin", environment: [{ name: "OF_THIS", source: { case: "value", value: "b" } }] },
          }),
        ).toEqual({ out: expect.stringMatching(/^kept\n\s*1\nab\n\/bin\n$/), err: "", exit: 0 });
      },
      TEST_MS,
    );

    test(
      "kills what takes longer than it may, with all that it started: exit code 124",
      async () => {
        expect((await sh("sleep 8888 & sleep 8888", { timeoutSeconds: 1 })).exit).toBe(124);
        expect((await sh("ps -o args | grep -c '^sleep 8888'")).out.trim()).toBe("0");
      },
      TEST_MS,
    );

    test(
      "a ticket is for one client, once, of this server, and for nobody without the permission",
      async () => {
        const ticket = await ticketOf({ command: ["true"] });
        expect((await redeem(ticket, runner.token)).exit).toBeUndefined();
        expect((await redeem(ticket, viewer.token)).exit).toBeUndefined();
        expect((await redeem(`${ticket.slice(0, -2)}xx`)).exit).toBeUndefined();
        expect((await redeem(ticket)).exit).toBe(0);
        expect((await redeem(ticket)).exit).toBeUndefined();
      },
      TEST_MS,
    );

    test.each<[Wish, string]>([
      [{ command: [] }, "InvalidArgument: A command has a program at least."],
      [{ command: ["a\0b"] }, "InvalidArgument: The words of a command cannot have a null character"],
      [{ command: ["ls"], workdir: "tmp" }, "InvalidArgument: The working directory of a command is an absolute path."],
      [{ command: ["ls"], terminal: true, columns: 0, rows: 5 }, "InvalidArgument: The size of a terminal"],
      [{ command: ["ls"], sandbox: "none" }, "NotFound: There is no sandbox 'none'."],
      [
        { command: ["ls"], environment: [{ name: "A", source: { case: "secret", value: "API_KEY" } }] },
        "InvalidArgument: A command is given no secrets",
      ],
    ])(
      "a wish that cannot be is refused: %j",
      async (wish, said) => {
        expect(await refusal(ticketOf(wish))).toStartWith(said);
      },
      TEST_MS,
    );

    test(
      "terminated, it is gone with what ran in it, and its name is free",
      async () => {
        const running = sh("sleep 600");
        await eventually(async () => (await sh("ps -o args")).out.includes("sleep 600"), "a command");
        await sandboxes().terminateSandbox({ sandbox: "box" });
        expect([(await running).exit, podman.containers()]).toEqual([137, []]);
        expect(await refusal(ticketOf({ command: ["ls"] }))).toBe("NotFound: The sandbox 'box' does not run any more.");
        const { sandbox } = await sandboxes().createSandbox({ image: BUSYBOX, name: "box" });
        expect(sandbox?.id).toStartWith("sbx_");
      },
      TEST_MS,
    );
  });

  describe("a shell in one that runs", () => {
    type Wish = MessageInitShape<typeof OpenShellRequestSchema>;
    const open = async (wish: Wish, by?: Person) => (by?.client(ShellService) ?? server.client(ShellService)).openShell(wish);
    const shell = async (wish: Wish, by?: Person): Promise<Talk> => {
      const { path, ticket } = await open(wish, by);
      const talk = Talk.connect(`${server.url}${path}`, ticket, by?.token ?? (await server.token()));
      await talk.ended();
      return talk;
    };
    beforeAll(async () => {
      await run("echo kept > /tmp/file; exec sleep 600", {}, { name: "open" });
    }, TEST_MS);
    afterAll(async () => {
      await containers()
        .stopContainer({ container: "open" })
        .catch(() => undefined);
    }, TEST_MS);

    test(
      "is beside its program, with its files and the kind of the terminal",
      async () => {
        const talk = await shell({ podName: "pod/open", command: "cat /tmp/file; ps -o args | grep -c '^sleep 600'; exit 4" });
        expect([talk.out, talk.exit]).toEqual(["kept\n1\n", 4]);
        const terminal = { terminal: true, columns: 91, rows: 33, terminalKind: "vt100", command: "tty; echo $TERM" };
        expect((await shell({ podName: "open", ...terminal })).out).toMatch(/^\/dev\/\S+\r\nvt100\r\n$/);
        expect((await get("open")).status).toBe(ContainerStatus.RUNNING);
      },
      TEST_MS,
    );

    test(
      "is for who may open shells and run containers, and see the secrets that it was given",
      async () => {
        const runs = await tokenOf(server, undefined, "runs", ["read", "containers.write"]);
        const opener = await tokenOf(server, undefined, "opener", ["shell"]);
        const both = await tokenOf(server, undefined, "both", ["shell", "containers.write"]);
        expect(await refusal(open({ podName: "open" }, runs))).toStartWith("PermissionDenied: ");
        expect(await refusal(open({ podName: "open" }, opener))).toBe(
          "PermissionDenied: A shell in a container is opened only by who may run containers.",
        );
        expect((await shell({ podName: "open", command: "true" }, both)).exit).toBe(0);
        await server.client(SecretService).setSecrets({ secrets: [{ name: "SHELL_KEY", value: "hush-hush" }] });
        const environment = [{ name: "KEY", source: { case: "secret" as const, value: "SHELL_KEY" } }];
        await run("exec sleep 600", { environment }, { name: "given" });
        expect((await shell({ podName: "given", command: "echo $KEY" })).out).toBe("hush-hush\n");
        expect(await refusal(open({ podName: "given" }, both))).toBe(
          "PermissionDenied: The container 'given' has secrets among its variables, which its shell would show.",
        );
        await containers().stopContainer({ container: "given" });
        expect(await refusal(open({ podName: "given" }))).toBe("NotFound: No pod 'given' runs.");
      },
      TEST_MS,
    );

    test(
      "names the environment when two have a container of its name",
      async () => {
        await server.client(EnvironmentService).createEnvironment({ name: "beside" });
        const inIt = server.client(ContainerService, { headers: { "svc-environment": "beside" } });
        await inIt.runContainer({ name: "open", spec: spec("echo other > /tmp/file; exec sleep 600") });
        expect(await refusal(open({ podName: "open" }))).toBe("FailedPrecondition: Several pods have the name 'open'.");
        const command = "cat /tmp/file";
        expect((await shell({ podName: "open", namespace: "beside", command })).out).toBe("other\n");
        expect((await shell({ podName: "open", namespace: "default", command })).out).toBe("kept\n");
        expect(await refusal(open({ podName: "open", namespace: "beside", containerName: "sandbox" }))).toStartWith(
          "NotFound: Pod open has",
        );
        await inIt.stopContainer({ container: "open" });
      },
      TEST_MS,
    );

    test(
      "of an image without /bin/sh ends with the words of the engine",
      async () => {
        await run("rm /bin/sh; exec sleep 600", {}, { name: "bare" });
        await eventually(async () => (await shell({ podName: "bare", command: "true" })).exit !== 0, "the end of its shell");
        const { err, exit } = await shell({ podName: "bare", command: "true" });
        expect([err, exit]).toEqual([expect.stringMatching(/\/bin\/sh.*no such file or directory/), 127]);
        await containers().stopContainer({ container: "bare" });
      },
      TEST_MS,
    );
  });

  test(
    "an environment that is removed takes them along",
    async () => {
      const environments = server.client(EnvironmentService);
      const { environment } = await environments.createEnvironment({ name: "doomed" });
      const inIt = { headers: { "svc-environment": "doomed" } };
      await server.client(VolumeService, inIt).createVolume({ name: "data" });
      await server
        .client(ContainerService, inIt)
        .runContainer({ spec: spec("sleep 600", { volumes: [{ volume: "data", path: "/data" }] }) });
      await server.client(SandboxService, inIt).createSandbox({ image: BUSYBOX });
      expect(podman.containers()).toHaveLength(2);
      await environments.deleteEnvironment({ environmentId: environment?.id ?? "" });
      await eventually(() => podman.containers().length === 0, "an empty engine");
      const left = (): string[] => readdirSync(join(folder.path, "data/volumes"), { recursive: true }).map(String);
      await eventually(() => !left().some((path) => path.includes("vol_")), "no folder of a volume");
    },
    TEST_MS,
  );
});
