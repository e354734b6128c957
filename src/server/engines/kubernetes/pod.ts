/**
 * Pods as Kubernetes describes them, as far as they are read here, and what they tell of their
 * program.
 */

import { isElsewhere } from "../../../domain/ip-address.ts";
import type { EngineContainer } from "../container-engine.ts";
import { wordsIn } from "./kubernetes-api.ts";

/** The state of a container of a pod. */
interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string | null;
    readonly finishedAt?: string | null;
  };
}

/** A pod. */
export interface Pod {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly { readonly image?: string; readonly ports?: readonly { readonly containerPort: number }[] }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly { readonly state?: ContainerState; readonly ready?: boolean; readonly restartCount?: number }[];
    readonly initContainerStatuses?: readonly { readonly state?: ContainerState }[];
  };
}

/** Annotations with the name and the labels that a container was given. */
export const NAME_ANNOTATION = "svc.dev/name";
export const LABELS_ANNOTATION = "svc.dev/labels";
/** The one container of a pod. */
export const CONTAINER = "main";
/** What runs before it in a pod that is to have no network, and ends once there is none. */
export const NETWORK_PROBE = "network";

/** Why an image is not there; other reasons to wait pass by themselves. */
const NO_IMAGE = ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable"];
const UNSTARTABLE = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"];

/** Whether a pod's program has ended, or will never run. */
export function hasEnded(pod: Pod): boolean {
  const { phase } = pod.status ?? {};
  const isLeaving = pod.metadata?.deletionTimestamp !== undefined && pod.spec?.nodeName === undefined;
  return stateOf(pod).terminated !== undefined || phase === "Failed" || phase === "Succeeded" || isLeaving;
}

/** Whether a pod has a program that runs or has run. */
export function hasStarted(pod: Pod): boolean {
  const { running, terminated } = stateOf(pod);
  return running !== undefined || (terminated !== undefined && !UNSTARTABLE.includes(terminated.reason ?? ""));
}

/** Why a pod's program cannot be started. */
export interface StartFault {
  /** Those of the network are about what runs before the program, to see that there is none. */
  readonly kind: "image" | "program" | "network image" | "network";
  /** Those of its kubelet. */
  readonly words: string;
  /** Of what runs before the program; undefined = it did not end by itself. */
  readonly exitCode?: number | undefined;
}

/** Why a pod's program cannot be started; undefined = nothing is known. */
export function startFault(pod: Pod): StartFault | undefined {
  const { terminated, waiting } = stateOf(pod);
  const probe = pod.status?.initContainerStatuses?.[0]?.state;
  if (probe?.waiting && NO_IMAGE.includes(probe.waiting.reason ?? "")) return { kind: "network image", words: saidOf(probe.waiting) };
  if (probe?.waiting && UNSTARTABLE.includes(probe.waiting.reason ?? "")) return { kind: "network", words: saidOf(probe.waiting) };
  if (probe?.terminated && probe.terminated.exitCode !== 0 && hasEnded(pod))
    return { kind: "network", words: saidOf(probe.terminated), exitCode: probe.terminated.exitCode };
  if (waiting && NO_IMAGE.includes(waiting.reason ?? "")) return { kind: "image", words: saidOf(waiting) };
  if (waiting && UNSTARTABLE.includes(waiting.reason ?? "")) return { kind: "program", words: saidOf(waiting) };
  if (terminated && UNSTARTABLE.includes(terminated.reason ?? "")) return { kind: "program", words: saidOf(terminated) };
  if (hasEnded(pod) && !hasStarted(pod)) return { kind: "program", words: saidOf(pod.status ?? {}) || "its pod ended before it began" };
  return undefined;
}

/**
 * Why no node takes a pod, in the words of the scheduler; empty = one has it, or nothing is known.
 */
export function schedulingWords({ status }: Pod): string {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False" ? saidOf(scheduled) : "";
}

/** A pod as a container of an engine. */
export function containerOf(pod: Pod): EngineContainer {
  const { metadata = {}, spec, status } = pod;
  const { running, terminated, waiting } = stateOf(pod);
  const isOver = hasEnded(pod);
  const startedAt = timeOf(terminated?.startedAt ?? running?.startedAt);
  const endedAt = isOver ? timeOf(terminated?.finishedAt) : undefined;
  const port = spec?.containers?.[0]?.ports?.[0]?.containerPort;
  const isRunning = running !== undefined && !isOver;
  // An address of this machine would have the gateway lead requests to what listens here.
  const host = status?.podIP ?? "";
  return {
    id: metadata.name ?? "",
    name: metadata.annotations?.[NAME_ANNOTATION] ?? metadata.name ?? "",
    labels: labelsOf(pod),
    state: isOver ? "exited" : isRunning ? "running" : "created",
    exitCode: terminated?.exitCode,
    isOutOfMemory: terminated?.reason === "OOMKilled",
    error: errorOf(pod, waiting),
    startedAt,
    endedAt: endedAt === undefined || startedAt === undefined ? endedAt : Math.max(startedAt, endedAt),
    address: isRunning && port !== undefined && isElsewhere(host) ? { host, port } : undefined,
  };
}

/** The exit code of a pod's program; undefined = it did not end by itself. */
export function exitCodeOf(pod: Pod): number | undefined {
  return stateOf(pod).terminated?.exitCode;
}

/** The labels that a container was given, whatever became of them as labels of its pod. */
export function labelsOf({ metadata }: Pod): Readonly<Record<string, string>> {
  try {
    return JSON.parse(metadata?.annotations?.[LABELS_ANNOTATION] ?? "{}") as Readonly<Record<string, string>>;
  } catch {
    return {};
  }
}

function stateOf({ status }: Pod): ContainerState {
  return status?.containerStatuses?.[0]?.state ?? {};
}

function errorOf(pod: Pod, waiting: ContainerState["waiting"]): string {
  const fault = startFault(pod);
  if (fault) return fault.words;
  // A program that ended on its own account needs no words; a pod that was evicted does.
  if (hasEnded(pod)) return pod.status?.reason ? saidOf(pod.status) : "";
  return waiting?.message ? saidOf(waiting) : "";
}

function saidOf({ message, reason }: { readonly message?: string; readonly reason?: string }): string {
  return wordsIn(message || reason);
}

/** A time, which is the year 1970 or absent for none. */
function timeOf(text: string | null | undefined): number | undefined {
  const at = Date.parse(text ?? "");
  return at > 0 ? at : undefined;
}
