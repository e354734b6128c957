/** Containers of a node that another one is asked about, while it runs and when it does not. */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { ContainerService, ContainerStatus } from "../../../gen/svc/v1/container_pb.ts";
import { ScalingGroupService, ScalingGroupStatus } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksProgram } from "../../harness/needs.ts";
import type { TestServer } from "../../harness/running-server.ts";
import { Cluster } from "../nodes/two-nodes.ts";

const ENV = { SVC_CONTAINER_ENGINE: "off", SVC_HOST_PROGRAMS: "on" };

test.skipIf(process.platform !== "linux" || lacksProgram("busybox"))(
  "what a node has is told by others, is not reached when it does not run, and can be given up",
  async () => {
    await using cluster = new Cluster();
    const home = await cluster.start("home", { env: ENV });
    const other = await cluster.start("other", { env: ENV });
    const containers = (server: TestServer) => server.client(ContainerService);
    const groups = (server: TestServer) => server.client(ScalingGroupService);
    const refusal = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => "ok",
        (error: unknown) => (error instanceof ConnectError ? `${Code[error.code]}: ${error.rawMessage}` : String(error)),
      );
    const serving = { image: "host:", entrypoint: ["/bin/sh", "-c", "echo hello > index.html; exec busybox httpd -f -p $PORT"], port: 80 };
    const { container } = await containers(home).runContainer({ name: "one", spec: serving });
    const { group } = await groups(home).createScalingGroup({
      name: "site",
      spec: serving,
      bounds: { minReplicas: 1, maxReplicas: 1, targetCpu: 0 },
    });
    const node = container?.node ?? "";
    const get = async () => (await containers(other).getContainer({ container: "one" })).container;

    expect((await get())?.status).toBe(ContainerStatus.RUNNING);
    expect(await refusal(containers(other).stopContainer({ container: "one" }))).toBe(
      `FailedPrecondition: The container 'one' runs on another node, ${node}.`,
    );
    /** What the other node's gateway answers for a route. */
    const ask = async (url = "") => {
      const response = await fetch(`${other.server.gatewayUrl}${new URL(url).pathname}`);
      return `${response.status} ${await response.text()}`;
    };
    for (const url of [container?.url, group?.url]) await eventually(async () => (await ask(url)) === "200 hello\n", `an answer of ${url}`);
    // A group without replicas starts one for a request, which waits for it, from wherever it comes.
    const { group: idle } = await groups(home).createScalingGroup({
      name: "idle",
      spec: serving,
      bounds: { minReplicas: 0, maxReplicas: 1, targetCpu: 0 },
    });
    expect(await ask(idle?.url)).toBe("200 hello\n");
    await groups(home).deleteScalingGroup({ group: "idle" });
    const { container: own } = await containers(home).runContainer({ name: "own", spec: { ...serving, private: true } });
    expect(await ask(own?.url)).toContain(`The container 'own' is on another node, ${node}, and private`);
    await containers(home).stopContainer({ container: "own" });

    await home[Symbol.asyncDispose]();
    const gone = `The container 'one' is on another node, ${node}, which does not run.`;
    await eventually(async () => (await ask(container?.url)).includes(gone), "that its node is known to be gone");
    expect(await ask(container?.url)).toStartWith("502 ");
    const lost = await get();
    expect([lost?.status, lost?.message, lost?.endedAt]).toEqual([
      ContainerStatus.UNREACHABLE,
      `Its node, ${node}, does not run: whether it goes on is not known.`,
      undefined,
    ]);
    const { group: unkept } = await groups(other).getScalingGroup({ group: "site" });
    expect([unkept?.status, unkept?.message]).toEqual([ScalingGroupStatus.FAILED, expect.stringContaining("does not run")]);
    expect(unkept?.replicas.map(({ status }) => status)).toEqual([ContainerStatus.UNREACHABLE]);
    const { container: given } = await containers(other).stopContainer({ container: "one" });
    expect([given?.status, given?.message]).toEqual([ContainerStatus.LOST, expect.stringContaining("It was given up")]);
    await groups(other).deleteScalingGroup({ group: "site" });
    const left = (await containers(other).listContainers({})).containers.filter(({ name }) => name === "one" || name.startsWith("site"));
    expect(left.map(({ status }) => status)).toEqual([ContainerStatus.LOST, ContainerStatus.LOST]);

    // What was left of them goes when the node is there again, and their names are free before.
    const again = await containers(other).runContainer({ name: "one", spec: serving });
    expect(again.container?.status).toBe(ContainerStatus.RUNNING);
    const programs = join(cluster.folderOf("home"), "host-programs");
    expect(readdirSync(programs).length).toBe(2);
    await cluster.start("home", { env: ENV });
    await eventually(() => readdirSync(programs).length === 0, "nothing left");
    await containers(other).stopContainer({ container: "one" });
  },
  300_000,
);
