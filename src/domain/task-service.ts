/**
 * How a resource group runs its tasks: the settings of its service `task`. Other settings that
 * stand there are kept, and mean nothing to this server.
 */

import { variablesProblem } from "./environment-variables.ts";
import { isJsonObject, type Json, type JsonObject, member } from "./json-value.ts";
import { quantityValue } from "./quantity.ts";

/** The settings. */
export interface TaskService {
  /** Tasks that run at once; undefined = it is not stated. */
  readonly atOnce: number | undefined;
  /** Cap on the address space of a task; undefined = no other than the server's. */
  readonly memoryLimitBytes: number | undefined;
  /** Venv of tasks that are asked for without one; empty = the environment's own requirements. */
  readonly venv: string;
  /** Environment variables beside those of all code of the environment. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The name of the service. */
export const TASK_SERVICE = "task";
/** Most tasks of a group that run at once. */
export const MOST_AT_ONCE = 16;
/** Address space that an interpreter with its threads needs to start, approximately. */
const LEAST_MEMORY = 256 * 1024 ** 2;
const MAX_VENV = 100;

/** The settings of a group, which has no problem. */
export function taskService(group: JsonObject): TaskService {
  const settings = settingsOf(group) as JsonObject | undefined;
  if (settings === undefined) return { atOnce: undefined, memoryLimitBytes: undefined, venv: "", variables: {} };
  const limit = memoryLimit(settings);
  return {
    atOnce: member(settings, "replicas") as number | undefined,
    memoryLimitBytes: typeof limit === "string" ? quantityValue(limit) : undefined,
    venv: (member(settings, "venv") ?? "") as string,
    variables: (member(settings, "additional_env_vars") ?? {}) as Record<string, string>,
  };
}

/** The settings of a group that are not those of tasks, without its name. */
export function withoutTaskService({ resource_group_name: _, services, ...others }: JsonObject): JsonObject {
  if (services === undefined || !isJsonObject(services)) return services === undefined ? others : { ...others, services };
  const { [TASK_SERVICE]: _task, ...rest } = services;
  return Object.keys(rest).length === 0 ? others : { ...others, services: rest };
}

/** What is wrong with the settings of a group, with its key; undefined when nothing is. */
export function taskServiceProblem(group: JsonObject): string | undefined {
  const settings = settingsOf(group);
  const key = `services.${TASK_SERVICE}`;
  if (settings === undefined) return undefined;
  if (!isJsonObject(settings)) return `${key}: expected keys and values`;
  const replicas = member(settings, "replicas");
  if (replicas !== undefined && !(Number.isInteger(replicas) && (replicas as number) >= 1 && (replicas as number) <= MOST_AT_ONCE))
    return `${key}.replicas: expected the number of tasks that run at once, 1 to ${MOST_AT_ONCE}`;
  const limit = memoryLimit(settings);
  const bytes = typeof limit === "string" ? quantityValue(limit) : undefined;
  if (limit !== undefined && !(bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= LEAST_MEMORY))
    return `${key}.memory.limits: expected a number of bytes of at least 256Mi, such as 2Gi`;
  const venv = member(settings, "venv");
  if (venv !== undefined && !(typeof venv === "string" && venv !== "" && venv.length <= MAX_VENV))
    return `${key}.venv: expected the name of a venv of svc.yaml`;
  const variables = member(settings, "additional_env_vars");
  return variables === undefined ? undefined : variablesProblem(variables, `${key}.additional_env_vars`);
}

function settingsOf(group: JsonObject): Json | undefined {
  const services = member(group, "services");
  return isJsonObject(services) ? member(services, TASK_SERVICE) : undefined;
}

function memoryLimit(settings: JsonObject): Json | undefined {
  const memory = member(settings, "memory");
  if (memory === undefined) return undefined;
  return isJsonObject(memory) ? member(memory, "limits") : memory;
}
