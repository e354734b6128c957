/**
 * ClusterService: the nodes of the platform as one cluster, its processes and their journal; and
 * the cluster that its containers run in, where their engine has one.
 */

import { availableParallelism, hostname, totalmem } from "node:os";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { ClusterService, type PodSchema } from "../../../../gen/svc/v1/cluster_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { visibleEnvironments } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { eventsOf, podsById } from "../../containers/cluster-view.ts";
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
/** Longest wait for all that a cluster is asked. */
const CLUSTER_PROBE_MS = 20_000;

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
    async listClusters(_request, context) {
      const ofEngine = await engineCluster(platform);
      return { clusters: [await cluster(callerOf(context)), ...(ofEngine ? [await clusterMessage(ofEngine)] : [])] };
    },

    async getCluster({ id }, context) {
      const ofEngine = await clusterOf(platform, id);
      if (ofEngine) return { cluster: { ...(await clusterMessage(ofEngine)), nodes: await nodesOf(ofEngine) } };
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
      const ofEngine = await clusterOf(platform, id);
      if (ofEngine) return { checks: await checked(ofEngine.checks(AbortSignal.timeout(CLUSTER_PROBE_MS))) };
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
      return { checks: await checked(probes) };
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
        resourceGroup: pod.resourceGroup,
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
      const filter = {
        ...bounds(request),
        environmentIds: namespaces.length === 0 ? [...names.keys()] : namespaces.flatMap((name) => namespaceIds(own, name)),
        ...(processes.length > 0 && { processes: processes.map((name) => name.replace(/^pod\//, "")) }),
        ...(message !== "" && { message }),
      };
      const most = Math.min(limit || DEFAULT_EVENTS, MAX_EVENTS);
      const ofEngine = await clusterEvents(platform, filter);
      // Of two lists, what is skipped is known once they are one.
      const journal = await metadata.processes.events({
        ...filter,
        ...(ofEngine ? { limit: offset + most, offset: 0 } : { limit: most, offset }),
      });
      const events = ofEngine ? [...journal, ...ofEngine].sort((one, other) => other.at - one.at).slice(offset, offset + most) : journal;
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
  // Without the cluster's answer, what the platform knows by itself is shown.
  const placed = await podsById(await engineCluster(platform)).catch(() => new Map<string, never>());
  const podsOf = async (kind: string, { list, use }: Pick<Containers, "list" | "use">) => {
    const alive = (await Promise.all(visible.map(({ id }) => list(id)))).flat().filter((one) => !hasEnded(one));
    return Promise.all(
      alive.map(async ({ id, name, status, node, environmentId, createdAt, startedAt = createdAt }) => {
        const { cpuSeconds = 0, memoryBytes = 0 } = (await use(id).catch(() => undefined)) ?? {};
        const pod = placed.get(id);
        const isRunning = status === "running" && pod?.status !== "Starting";
        return {
          ...{ name, kind, status: isRunning ? "Running" : "Starting", ready: isRunning, startedAt: msToTimestamp(startedAt) },
          ...{ node: pod?.node ?? (node === own ? hostname() : node), restarts: pod?.restarts ?? 0 },
          ...{ environmentId, memoryBytes: BigInt(memoryBytes), cpuSeconds },
        };
      }),
    );
  };
  return [...(await podsOf("container", containers)), ...(await podsOf("sandbox", sandboxes))];
}

type Capabilities = Awaited<ReturnType<Platform["containers"]>>;
/** The cluster that containers run in. */
type OfEngine = NonNullable<ReturnType<Capabilities["cluster"]>>;

/** The cluster of the engine; undefined = there is none, or it is not set up. */
async function engineCluster(platform: Platform): Promise<OfEngine | undefined> {
  const { cluster } = await platform.containers();
  try {
    return cluster();
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/**
 * The engine's cluster of an id; undefined = the id is that of the platform's own. Rejects with
 * not_found.
 */
async function clusterOf(platform: Platform, id: string): Promise<OfEngine | undefined> {
  if (id === CLUSTER_ID) return undefined;
  const ofEngine = await engineCluster(platform);
  if (ofEngine?.id === id) return ofEngine;
  throw noCluster(id, [CLUSTER_ID, ...(ofEngine ? [ofEngine.id] : [])]);
}

function noCluster(idOrName: string, there: readonly string[]): Failure {
  return new Failure("not_found", `There is no cluster '${idOrName.slice(0, 100)}'.`, {
    hint: there.length === 1 ? `This platform has one: ${there[0]}.` : `This platform has ${there.join(" and ")}.`,
  });
}

/** Throws Failure not_found unless a text is the id or the name of the platform's own cluster. */
export function checkCluster(idOrName: string): void {
  if (idOrName !== CLUSTER_NAME && idOrName !== CLUSTER_ID) throw noCluster(idOrName, [CLUSTER_ID]);
}

/**
 * The id of the cluster in which this server runs containers. Rejects with Failure not_found when
 * another one is wanted. @param wanted its id or name; empty = whatever it is
 */
export async function containerCluster(platform: Platform, wanted = ""): Promise<string> {
  const ofEngine = await engineCluster(platform);
  if (!ofEngine) {
    if (wanted !== "") checkCluster(wanted);
    return CLUSTER_ID;
  }
  if (wanted === "" || wanted === ofEngine.id || wanted === ofEngine.name) return ofEngine.id;
  throw noCluster(wanted, [ofEngine.id]);
}

/** What is said of the engine's cluster in lists. */
async function clusterMessage(cluster: OfEngine) {
  const { id, kind, name } = cluster;
  const createdAt = await cluster.createdAt().catch(() => undefined);
  return { id, kind, name, ...(createdAt !== undefined && { createdAt: msToTimestamp(createdAt) }) };
}

async function nodesOf(cluster: OfEngine) {
  return (await cluster.nodes()).map(({ cpus, id, isDraining, joinedAt, memoryBytes, name, platform, seenAt, version }) => ({
    ...{ id, host: name, version, draining: isDraining, startedAt: msToTimestamp(joinedAt) },
    ...(seenAt !== undefined && { heartbeatAt: msToTimestamp(seenAt) }),
    machine: { platform, cpus, memoryBytes: BigInt(memoryBytes) },
  }));
}

/** What a filter of events chooses. */
interface EventFilter {
  readonly from?: number;
  readonly until?: number;
  readonly environmentIds: readonly string[];
  readonly processes?: readonly string[];
  readonly message?: string;
}

/** What the engine's cluster says of containers; undefined = there is no such cluster. */
async function clusterEvents(
  platform: Platform,
  { environmentIds, from = 0, message = "", processes, until = Number.POSITIVE_INFINITY }: EventFilter,
): Promise<Awaited<ReturnType<Platform["metadata"]["processes"]["events"]>> | undefined> {
  const ofEngine = await engineCluster(platform);
  if (!ofEngine) return undefined;
  const { containers, sandboxes } = await platform.containers();
  const ids = environmentIds.filter((id) => id !== "");
  const all = await Promise.all(ids.flatMap((id) => [containers.list(id), sandboxes.list(id)]));
  const chosen = all.flat().filter(({ name }) => !processes || processes.includes(name));
  const events = await eventsOf(ofEngine, chosen);
  return events
    .map(({ at, message: words, of, reason, type }) => ({
      ...{ at, message: words, reason, type, environmentId: of.environmentId, process: of.name },
    }))
    .filter((event) => event.at >= from && event.at < until && event.message.toLowerCase().includes(message.toLowerCase()));
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

/** Tries everything. */
function checked(probes: Readonly<Record<string, () => Promise<unknown>>>): Promise<{ name: string; ok: boolean; problem: string }[]> {
  return Promise.all(Object.entries(probes).map(([name, probe]) => check(name, probe)));
}

async function check(name: string, probe: () => Promise<unknown>): Promise<{ name: string; ok: boolean; problem: string }> {
  try {
    await probe();
    return { name, ok: true, problem: "" };
  } catch (error) {
    return { name, ok: false, problem: errorText(error) };
  }
}
