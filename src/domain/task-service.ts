/**
 * How a resource group runs its tasks: the settings of its service `task`. Other settings that
 * stand there are kept, and mean nothing to this server.
 */

import { variablesProblem } from "./environment-variables.ts";
import { isJsonObject, type JsonObject, member } from "./json-value.ts";
import { memoryLimitBytes, memoryLimitProblem, replicasProblem, serviceSettings } from "./service-settings.ts";

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
const MAX_VENV = 100;

/** The settings of a group, which has no problem. */
export function taskService(group: JsonObject): TaskService {
  const settings = serviceSettings(group, TASK_SERVICE) as JsonObject | undefined;
  if (settings === undefined) return { atOnce: undefined, memoryLimitBytes: undefined, venv: "", variables: {} };
  return {
    atOnce: member(settings, "replicas") as number | undefined,
    memoryLimitBytes: memoryLimitBytes(settings),
    venv: (member(settings, "venv") ?? "") as string,
    variables: (member(settings, "additional_env_vars") ?? {}) as Record<string, string>,
  };
}

/** What is wrong with the settings of a group, with its key; undefined when nothing is. */
export function taskServiceProblem(group: JsonObject): string | undefined {
  const settings = serviceSettings(group, TASK_SERVICE);
  const key = `services.${TASK_SERVICE}`;
  if (settings === undefined) return undefined;
  if (!isJsonObject(settings)) return `${key}: expected keys and values`;
  const problem = replicasProblem(settings, key, "tasks that run at once", MOST_AT_ONCE) ?? memoryLimitProblem(settings, key);
  if (problem !== undefined) return problem;
  const venv = member(settings, "venv");
  if (venv !== undefined && !(typeof venv === "string" && venv !== "" && venv.length <= MAX_VENV))
    return `${key}.venv: expected the name of a venv of svc.yaml`;
  const variables = member(settings, "additional_env_vars");
  return variables === undefined ? undefined : variablesProblem(variables, `${key}.additional_env_vars`);
}
