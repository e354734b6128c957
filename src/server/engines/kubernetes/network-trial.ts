/**
 * The trial of a cluster's network policies: a pod under the policy that allows nothing connects to
 * the same places as a pod without it. Nothing else says whether a cluster keeps its policies.
 */

import { Failure } from "../../failure.ts";
import { type KubernetesApi, unlessGone } from "./kubernetes-api.ts";
import { CONTROL, type Found, foundBy, lacksTools, probeCommand, TRIED } from "./network-probe.ts";
import { exitCodeOf, hasEnded, type Pod, schedulingWords, startFault } from "./pod.ts";
import { MANAGED, MANAGER, NETWORK, NO_NETWORK, probeContainer } from "./pod-manifest.ts";
import type { PodWatch } from "./pod-watch.ts";

/** The variable that names the image of probes. */
export const PROBE_VARIABLE = "SVC_KUBERNETES_PROBE_IMAGE";
/** The label of the pods of trials. */
const PROBE = "svc.dev/probe";
/** Longest life of a pod of a trial, more than its rounds take, and longest wait for it. */
const LIFE_SECONDS = 240;
const WAIT_MS = 300_000;
/** Age at which a pod of a trial is nobody's: the server that made it was killed. */
const ORPHAN_MS = 15 * 60_000;

/** What a trial needs. */
export interface TrialParts {
  readonly api: KubernetesApi;
  /** Path of the pods in the API. */
  readonly pods: string;
  readonly watch: PodWatch;
  /** Image of its pods. */
  readonly image: string;
}

/** Resolves once the policy is seen to be kept. Rejects with Failure; leaves no pods. */
export async function tryPolicy(parts: TrialParts): Promise<void> {
  const { api, pods } = parts;
  await removeOrphans(parts);
  const id = crypto.randomUUID();
  const names = { control: `svc-probe-${id}-control`, tried: `svc-probe-${id}-cut` };
  try {
    await api.json(pods, { method: "POST", json: probePod(names.control, parts.image, false) });
    await api.json(pods, { method: "POST", json: probePod(names.tried, parts.image, true) });
    const [control, tried] = await Promise.all([names.control, names.tried].map((name) => resultOf(parts, name)));
    judge(control as Found, tried as Found);
  } finally {
    await Promise.allSettled(Object.values(names).map((name) => removeNow(parts, name)));
  }
}

/** Throws Failure unless what was found shows that the policy is kept. */
function judge(control: Found, tried: Found): void {
  if (tried.words !== "")
    throw new Failure(
      "failed_precondition",
      `Sandboxes have no network, and the network plugin of this cluster does not keep network policies: a pod that may connect nowhere reached ${tried.words}.`,
      {
        hint: "Use a network plugin that keeps them, such as Calico or Cilium; or run sandboxes on a server with Podman or Docker.",
      },
    );
  if (!control.api)
    throw new Failure(
      "failed_precondition",
      "Whether this cluster keeps network policies could not be seen: a pod that may connect anywhere did not reach the cluster's API at its service address either.",
      {
        hint: "Another network policy of the namespace, or the network itself, cuts pods off: what is tried has to be in reach of a pod without the policy.",
      },
    );
}

/** What a pod of the trial found. Rejects with Failure. */
async function resultOf({ api, image, pods, watch }: TrialParts, name: string): Promise<Found> {
  const late = AbortSignal.timeout(WAIT_MS);
  const isDecided = (pod: Pod): boolean => hasEnded(pod) || startFault(pod) !== undefined;
  const pod = await watch.until(name, isDecided, late).catch(async (error: unknown) => {
    if (!late.aborted) throw error;
    const last = await unlessGone(api.json<Pod>(`${pods}/${name}`));
    throw unproven((last && schedulingWords(last)) || "its pods did not end in time");
  });
  const fault = pod && startFault(pod);
  if (fault) throw fault.kind === "image" ? probeImageMissing(image, fault.words) : unproven(fault.words);
  const code = pod && exitCodeOf(pod);
  const found = foundBy(code);
  if (found) return found;
  throw lacksTools(code) ? probeToolsMissing(image) : unproven(`a pod ended with ${code === undefined ? "no result" : `code ${code}`}`);
}

function unproven(words: string): Failure {
  return new Failure("unavailable", `Whether this cluster keeps network policies could not be tried: ${words}.`, {
    hint: "`svc kube events list` shows what the cluster says of its pods. It is tried again with another sandbox, a minute later.",
  });
}

/** The refusal where the image of probes cannot be fetched. */
export function probeImageMissing(image: string, words: string): Failure {
  return new Failure(
    "failed_precondition",
    `There is no image '${image}', by which the network of sandboxes is tried, and it could not be fetched: ${words || "the kubelet does not say why"}.`,
    { hint: `${PROBE_VARIABLE} names another one with busybox's programs, in a registry that the cluster's nodes reach.` },
  );
}

/** The refusal where the image of probes lacks their tools. */
export function probeToolsMissing(image: string): Failure {
  return new Failure(
    "failed_precondition",
    `The image '${image}', by which the network of sandboxes is tried, has no sh and nc as busybox has them.`,
    { hint: `${PROBE_VARIABLE} names another one.` },
  );
}

function probePod(name: string, image: string, isCut: boolean): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { [MANAGED]: MANAGER, [PROBE]: "true", ...(isCut && { [NETWORK]: NO_NETWORK }) } },
    spec: {
      ...{ restartPolicy: "Never", automountServiceAccountToken: false, enableServiceLinks: false },
      ...{ activeDeadlineSeconds: LIFE_SECONDS, terminationGracePeriodSeconds: 0 },
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [probeContainer(image, probeCommand(isCut ? TRIED : CONTROL))],
    },
  };
}

async function removeNow({ api, pods }: TrialParts, name: string): Promise<void> {
  await unlessGone(
    api.json(`${pods}/${name}`, { method: "DELETE", json: { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 } }),
  );
}

/** Removes pods of trials whose servers did not come to it. */
async function removeOrphans(parts: TrialParts): Promise<void> {
  const { items } = await parts.api.list<Pod>(parts.pods, { labelSelector: `${MANAGED}=${MANAGER},${PROBE}=true` });
  const isOld = ({ metadata }: Pod): boolean => Date.now() - Date.parse(metadata?.creationTimestamp ?? "") > ORPHAN_MS;
  await Promise.allSettled(items.filter(isOld).map(({ metadata }) => removeNow(parts, metadata?.name ?? "")));
}
