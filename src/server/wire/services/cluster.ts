/** ClusterService: the nodes of the platform as one cluster, its processes and their journal. */

import { availableParallelism, totalmem } from "node:os";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { ClusterService } from "../../../../gen/svc/v1/cluster_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { visibleEnvironments } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
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
      const probes: Readonly<Record<string, () => Promise<unknown>>> = {
        "metadata store": () => metadata.probe(),
        "object store": () => objects.probe(),
        "online store": async () => (await platform.online()).probe(),
        "telemetry store": async () => (await platform.telemetry()).probe(),
        "metrics store": async () => (await platform.metricStore()).probe(),
        "log store": async () => (await platform.logs()).probe(),
        "starting a process": startProcess,
      };
      return { checks: await Promise.all(Object.entries(probes).map(([name, probe]) => check(name, probe))) };
    },

    listPods: async (_request, context) => ({
      pods: (await pods(callerOf(context))).map(({ readyAt, startedAt, host, cpuMs, memoryBytes, ...pod }) => ({
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
      })),
    }),

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
          object: `pod/${process}`,
          message: words,
        })),
      };
    },
  });
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
