/**
 * The container engine of this server: where its operator says, else at a usual socket of its
 * machine, else the cluster whose pod it runs in.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure, StartError } from "../failure.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { createDockerEngine } from "./docker/docker-engine.ts";
import { accountAccess, isInCluster, kubeconfigAccess, kubeconfigFiles } from "./kubernetes/cluster-access.ts";
import { createKubernetesEngine } from "./kubernetes/kubernetes-engine.ts";
import { PROBE_VARIABLE } from "./kubernetes/network-trial.ts";
import type { SharedVolumes } from "./kubernetes/pod-manifest.ts";

/** The variable that says where the engine is. */
export const ENGINE_VARIABLE = "SVC_CONTAINER_ENGINE";
/** The variable that says where pods find the server's volumes, and the one of their namespace. */
export const VOLUMES_VARIABLE = "SVC_KUBERNETES_VOLUMES";
export const NAMESPACE_VARIABLE = "SVC_KUBERNETES_NAMESPACE";

type Variables = Readonly<Record<string, string | undefined>>;

/** Where an engine is: at a socket, or behind the API of a cluster. */
export type EngineAddress =
  | { readonly kind: "socket"; readonly path: string }
  /** Without a context: that of the pod's account, else the current one of the kubeconfig. */
  | { readonly kind: "kubernetes"; readonly context: string | undefined };

const SOCKET = /^unix:\/\/(\/.+)$/;
const KUBERNETES = /^kubernetes(?::(.{1,200}))?$/;
const CLAIM = /^([a-z\d](?:[a-z\d.-]{0,251}[a-z\d])?):(\/.*)$/;
const IMAGE = /^\w[\w.:/@+-]{0,499}$/;
const NAMESPACE = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;

/**
 * Where the engine is; undefined when there is none, or none is wanted. Throws StartError for a
 * setting that says nothing of the kind.
 */
export function engineAddress(env: Variables, home: string): EngineAddress | undefined {
  const given = env[ENGINE_VARIABLE] ?? "";
  if (given === "off") return undefined;
  if (given !== "") {
    const path = SOCKET.exec(given)?.[1];
    if (path !== undefined) return { kind: "socket", path };
    const kubernetes = KUBERNETES.exec(given);
    if (kubernetes) {
      sharedVolumes(env);
      namespaceOf(env);
      probeImage(env);
      return { kind: "kubernetes", context: kubernetes[1] };
    }
    throw new StartError(
      "setting_invalid",
      `${ENGINE_VARIABLE} is '${given.slice(0, 200)}', which is no address of a container engine.`,
      `For example ${ENGINE_VARIABLE}=unix:///run/podman/podman.sock, kubernetes, kubernetes:CONTEXT, or off.`,
    );
  }
  const usual = [
    SOCKET.exec(env.DOCKER_HOST ?? "")?.[1],
    ...(env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, "podman/podman.sock")] : []),
    "/run/podman/podman.sock",
    "/var/run/docker.sock",
    join(home, ".docker/run/docker.sock"),
  ];
  const path = usual.find((one) => one !== undefined && existsSync(one));
  if (path !== undefined) return { kind: "socket", path };
  return isInCluster(env) ? { kind: "kubernetes", context: undefined } : undefined;
}

/** The engine. Throws Failure failed_precondition when there is none, with what to install. */
export function findEngine(env: Variables, home: string): ContainerEngine {
  const address = engineAddress(env, home);
  if (address?.kind === "socket") return createDockerEngine(address.path);
  if (address) {
    const { context } = address;
    const isAccount = context === undefined && (env.KUBECONFIG ?? "") === "" && isInCluster(env);
    const access = isAccount ? accountAccess(env) : kubeconfigAccess(kubeconfigFiles(env, home), env, context);
    const image = probeImage(env);
    return createKubernetesEngine(
      { ...access, namespace: namespaceOf(env) ?? access.namespace },
      { volumes: sharedVolumes(env), ...(image !== undefined && { probeImage: image }) },
    );
  }
  const isOff = env[ENGINE_VARIABLE] === "off";
  throw new Failure("failed_precondition", `This server has no container engine${isOff ? `: ${ENGINE_VARIABLE} is off` : ""}.`, {
    hint:
      "On its machine, install Podman and start its socket (`systemctl enable --now podman.socket`), or Docker; a socket elsewhere is named by " +
      `${ENGINE_VARIABLE}=unix:///path/to/socket, and a Kubernetes cluster by ${ENGINE_VARIABLE}=kubernetes.`,
  });
}

/** Where pods find the server's volumes; undefined = nowhere. Throws StartError. */
function sharedVolumes(env: Variables): SharedVolumes | undefined {
  const given = env[VOLUMES_VARIABLE] ?? "";
  if (given === "") return undefined;
  const [, claim, folder] = CLAIM.exec(given) ?? [];
  if (claim !== undefined && folder !== undefined) return { claim, folder };
  throw new StartError(
    "setting_invalid",
    `${VOLUMES_VARIABLE} is '${given.slice(0, 200)}', which is no claim with the folder where this server has it.`,
    `For example ${VOLUMES_VARIABLE}=svc-volumes:/data/volumes.`,
  );
}

/** The image of what looks at networks; undefined = the usual one. Throws StartError. */
function probeImage(env: Variables): string | undefined {
  const given = env[PROBE_VARIABLE] ?? "";
  if (given === "" || IMAGE.test(given)) return given || undefined;
  throw new StartError(
    "setting_invalid",
    `${PROBE_VARIABLE} is '${given.slice(0, 200)}', which is no image.`,
    `For example ${PROBE_VARIABLE}=registry.example.com/busybox:1.36.`,
  );
}

/** The namespace of pods; undefined = the context's. Throws StartError. */
function namespaceOf(env: Variables): string | undefined {
  const given = env[NAMESPACE_VARIABLE] ?? "";
  if (given === "" || NAMESPACE.test(given)) return given || undefined;
  throw new StartError("setting_invalid", `${NAMESPACE_VARIABLE} is '${given.slice(0, 200)}', which is no name of a namespace.`);
}
