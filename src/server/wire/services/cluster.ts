/** ClusterService: the nodes of the platform as one cluster, its processes and their journal. */

import { availableParallelism, hostname, totalmem } from "node:os";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { ClusterService, type PodSchema } from "../../../../gen/svc/v1/cluster_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { visibleEnvironments } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { hasEnded } from "../../containers/container-records.ts";
import type { Containers } from "../../containers/containers.ts";
import { Failure } from "../../failure.ts";
import { GONE_AFTER_MS } from "../../nodes/presence.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import type { ProcessRecord } from "../../stores/metadata/processes.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

export const CLUSTER_ID = "clstr_local";
const CLUSTER_NAME = "local";
/** Namespace of what belongs to no environment. */
const SERVER_NAMESPACE = "server";
const DEFAULT_EVENTS = 100;
const MAX_EVENTS = 1_000;
const MAX_NAMES = 100;
/** Longest wait for the container engine. */
const ENGINE_PROBE_MS = 5_000;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, metadata, objects } = platform;

  const cluster = async (caller: Caller) => {
    const began = (await visibleEnvironments(environments, caller)).map(({ createdAt }) => createdAt);
    return { id: CLUSTER_ID, name: CLUSTER_NAME, kind: "local", createdAt: msToTimestamp(Math.min(...began)) };
  };
  const pods = async (caller: Caller): Promise<ProcessRecord[]> => {
    await (await platform.processes()).measure();
    const seen = new Set(["", ...(await visibleEnvironments(environments, caller)).map(({ id }) => id)]);
    return (await metadata.processes.running()).filter(({ environmentId }) => seen.has(environmentId));
  };

  router.service(ClusterService, {
    listClusters: async (_request, context) => ({ clusters: [await cluster(callerOf(context))] }),

    async getCluster({ id }, context) {
      checkId(id);
      const hosts = new Map((await metadata.processes.running()).map(({ node, host }) => [node, host]));
      const own = platform.node();
      const nodes = (await metadata.nodes.list(GONE_AFTER_MS)).map((node) => ({
        id: node.id,
        host: hosts.get(node.id) ?? "",
        url: node.url,
        version: node.version,
        draining: node.isDraining,
        startedAt: msToTimestamp(node.startedAt),
        heartbeatAt: msToTimestamp(node.heartbeatAt),
        ...(node.id === own && { machine: thisMachine() }),
      }));
      return { cluster: { ...(await cluster(callerOf(context))), nodes } };
    },

    async testCluster({ id }) {
      checkId(id);
      const containers = await platform.containers();
      const probes: Readonly<Record<string, () => Promise<unknown>>> = {
        "metadata store": () => metadata.probe(),
        "object store": () => objects.probe(),
        "online store": async () => (await platform.online()).probe(),
        "telemetry store": async () => (await platform.telemetry()).probe(),
        "metrics store": async () => (await platform.metricStore()).probe(),
        "log store": async () => (await platform.logs()).probe(),
        "starting a process": startProcess,
        ...(containers.hasEngine() && { "container engine": () => containers.describeEngine(AbortSignal.timeout(ENGINE_PROBE_MS)) }),
      };
      return { checks: await Promise.all(Object.entries(probes).map(([name, probe]) => check(name, probe))) };
    },

    listPods: async (_request, context) => {
      const caller = callerOf(context);
      const ofProcesses = (await pods(caller)).map(({ readyAt, startedAt, host, cpuMs, memoryBytes, ...pod }) => ({
        name: pod.name,
        status: readyAt === undefined ? "Starting" : "Running",
        ready: readyAt !== undefined,
        restarts: pod.restarts,
        startedAt: msToTimestamp(startedAt),
        node: host,
        kind: pod.kind,
        environmentId: pod.environmentId,
        deploymentId: pod.deploymentId,
        pid: pod.pid,
        memoryBytes: BigInt(memoryBytes),
        cpuSeconds: cpuMs / 1000,
      }));
      const ofContainers = await containerPods(platform, await visibleEnvironments(environments, caller));
      return { pods: [...ofProcesses, ...ofContainers].sort((a, b) => (a.name < b.name ? -1 : 1)) };
    },

    async listEvents(request, context) {
      const { namespaces, pods: processes, message, limit, offset } = request;
      if (namespaces.length > MAX_NAMES || processes.length > MAX_NAMES)
        throw new Failure("invalid_argument", `At most ${MAX_NAMES} namespaces and ${MAX_NAMES} pods can be named.`);
      if (limit < 0 || offset < 0) throw new Failure("invalid_argument", "Limit and offset cannot be negative.");
      const own = await visibleEnvironments(environments, callerOf(context));
      const names = new Map([...own.map(({ id, name }) => [id, name] as const), ["", SERVER_NAMESPACE]]);
      const events = await metadata.processes.events({
        ...bounds(request),
        environmentIds: namespaces.length === 0 ? [...names.keys()] : namespaces.flatMap((name) => namespaceIds(own, name)),
        ...(processes.length > 0 && { processes: processes.map((name) => name.replace(/^pod\//, "")) }),
        ...(message !== "" && { message }),
        limit: Math.min(limit || DEFAULT_EVENTS, MAX_EVENTS),
        offset,
      });
      return {
        events: events.map(({ at, type, reason, environmentId, process, message: words }) => ({
          lastSeen: msToTimestamp(at),
          type,
          reason,
          namespace: names.get(environmentId) ?? environmentId,
          object: process.includes("/") ? process : `pod/${process}`,
          message: words,
        })),
      };
    },
  });
}

/** Containers and sandboxes that have not ended, as pods. */
async function containerPods(
  platform: Platform,
  visible: readonly EnvironmentRecord[],
): Promise<(MessageInitShape<typeof PodSchema> & { readonly name: string })[]> {
  const { containers, sandboxes } = await platform.containers();
  const own = platform.node();
  const podsOf = async (kind: string, { list, use }: Pick<Containers, "list" | "use">) => {
    const alive = (await Promise.all(visible.map(({ id }) => list(id)))).flat().filter((one) => !hasEnded(one));
    return Promise.all(
      alive.map(async ({ id, name, status, node, environmentId, createdAt, startedAt = createdAt }) => {
        const { cpuSeconds = 0, memoryBytes = 0 } = (await use(id).catch(() => undefined)) ?? {};
        const isRunning = status === "running";
        return {
          ...{ name, kind, status: isRunning ? "Running" : "Starting", ready: isRunning, startedAt: msToTimestamp(startedAt) },
          ...{ node: node === own ? hostname() : node, environmentId, memoryBytes: BigInt(memoryBytes), cpuSeconds },
        };
      }),
    );
  };
  return [...(await podsOf("container", containers)), ...(await podsOf("sandbox", sandboxes))];
}

/** Throws Failure not_found unless a text is the id of the cluster. */
function checkId(id: string): void {
  if (id !== CLUSTER_ID) throw new Failure("not_found", `There is no cluster '${id}'.`, { hint: `This platform has one: ${CLUSTER_ID}.` });
}

/** Throws Failure not_found unless a text is the id or the name of the cluster. */
export function checkCluster(idOrName: string): void {
  if (idOrName !== CLUSTER_NAME) checkId(idOrName);
}

function bounds({ startTime, endTime }: { startTime?: Timestamp | undefined; endTime?: Timestamp | undefined }): {
  from?: number;
  until?: number;
} {
  return { ...(startTime && { from: timestampToMs(startTime) }), ...(endTime && { until: timestampToMs(endTime) }) };
}

/** Ids of the environments that a namespace names; one that there is not is refused. */
function namespaceIds(own: readonly EnvironmentRecord[], name: string): string[] {
  if (name === SERVER_NAMESPACE) return [""];
  const ids = own.filter((environment) => environment.id === name || environment.name === name).map(({ id }) => id);
  if (ids.length > 0) return ids;
  throw new Failure("not_found", `There is no namespace '${name}'.`, {
    hint: `A namespace is an environment, or '${SERVER_NAMESPACE}' for what belongs to none: ${own.map((environment) => environment.name).join(", ")}.`,
  });
}

function thisMachine(): { platform: string; cpus: number; memoryBytes: bigint } {
  return { platform: `${process.platform}-${process.arch}`, cpus: availableParallelism(), memoryBytes: BigInt(totalmem()) };
}

async function startProcess(): Promise<void> {
  const exitCode = await Bun.spawn([process.execPath, "--version"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exited;
  if (exitCode !== 0) throw new Error(`it ended with code ${exitCode}`);
}

async function check(name: string, probe: () => Promise<unknown>): Promise<{ name: string; ok: boolean; problem: string }> {
  try {
    await probe();
    return { name, ok: true, problem: "" };
  } catch (error) {
    return { name, ok: false, problem: errorText(error) };
  }
}
