/** An engine that runs each container as a pod of a Kubernetes cluster. */

import { Failure } from "../../failure.ts";
import type { ContainerEngine, EngineOutput } from "../container-engine.ts";
import { OutputLines } from "../output-lines.ts";
import { stamped } from "../stamped-line.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { Isolation } from "./isolation.ts";
import { ApiRefusal, createKubernetesApi, type Described, isGone, type KubernetesApi, unlessGone, wordsIn } from "./kubernetes-api.ts";
import { createKubernetesCluster } from "./kubernetes-cluster.ts";
import { startExec } from "./kubernetes-exec.ts";
import { foundBy, lacksTools, PROBE_IMAGE } from "./network-probe.ts";
import { probeImageMissing, probeToolsMissing } from "./network-trial.ts";
import { CONTAINER, containerOf, hasEnded, hasStarted, labelsOf, type Pod, type StartFault, schedulingWords, startFault } from "./pod.ts";
import {
  GVISOR_CLASS,
  labelKey,
  labelValue,
  MANAGED,
  MANAGER,
  podLabels,
  podName,
  podOf,
  type SharedVolumes,
  secretOf,
} from "./pod-manifest.ts";
import { PodUse } from "./pod-use.ts";
import { PodWatch } from "./pod-watch.ts";

/** Longest wait for a node, which an autoscaler may have to make, and for an image. */
const SCHEDULE_MS = 180_000;
const START_MS = 600_000;
/** How much longer than its grace a pod may take to end. */
const LATE_MS = 60_000;
/** Longest wait for a kubelet to say that a removed pod is over. */
const REMOVE_MS = 30_000;
/** Keeps a pod that is stopped, with its exit code, until it is removed here. */
const KEPT = "svc.dev/kept";
const EVERYTHING = `${MANAGED}=${MANAGER}`;

/** What there is to choose of an engine. */
export interface KubernetesOptions {
  /** Where pods find the server's volumes; undefined = nowhere. */
  readonly volumes?: SharedVolumes | undefined;
  /** Shortest time between two watches, in milliseconds. */
  readonly pauseMs?: number;
  /** Image of what looks at the network of pods that are to have none. */
  readonly probeImage?: string;
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number;
}

