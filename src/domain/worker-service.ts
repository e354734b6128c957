/** How a resource group runs the resolvers that are in it: the settings of its service `worker`. */

import { didYouMean } from "./closest.ts";
import { variablesProblem } from "./environment-variables.ts";
import { isJsonObject, type JsonObject, member } from "./json-value.ts";
import { quantityValue } from "./quantity.ts";
import { memoryLimit, memoryLimitProblem, replicasProblem, serviceSettings } from "./service-settings.ts";
import { imageProblem, type WorkerContainer, workerContainerProblem } from "./worker-container.ts";

/** The settings. */
export interface WorkerService {
  /** Worker processes, of each set of requirements; undefined = as many as the server has. */
  readonly replicas: number | undefined;
  /**
   * Most memory of a worker: its address space, or all of its container, such as `2Gi`; empty = no
   * other limit than the server's, or that of the environment's containers.
   */
  readonly memory: string;
  /** Environment variables beside those of all code of the environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** What differs from the containers of the environment. */
  readonly container: Readonly<Partial<WorkerContainer>>;
}

/** The name of the service. */
export const WORKER_SERVICE = "worker";
/** Most workers of a group. */
const MOST_WORKERS = 64;
const KEYS = ["replicas", "memory", "additional_env_vars", "worker_container"];

/** The settings of a group, which has no problem. */
export function workerService(group: JsonObject): WorkerService {
  const settings = (serviceSettings(group, WORKER_SERVICE) ?? {}) as JsonObject;
  return {
    replicas: member(settings, "replicas") as number | undefined,
    memory: (memoryLimit(settings) ?? "") as string,
    variables: (member(settings, "additional_env_vars") ?? {}) as Record<string, string>,
    container: (member(settings, "worker_container") ?? {}) as Partial<WorkerContainer>,
  };
}

/** The cap on the address space of a worker outside of containers, in bytes; undefined = none. */
export function addressSpace({ memory }: WorkerService): number | undefined {
  return memory === "" ? undefined : quantityValue(memory);
}

/** The containers of a group's workers in an environment. */
export function containerOf(environment: WorkerContainer, { container, memory }: WorkerService): WorkerContainer {
  const own = { ...environment, ...container };
  return own.image === "" || memory === "" ? own : { ...own, memory };
}

/** What is wrong with the containers of a group in its environment; undefined when nothing is. */
export function containerProblem(environment: WorkerContainer, service: WorkerService): string | undefined {
  const problem = imageProblem(containerOf(environment, service));
  return problem && `services.${WORKER_SERVICE}.worker_container: ${problem}, and neither does the environment's worker_container`;
}

/** What is wrong with the settings of a group, with its key; undefined when nothing is. */
export function workerServiceProblem(group: JsonObject): string | undefined {
  const settings = serviceSettings(group, WORKER_SERVICE);
  const key = `services.${WORKER_SERVICE}`;
  if (settings === undefined) return undefined;
  if (!isJsonObject(settings)) return `${key}: expected keys and values`;
  const odd = Object.keys(settings).find((name) => !KEYS.includes(name));
  if (odd !== undefined) return `${key}: there is no '${odd}'; ${didYouMean(odd, KEYS) || `there are ${KEYS.join(", ")}`}`;
  const { memory = null } = settings;
  if (isJsonObject(memory) && Object.keys(memory).some((name) => name !== "limits"))
    return `${key}.memory: there is limits alone, because no worker has memory kept for it`;
  const problem = replicasProblem(settings, key, "workers", MOST_WORKERS) ?? memoryLimitProblem(settings, key);
  if (problem !== undefined) return problem;
  const container = member(settings, "worker_container");
  const containers = `${key}.worker_container`;
  const wrong = container === undefined ? undefined : workerContainerProblem(container, containers);
  if (wrong !== undefined) return wrong;
  if (isJsonObject(container ?? null) && (container as JsonObject).image === "")
    return `${containers}.image: expected an image: a group does not leave the containers of its environment`;
  if (memoryLimit(settings) !== undefined && (container as JsonObject | undefined)?.memory !== undefined)
    return `${key}: memory.limits and worker_container.memory say one thing twice; leave one out`;
  const variables = member(settings, "additional_env_vars");
  return variables === undefined ? undefined : variablesProblem(variables, `${key}.additional_env_vars`);
}
