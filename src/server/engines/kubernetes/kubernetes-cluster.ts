/** The cluster behind an engine, as commands about clusters show it. */

import { quantityValue } from "../../../domain/quantity.ts";
import { Failure } from "../../failure.ts";
import type { EngineCluster, EngineEvent } from "../container-engine.ts";
import { clusterId } from "./cluster-access.ts";
import { ApiRefusal, type Described, type KubernetesApi, wordsIn } from "./kubernetes-api.ts";
import { hasEnded, hasStarted, labelsOf, type Pod } from "./pod.ts";
import { podName, podOf } from "./pod-manifest.ts";

/** What this server does in its namespace, as rules of a role name it; default group: the core. */
const NEEDED = [
  ["create", "pods"],
  ["get", "pods"],
  ["list", "pods"],
  ["watch", "pods"],
  ["patch", "pods"],
  ["delete", "pods"],
  ["get", "pods/log"],
  ["get", "pods/exec"],
  ["create", "pods/exec"],
  ["create", "secrets"],
  ["delete", "secrets"],
  ["list", "events"],
  ["create", "networkpolicies", "networking.k8s.io"],
  ["list", "networkpolicies", "networking.k8s.io"],
] as const satisfies readonly (readonly [verb: string, resource: string, group?: string])[];
/** An image that a pod names which is only tried, and never made. */
const TRIED_IMAGE = "registry.k8s.io/pause:3.10";

interface NodeObject extends Described {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly creationTimestamp?: string };
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly capacity?: { readonly cpu?: string; readonly memory?: string };
    readonly conditions?: readonly { readonly type: string; readonly lastHeartbeatTime?: string }[];
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly operatingSystem?: string; readonly architecture?: string };
  };
}

interface EventObject extends Described {
  readonly metadata?: { readonly name?: string; readonly creationTimestamp?: string };
  readonly involvedObject?: { readonly name?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly eventTime?: string | null;
  readonly lastTimestamp?: string | null;
  readonly series?: { readonly lastObservedTime?: string };
}

/** Describes the cluster. @param managed the pods that this platform has there */
export function createKubernetesCluster(api: KubernetesApi, managed: () => Promise<readonly Pod[]>): EngineCluster {
  const { access } = api;
  const namespace = `/api/v1/namespaces/${encodeURIComponent(access.namespace)}`;

  return {
    ...{ id: clusterId(access), name: access.name, kind: "kubernetes" },

    async createdAt() {
      const found = await api.json<Pod>(namespace).catch(unlessRefused);
      const at = Date.parse(found?.metadata?.creationTimestamp ?? "");
      return Number.isNaN(at) ? undefined : at;
    },

    async nodes() {
      const found = await api.list<NodeObject>("/api/v1/nodes", {}).catch(unlessRefused);
      return (found?.items ?? []).map(({ metadata = {}, spec = {}, status = {} }) => {
        const { architecture = "", kubeletVersion = "", operatingSystem = "" } = status.nodeInfo ?? {};
        const seen = Date.parse(status.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime ?? "");
        return {
          ...{ id: `node_${metadata.uid ?? ""}`, name: metadata.name ?? "", version: kubeletVersion },
          ...{ isDraining: spec.unschedulable === true, joinedAt: Date.parse(metadata.creationTimestamp ?? "") || 0 },
          ...{ seenAt: Number.isNaN(seen) ? undefined : seen, platform: `${operatingSystem}-${architecture}` },
          cpus: Math.floor(quantityValue(status.capacity?.cpu ?? "") ?? 0),
          memoryBytes: quantityValue(status.capacity?.memory ?? "") ?? 0,
        };
      });
    },

    pods: async () =>
      (await managed())
        .filter((pod) => !hasEnded(pod))
        .map((pod) => ({
          ...{ labels: labelsOf(pod), node: pod.spec?.nodeName ?? "", status: hasStarted(pod) ? "Running" : "Starting" },
          restarts: pod.status?.containerStatuses?.[0]?.restartCount ?? 0,
        })),

    async events(containers) {
      const names = new Map(containers.map((name) => [podName(name), name]));
      const { items } = await api.list<EventObject>(`${namespace}/events`, { fieldSelector: "involvedObject.kind=Pod" });
      return items.flatMap((event): EngineEvent[] => {
        const container = names.get(event.involvedObject?.name ?? "");
        if (container === undefined) return [];
        const times = [event.series?.lastObservedTime, event.lastTimestamp, event.eventTime, event.metadata?.creationTimestamp];
        const at = times.map((time) => Date.parse(time ?? "")).find((time) => !Number.isNaN(time)) ?? 0;
        const type = event.type === "Warning" ? "Warning" : "Normal";
        return [{ at, type, container, reason: wordsIn(event.reason), message: wordsIn(event.message) }];
      });
    },

    checks: (signal) => ({
      "Kubernetes API": async () => {
        await api.json("/version", { signal });
      },
      ...Object.fromEntries(
        NEEDED.map(([verb, resource, group = ""]) => [
          `${verb} ${resource}`,
          () => checkPermission(api, { verb, resource, group }, signal),
        ]),
      ),
      "a pod as containers have them": async () => {
        const name = `svc-try-${crypto.randomUUID()}`;
        const pod = podOf(
          {
            ...{ name, image: TRIED_IMAGE, entrypoint: [], arguments: [], env: {}, labels: {}, mounts: [], port: undefined },
            ...{ cpus: undefined, memoryBytes: undefined, hasNetwork: true, isRestricted: false },
          },
          undefined,
          TRIED_IMAGE,
        );
        await api.json(`${namespace}/pods`, { method: "POST", query: { dryRun: "All" }, json: pod, signal });
      },
    }),
  };
}

/** Rejects with Failure when this server's account may not do something in its namespace. */
async function checkPermission(
  api: KubernetesApi,
  { group, resource, verb }: { readonly verb: string; readonly resource: string; readonly group: string },
  signal: AbortSignal,
): Promise<void> {
  const [name, subresource] = resource.split("/");
  const { status } = await api.json<{ status?: { allowed?: boolean; reason?: string } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      method: "POST",
      signal,
      json: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { namespace: api.access.namespace, verb, group, resource: name, ...(subresource && { subresource }) } },
      },
    },
  );
  if (status?.allowed === true) return;
  throw new Failure("failed_precondition", `this server's account may not ${verb} ${resource} in the namespace '${api.access.namespace}'`);
}

/** Nothing, where this account may not see it. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof ApiRefusal)) throw error;
}
