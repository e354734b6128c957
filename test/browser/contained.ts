/** Containers, a scaling group, a sandbox and a volume of a server, for pages: markup is in what they print. */

import { ContainerService, ContainerStatus } from "../../gen/svc/v1/container_pb.ts";
import { SandboxService } from "../../gen/svc/v1/sandbox_pb.ts";
import { ScalingGroupService, ScalingGroupStatus } from "../../gen/svc/v1/scaling_group_pb.ts";
import { VolumeService } from "../../gen/svc/v1/volume_pb.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX, type TestPodman } from "../harness/podman.ts";
import { TestServer } from "../harness/running-server.ts";
import { HOSTILE } from "./hostile-project.ts";

/** What a container prints, again and again. */
export const PRINTED = HOSTILE.replace("\u202e", "").replaceAll("'", "");

/** Starts a server with an engine. */
export function startContained(
  folder: string,
  podman: TestPodman,
  more: { readonly credentials?: TestServer["credentials"]; readonly port?: number } = {},
): Promise<TestServer> {
  return TestServer.start(folder, { env: { PATH: process.env.PATH, HOME: folder, SVC_CONTAINER_ENGINE: podman.address }, ...more });
}

/** What was made. */
export interface Contained {
  /** Id of a container that prints a line again and again, named `printer`. */
  readonly printer: string;
  /** Id of one that ended with exit code 3. */
  readonly failed: string;
  /** Id of a sandbox named `try`. */
  readonly sandbox: string;
}

/** A server of files that ends when it is told to. */
const HTTPD = "echo hello > /tmp/index.html; trap 'kill $!; exit 0' TERM; httpd -f -p 8080 -h /tmp & wait";

/** Makes a volume, containers, the scaling group `site` and a sandbox. */
export async function contain(server: TestServer): Promise<Contained> {
  await server.client(VolumeService).createVolume({ name: "notes" });
  const containers = server.client(ContainerService);
  const script = `trap 'exit 0' TERM; head -c 20000 /dev/zero > /notes/zeros; i=0; while true; do i=$((i+1)); echo "line $i ${"$WHAT"}"; sleep 0.2; done`;
  const { container: printer } = await containers.runContainer({
    name: "printer",
    tags: { team: "risk", purpose: "printing" },
    lifetime: { seconds: 86_400n },
    spec: {
      ...{ image: BUSYBOX, entrypoint: ["sh", "-c", script], volumes: [{ volume: "notes", path: "/notes" }] },
      ...{ resources: { cpu: "500m", memory: "64Mi" }, environment: [{ name: "WHAT", source: { case: "value", value: PRINTED } }] },
    },
  });
  const { container: failed } = await containers.runContainer({
    spec: { image: BUSYBOX, entrypoint: ["sh", "-c", "echo out; exit 3"] },
    name: "importer-of-last-night",
  });
  const { sandbox } = await server.client(SandboxService).createSandbox({ name: "try", image: BUSYBOX, memory: "64Mi" });
  const groups = server.client(ScalingGroupService);
  await groups.createScalingGroup({
    name: "site",
    tags: { team: "web" },
    spec: { image: BUSYBOX, entrypoint: ["sh", "-c", HTTPD], port: 8080 },
    bounds: { minReplicas: 2, maxReplicas: 4, targetCpu: 70 },
  });
  await eventually(async () => {
    const { group } = await groups.getScalingGroup({ group: "site" });
    return group?.status === ScalingGroupStatus.READY && group.readyReplicas === 2;
  }, "the group is ready");
  await eventually(
    async () => (await containers.getContainer({ container: failed?.id ?? "" })).container?.status === ContainerStatus.FAILED,
    "a container has failed",
  );
  return { printer: printer?.id ?? "", failed: failed?.id ?? "", sandbox: sandbox?.id ?? "" };
}

/** Waits until containers were measured twice, and returns. */
export async function untilMeasured(server: TestServer): Promise<void> {
  await eventually(
    async () => (await server.client(ContainerService).getContainer({ container: "printer" })).container?.use?.processors !== undefined,
    "a container is measured",
  );
}

/** Ends all that was made and may run. */
export async function empty(server: TestServer): Promise<void> {
  const groups = server.client(ScalingGroupService);
  for (const { name } of (await groups.listScalingGroups({})).groups) await groups.deleteScalingGroup({ group: name });
  const containers = server.client(ContainerService);
  for (const { endedAt, id } of (await containers.listContainers({})).containers)
    if (!endedAt) await containers.stopContainer({ container: id });
  const sandboxes = server.client(SandboxService);
  for (const { endedAt, id } of (await sandboxes.listSandboxes({})).sandboxes)
    if (!endedAt) await sandboxes.terminateSandbox({ sandbox: id });
}
