/** What a container becomes in Kubernetes: a pod of its own, and a secret with its variables. */

import { createHash } from "node:crypto";
import { relative, sep } from "node:path";
import { Failure } from "../../failure.ts";
import type { NewContainer } from "../container-engine.ts";
import { HELD, probeCommand } from "./network-probe.ts";
import { CONTAINER, LABELS_ANNOTATION, NAME_ANNOTATION, NETWORK_PROBE, type Pod } from "./pod.ts";

/** The label of all that is made here, and its value. */
export const MANAGED = "app.kubernetes.io/managed-by";
export const MANAGER = "svc";
/** The label of pods that are to have no network, and its value. */
export const NETWORK = "svc.dev/network";
export const NO_NETWORK = "none";
/** What keeps a pod from being started before it is wanted. */
const GATE = "svc.dev/start";
/** The class of pods with a kernel of their own. */
export const GVISOR_CLASS = "gvisor";
/** What a program in a container does not need, of what runtimes allow by themselves. */
const DROPPED = ["NET_RAW", "MKNOD", "AUDIT_WRITE"];
const LEGAL_VALUE = /^(?:[a-z\d](?:[\w.-]{0,61}[a-z\d])?)?$/i;
const LEGAL_KEY = /^[a-z\d](?:[\w.-]{0,61}[a-z\d])?$/i;
const LEGAL_NAME = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;
/**
 * Characters of a digest that stand for what is not legal, and of the text before it that stays.
 */
const DIGEST = 12;
const KEPT = 48;

/** A folder of the server that is a claim's, which pods can have too. */
export interface SharedVolumes {
  /** Name of the PersistentVolumeClaim. */
  readonly claim: string;
  /** Where this server has it. */
  readonly folder: string;
}

/** The name of a container's pod: its own where that is legal, else one that begins alike. */
export function podName(name: string): string {
  if (LEGAL_NAME.test(name)) return name;
  const kept = name
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, "-")
    .slice(0, KEPT)
    .replaceAll(/^-+|-+$/g, "");
  return `${kept || "x"}-${digest(name)}`;
}

/** A label's value as Kubernetes takes it: what is not legal becomes a digest. */
export function labelValue(value: string): string {
  return LEGAL_VALUE.test(value) ? value : `x-${digest(value)}`;
}

/** The same for a label's key. */
export function labelKey(key: string): string {
  return LEGAL_KEY.test(key) ? key : `x-${digest(key)}`;
}

/**
 * The pod of a container, which waits until its gate is opened. One without a network holds its
 * program until it sees that it has none. Throws Failure for what it cannot have.
 * @param probeImage of what looks at the network
 */
export function podOf(container: NewContainer, shared: SharedVolumes | undefined, probeImage: string): object {
  const {
    arguments: args,
    cpus,
    entrypoint,
    env,
    hasNetwork,
    image,
    isRestricted,
    labels,
    memoryBytes,
    mounts,
    name,
    port,
    user,
  } = container;
  if (container.isOnHost) throw new Failure("failed_precondition", "A pod does not share the network of this server's machine.");
  const limits = {
    ...(cpus !== undefined && { cpu: `${Math.max(1, Math.round(cpus * 1_000))}m` }),
    ...(memoryBytes !== undefined && { memory: String(memoryBytes) }),
  };
  const hasVariables = Object.keys(env).length > 0;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(name),
      labels: podLabels(container),
      annotations: { [NAME_ANNOTATION]: name, [LABELS_ANNOTATION]: JSON.stringify(labels) },
    },
    spec: {
      ...{ restartPolicy: "Never", automountServiceAccountToken: false, enableServiceLinks: false },
      schedulingGates: [{ name: GATE }],
      ...(isRestricted && { runtimeClassName: GVISOR_CLASS }),
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      ...(mounts.length > 0 && { volumes: [{ name: "shared", persistentVolumeClaim: { claimName: claimOf(shared).claim } }] }),
      ...(!hasNetwork && { initContainers: [{ ...probeContainer(probeImage, probeCommand(HELD)), name: NETWORK_PROBE }] }),
      containers: [
        {
          ...{ name: CONTAINER, image, imagePullPolicy: "IfNotPresent", ...(container.workdir && { workingDir: container.workdir }) },
          ...(entrypoint.length > 0 && { command: entrypoint.map(literal) }),
          ...(args.length > 0 && { args: args.map(literal) }),
          ...(hasVariables && { envFrom: [{ secretRef: { name: podName(name) } }] }),
          ...(port !== undefined && { ports: [{ containerPort: port }] }),
          resources: { limits },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: DROPPED }, ...userOf(user) },
          ...(mounts.length > 0 && {
            volumeMounts: mounts.map(({ isReadOnly = false, path, source }) => ({
              ...{ name: "shared", mountPath: path, subPath: pathInClaim(source, shared), readOnly: isReadOnly },
            })),
          }),
        },
      ],
    },
  };
}

/** The labels of a container's pod. */
export function podLabels({ hasNetwork, labels }: Pick<NewContainer, "hasNetwork" | "labels">): Readonly<Record<string, string>> {
  return { ...legalLabels(labels), [MANAGED]: MANAGER, ...(!hasNetwork && { [NETWORK]: NO_NETWORK }) };
}

/** What looks at the network of a pod. */
export function probeContainer(image: string, command: readonly string[]): object {
  return {
    ...{ name: CONTAINER, image, imagePullPolicy: "IfNotPresent", command: command.map(literal) },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
}

/** The secret with a container's variables, which goes when its pod goes. */
export function secretOf({ env, labels, name }: NewContainer, { metadata }: Pod): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    immutable: true,
    metadata: {
      name: podName(name),
      labels: { ...legalLabels(labels), [MANAGED]: MANAGER },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName(name), uid: metadata?.uid }],
    },
    data: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
  };
}

/** The user of a container, of whom Kubernetes knows the number alone. */
function userOf(user: string | undefined): { readonly runAsUser?: number; readonly runAsGroup?: number } {
  if (user === undefined) return {};
  const [, own, group] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(user) ?? [];
  if (own === undefined)
    throw new Failure("invalid_argument", `Kubernetes takes a user by its number, and '${user.slice(0, 100)}' is none.`);
  return { runAsUser: Number(own), ...(group !== undefined && { runAsGroup: Number(group) }) };
}

/** A word that Kubernetes leaves as it is: it would put variables in the place of `$(NAME)`. */
function literal(word: string): string {
  return word.replaceAll("$", "$$$$");
}

function legalLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [labelKey(key), labelValue(value)]));
}

function claimOf(shared: SharedVolumes | undefined): SharedVolumes {
  if (shared) return shared;
  throw new Failure("failed_precondition", "A volume is a folder of this server's machine, which the nodes of its cluster do not have.", {
    hint:
      "Put the server's volumes on a PersistentVolumeClaim that several pods can have (ReadWriteMany), and name it: " +
      "SVC_KUBERNETES_VOLUMES=CLAIM:/folder/where/the/server/has/it.",
  });
}

function pathInClaim(source: string, shared: SharedVolumes | undefined): string {
  const { claim, folder } = claimOf(shared);
  const path = relative(folder, source);
  if (path !== "" && path !== ".." && !path.startsWith(`..${sep}`)) return path;
  throw new Failure(
    "failed_precondition",
    `The server's volumes are not in ${folder}, where SVC_KUBERNETES_VOLUMES says that the claim '${claim}' is.`,
    {
      hint: "They are in the folder `volumes` of the server's data directory.",
    },
  );
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST);
}