/** Makes an engine. */
export function createKubernetesEngine(access: ClusterAccess, options: KubernetesOptions = {}): ContainerEngine {
  const { now, pauseMs, probeImage = PROBE_IMAGE, volumes } = options;
  const api = createKubernetesApi(access);
  const { namespace } = access;
  const pods = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const secrets = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const watch = new PodWatch(api, pods, EVERYTHING, pauseMs);
  const measured = new PodUse(api, namespace);
  const isolation = new Isolation({ api, pods, watch, image: probeImage }, now);
  const of = (id: string): string => `${pods}/${encodeURIComponent(id)}`;
  const find = (id: string): Promise<Pod | undefined> => unlessGone(api.json<Pod>(of(id)));
  const listed = async (selector: string): Promise<readonly Pod[]> => (await api.list<Pod>(pods, { labelSelector: selector })).items;

  const remove = async (id: string): Promise<void> => {
    const pod = await find(id);
    if (pod) {
      measured.forget(pod.metadata?.uid ?? "");
      const finalizers = pod.metadata?.finalizers ?? [];
      if (finalizers.includes(KEPT))
        await unlessGone(
          api.json(of(id), { method: "PATCH", json: { metadata: { finalizers: finalizers.filter((one) => one !== KEPT) } } }),
        );
      const isWithKubelet = pod.spec?.nodeName !== undefined && !hasEnded(pod);
      await unlessGone(api.json(of(id), { method: "DELETE", json: deletion(pod, isWithKubelet ? 1 : 0) }));
      // A kubelet that does not answer keeps nobody waiting; it ends the program once it does.
      if (isWithKubelet)
        await watch
          .until(id, () => false, AbortSignal.timeout(REMOVE_MS))
          .catch(async () => {
            await unlessGone(api.json(of(id), { method: "DELETE", json: deletion(pod, 0) }));
          });
    }
    await unlessGone(api.json(`${secrets}/${encodeURIComponent(id)}`, { method: "DELETE" }));
  };

  return {
    async describe(signal) {
      const { gitVersion = "" } = await api.json<{ gitVersion?: string }>("/version", { signal });
      return { kind: "kubernetes", version: gitVersion, address: `${access.server} (${access.name}, namespace ${namespace})` };
    },

    serverUser: async () => "0",

    async create(container, signal) {
      const manifest = podOf(container, volumes, probeImage);
      if (container.isRestricted) await refuseWithoutGvisor(api, signal);
      if (!container.hasNetwork) await isolation.ensure(podLabels(container), signal);
      const id = podName(container.name);
      let isRefused = false;
      try {
        const pod = await api.json<Pod>(pods, { method: "POST", json: manifest, signal }).catch((error: unknown) => {
          isRefused = error instanceof ApiRefusal && error.status < 500;
          throw error;
        });
        if (Object.keys(container.env).length > 0) await api.json(secrets, { method: "POST", json: secretOf(container, pod), signal });
        return id;
      } catch (error) {
        if (!isRefused) await remove(id).catch(() => undefined);
        throw isGone(error)
          ? new Failure("failed_precondition", `There is no namespace '${namespace}' in the cluster.`, {
              hint: `\`kubectl create namespace ${namespace}\` makes it.`,
            })
          : error;
      }
    },

    async start(id) {
      await api.json(of(id), { method: "PATCH", json: { spec: { schedulingGates: null } } });
      const isDecided = (pod: Pod): boolean => hasStarted(pod) || startFault(pod) !== undefined;
      const wait = async (isReached: (pod: Pod) => boolean, ms: number): Promise<Pod> => {
        const late = AbortSignal.timeout(ms);
        const pod = await watch.until(id, isReached, late).catch(async (error: unknown) => {
          throw late.aborted ? await lateness(api, await find(id), namespace) : error;
        });
        if (pod) return pod;
        throw new Failure("not_found", "The pod was removed from the cluster while it started.");
      };
      await wait((pod) => pod.spec?.nodeName !== undefined || isDecided(pod), SCHEDULE_MS);
      const pod = await wait(isDecided, START_MS);
      const fault = startFault(pod);
      if (fault?.kind === "network") isolation.forget();
      if (fault) throw refusalOf(pod, fault, probeImage);
    },

    async inspect(id) {
      const pod = await find(id);
      return pod && containerOf(pod);
    },

    async list(label, value) {
      const found = await listed(`${EVERYTHING},${labelKey(label)}=${labelValue(value)}`);
      return found.filter((pod) => labelsOf(pod)[label] === value).map(containerOf);
    },

    async waitForEnd(id, signal) {
      await watch.until(id, hasEnded, signal);
    },

    async stop(id, graceMs) {
      const pod = await find(id);
      if (!pod || hasEnded(pod)) return;
      const finalizers = [...new Set([...(pod.metadata?.finalizers ?? []), KEPT])];
      if ((await unlessGone(api.json(of(id), { method: "PATCH", json: { metadata: { finalizers } } }))) === undefined) return;
      await unlessGone(api.json(of(id), { method: "DELETE", json: deletion(pod, Math.ceil(graceMs / 1_000)) }));
      const late = AbortSignal.timeout(graceMs + LATE_MS);
      await watch.until(id, hasEnded, late).catch((error: unknown) => {
        if (!late.aborted) throw error;
        throw new Failure("unavailable", `The node ${pod.spec?.nodeName ?? ""} does not say that the pod ${id} has ended.`);
      });
    },

    async signal(id, signal) {
      const isRunning = async (): Promise<boolean> => {
        const pod = await find(id);
        return pod !== undefined && containerOf(pod).state === "running";
      };
      if (!(await isRunning())) return;
      // Kubernetes sends no signals by itself: a shell in the pod does.
      const argv = ["/bin/sh", "-c", 'kill -s "$1" 1', "sh", signal.replace(/^SIG/, "")];
      const silent = { workdir: "", env: {}, terminal: undefined, onOutput: () => undefined, onTaken: () => undefined };
      const code = await (await startExec(api, of(id), { argv, ...silent })).ended;
      if (code !== 0 && (await isRunning()))
        throw new Failure("failed_precondition", `The pod ${id} has no shell that could send it ${signal}.`);
    },

    remove,

    async *output(id, from, signal) {
      const query = {
        ...{ container: CONTAINER, follow: "true", timestamps: "true" },
        ...(from > 0 && { sinceTime: new Date(Math.floor(from / 1e6) * 1_000).toISOString() }),
      };
      const response = await unlessGone(api.call(`${of(id)}/log`, { query, signal, timeoutMs: 0 }));
      if (!response?.body) return;
      yield* linesOf(response.body, from);
      const pod = await find(id);
      if (pod && !hasEnded(pod)) throw new Failure("unavailable", "The output was cut off.");
    },

    async exec(id, exec) {
      if (!(await find(id))) throw new Failure("not_found", `There is no pod ${id}.`);
      return startExec(api, of(id), exec);
    },

    async use(id) {
      const pod = await find(id);
      return pod && containerOf(pod).state === "running" ? measured.of(pod) : undefined;
    },

    build: () => refuseImages(),
    makeEmptyImage: () => refuseImages(),
    commit: () => refuseImages(),
    fetchImage: () => refuseImages(),
    // Its nodes fetch images by themselves; what they have is theirs.
    image: () => Promise.resolve(undefined),
    images: () => Promise.resolve([]),
    removeImage: () => Promise.resolve(true),

    cluster: createKubernetesCluster(api, async () => listed(EVERYTHING)),
  };
}

