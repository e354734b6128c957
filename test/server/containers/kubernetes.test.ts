/** Containers and clusters of a server whose engine is a fake of a Kubernetes cluster. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import { ContainerService, ContainerStatus } from "../../../gen/svc/v1/container_pb.ts";
import { SandboxService } from "../../../gen/svc/v1/sandbox_pb.ts";
import { VolumeService } from "../../../gen/svc/v1/volume_pb.ts";
import { readShellEvent, readStreamMessage, streamMessage } from "../../../src/domain/shell-frames.ts";
import { eventually } from "../../harness/eventually.ts";
import { ended, FakeKubernetes, programs } from "../../harness/fake-kubernetes.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

describe.skipIf(lacksProgram("openssl"))("a server in a cluster", () => {
  const folder = new TempFolder();
  let fake: FakeKubernetes;
  let server: TestServer;

  const start = async (credentials?: TestServer["credentials"]): Promise<TestServer> =>
    TestServer.start(folder.path, {
      env: {
        PATH: process.env.PATH,
        HOME: folder.path,
        KUBECONFIG: join(folder.path, "kubeconfig"),
        SVC_CONTAINER_ENGINE: "kubernetes:fake",
      },
      ...(credentials && { credentials }),
    });
  beforeAll(async () => {
    fake = new FakeKubernetes();
    writeFileSync(join(folder.path, "kubeconfig"), fake.kubeconfig());
    server = await start();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    fake?.[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "",
      (error: Error) => error.message,
    );
  const containers = () => server.client(ContainerService);
  const run = async (name: string) => {
    const { container } = await containers().runContainer({ name, spec: { image: "img:1" } });
    if (!container) throw new Error("no container");
    return container;
  };

  test("a container runs as a pod of the cluster, is found again by another server, and leaves nothing when it ends", async () => {
    const { id, cluster, status } = await run("one");
    const [pod = ""] = fake.names("pods");
    expect([status, cluster]).toEqual([ContainerStatus.RUNNING, expect.stringMatching(/^clstr_[0-9a-f]{16}$/)]);
    expect(fake.pod(pod).metadata.labels).toMatchObject({ "svc.id": id, "svc.kind": "container", "app.kubernetes.io/managed-by": "svc" });
    const { credentials } = server;
    await server[Symbol.asyncDispose]();
    server = await start(credentials);
    const get = async () => (await containers().getContainer({ container: "one" })).container;
    expect((await get())?.status).toBe(ContainerStatus.RUNNING);
    await eventually(() => fake.watchers === 1, "that it is followed again");
    fake.become(pod, ended(3));
    await eventually(async () => (await containers().getContainer({ container: id })).container?.exitCode === 3, "its end");
    await eventually(() => fake.names("pods").length === 0, "the end of its pod");
  });

  test("its cluster is shown beside the platform's own, with its nodes, pods and events", async () => {
    const clusters = server.client(ClusterService);
    const listed = (await clusters.listClusters({})).clusters;
    expect(listed.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["local local", "kubernetes fake"]);
    const id = listed[1]?.id ?? "";
    const { cluster } = await clusters.getCluster({ id });
    expect(cluster?.nodes).toMatchObject([{ host: "machine-1", version: "v1.34.0-fake", machine: { platform: "linux-amd64", cpus: 8 } }]);
    const { checks } = await clusters.testCluster({ id });
    expect([checks.length > 10, checks.filter(({ ok }) => !ok)]).toEqual([true, []]);
    expect(await refusal(clusters.getCluster({ id: "clstr_none" }))).toContain("There is no cluster 'clstr_none'");
    expect(await refusal(containers().runContainer({ spec: { image: "i" }, cluster: "clstr_local" }))).toContain(
      "There is no cluster 'clstr_local'",
    );

    const { id: container } = await run("two");
    const pod = (await clusters.listPods({})).pods.find(({ name }) => name === "two");
    expect(pod).toMatchObject({ kind: "container", node: "machine-1", status: "Running" });
    const [name = ""] = fake.names("pods");
    fake.change("events", {
      metadata: { name: "e1" },
      involvedObject: { name },
      ...{ type: "Warning", reason: "Unhealthy", message: "a word of the kubelet", lastTimestamp: "2020-01-02T03:04:05Z" },
    });
    const { events } = await clusters.listEvents({ pods: ["two"] });
    expect(events.map(({ object, reason }) => `${object} ${reason}`)).toEqual(["pod/two Started", "pod/two Unhealthy"]);
    expect((await clusters.listEvents({ pods: ["two"], limit: 1, offset: 1 })).events.map(({ message }) => message)).toEqual([
      "a word of the kubelet",
    ]);
    const ofServer = (await clusters.listEvents({ namespaces: ["server"] })).events;
    expect(ofServer.filter(({ object }) => object === "pod/two")).toEqual([]);
    await containers().stopContainer({ container });
    expect([fake.names("pods"), (await clusters.listPods({})).pods.some(({ name: one }) => one === "two")]).toEqual([[], false]);
  });

  test("a sandbox is a pod without a network, in which commands have their input, folder, variables, exit code and time", async () => {
    const sandboxes = () => server.client(SandboxService);
    fake.onExec = programs();
    const { sandbox } = await sandboxes().createSandbox({ image: "img:1", name: "box", memory: "64Mi" });
    const [pod = "", ...more] = fake.names("pods");
    expect([more, fake.pod(pod).metadata.labels]).toEqual([
      [],
      expect.objectContaining({ "svc.id": sandbox?.id, "svc.kind": "sandbox", "svc.dev/network": "none" }),
    ]);
    expect(fake.pod(pod).spec?.containers?.[0]).toMatchObject({ image: "img:1", resources: { limits: { memory: "67108864" } } });
    const run = async (script: string, input: string, timeoutSeconds = 0) => {
      const { ticket } = await sandboxes().openExec({
        ...{ sandbox: "box", command: ["/bin/sh", "-c", script], workdir: "/", timeoutSeconds },
        environment: [{ name: "OF_THIS", source: { case: "value", value: "b c" } }],
      });
      const headers = { authorization: `Bearer ${await server.token()}`, "svc-shell-ticket": ticket };
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/sandboxes/exec`, { headers } as unknown as string[]);
      socket.binaryType = "arraybuffer";
      const said: { stdout: string; stderr: string; exit?: number } = { stdout: "", stderr: "" };
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        const event = typeof data === "string" ? readShellEvent(data) : undefined;
        if (event?.is === "exit") said.exit = event.code;
        if (typeof data === "string") return;
        const { bytes, stream } = readStreamMessage(new Uint8Array(data)) ?? { stream: "stdout", bytes: new Uint8Array() };
        said[stream === "stderr" ? "stderr" : "stdout"] += Buffer.from(bytes).toString();
      };
      socket.onopen = () => {
        socket.send(streamMessage("stdin", Buffer.from(input)));
        socket.send(JSON.stringify({ is: "end" }));
      };
      await new Promise((resolve) => {
        socket.onclose = resolve;
      });
      return said;
    };
    expect(await run('cat; pwd; echo "$OF_THIS" >&2; exit 7', "typed\n")).toEqual({ stdout: "typed\n/\n", stderr: "b c\n", exit: 7 });
    expect((await run("sleep 7001 & sleep 7001", "", 1)).exit).toBe(124);
    fake.network.enforcement = "ignored";
    fake.objects.delete("networkpolicies/svc-no-network");
    expect(await refusal(sandboxes().createSandbox({ image: "img:1" }))).toContain("does not keep network policies");
    fake.network.enforcement = "kept";
    await sandboxes().terminateSandbox({ sandbox: "box" });
    expect(fake.names("pods")).toEqual([]);
  });

  test("what the cluster cannot keep is refused in words", async () => {
    await server.client(VolumeService).createVolume({ name: "kept" });
    const spec = { image: "i", volumes: [{ volume: "kept", path: "/kept" }] };
    expect(await refusal(containers().runContainer({ spec }))).toContain("A volume is a folder of this server's machine");
    expect(await refusal(containers().runContainer({ spec: { image: "i", kernelPolicy: "restricted" } }))).toContain("a kernel of its own");
    expect(fake.names("pods")).toEqual([]);
  });
});