/** How a pod is deleted, and no other of its name. */
function deletion({ metadata }: Pod, graceSeconds: number): object {
  return { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: graceSeconds, preconditions: { uid: metadata?.uid } };
}

/** Why a pod did not start. */
function refusalOf(pod: Pod, { exitCode, kind, words }: StartFault, probeImage: string): Failure {
  if (kind === "network image") return probeImageMissing(probeImage, words);
  if (kind === "network" && lacksTools(exitCode)) return probeToolsMissing(probeImage);
  if (kind === "network")
    return new Failure("failed_precondition", `The pod was not seen to have no network: ${heldWords(exitCode, words)}.`, {
      hint: "The network plugin of its node keeps the policy late, or not at all: the policy is tried again with another sandbox.",
    });
  if (kind === "program")
    return new Failure("invalid_argument", `Kubernetes could not start the program: ${words || "it does not say why"}.`);
  const image = pod.spec?.containers?.[0]?.image ?? "";
  return new Failure(
    "not_found",
    `There is no image '${image}', and it could not be fetched: ${words || "the kubelet does not say why"}.`,
    {
      hint: "Check its name; the nodes of the cluster fetch it, with the secrets that their service account has for its registry.",
    },
  );
}

/** Why a pod's program was held to the end. */
function heldWords(exitCode: number | undefined, words: string): string {
  const { words: reached = "" } = foundBy(exitCode) ?? {};
  if (reached !== "") return `the last that it reached was ${reached}`;
  return words || `what looks at it ended with code ${exitCode ?? "unknown"}`;
}

/** Why a pod has not started in time, by what the scheduler or the kubelet complained of last. */
async function lateness(api: KubernetesApi, pod: Pod | undefined, namespace: string): Promise<Failure> {
  const unscheduled = pod ? schedulingWords(pod) : "";
  if (unscheduled !== "")
    return new Failure("resource_exhausted", `No node of the cluster takes it: ${unscheduled}.`, {
      hint: "Ask for less with --cpu and --memory, or give the cluster more nodes.",
    });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const fieldSelector = `involvedObject.uid=${pod?.metadata?.uid ?? ""},type=Warning`;
  const { items } = await api.list<Described & { readonly message?: string }>(path, { fieldSelector }).catch(() => ({ items: [] }));
  const words = wordsIn(items.at(-1)?.message);
  return new Failure("unavailable", `The pod did not start in time: ${words || "the cluster does not say why"}.`, {
    hint: "`svc kube events list` shows what the cluster says of its pods.",
  });
}

/** Rejects with Failure: a cluster runs images, and nothing of its API makes one. */
function refuseImages(): Promise<never> {
  return Promise.reject(
    new Failure("failed_precondition", "Kubernetes builds no images: its nodes fetch them from registries.", {
      hint: "Build the image with Podman or Docker, push it to a registry that the cluster's nodes reach, and name it.",
    }),
  );
}

async function refuseWithoutGvisor(api: KubernetesApi, signal: AbortSignal): Promise<void> {
  if (await unlessGone(api.json(`/apis/node.k8s.io/v1/runtimeclasses/${GVISOR_CLASS}`, { signal }))) return;
  throw new Failure("failed_precondition", "This cluster gives no container a kernel of its own.", {
    hint: `Install gVisor on its nodes with a RuntimeClass '${GVISOR_CLASS}', or leave --kernel-policy restricted out.`,
  });
}

/** The lines of a pod's output from a time on. Kubernetes does not tell its streams apart. */
async function* linesOf(body: AsyncIterable<Uint8Array>, from: number): AsyncIterable<EngineOutput> {
  const open = new OutputLines();
  for await (const piece of body)
    for (const text of open.read(piece)) {
      const line = stamped("stdout", text);
      if (line && line.at >= from) yield line;
    }
  const last = stamped("stdout", open.rest());
  if (last && last.at >= from) yield last;
}
