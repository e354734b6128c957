/** The resource groups of an environment's configuration, as tasks run in them. */

import { DEFAULT_GROUP } from "../../domain/environment-config.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { MOST_AT_ONCE, type TaskService, taskService, taskServiceProblem } from "../../domain/task-service.ts";
import { requireGroup } from "../deployments/worker-groups.ts";
import { Failure } from "../failure.ts";

/** A group and its settings for tasks. */
export interface TaskGroup extends TaskService {
  readonly name: string;
  readonly atOnce: number;
}

/**
 * A group of a spec config. Of one that does not say how many, tasks run one after another; of the
 * default one as many as can. Throws Failure invalid_argument for one that there is not, and
 * failed_precondition for one whose settings are wrong.
 */
export function taskGroup(specs: JsonObject, name = DEFAULT_GROUP): TaskGroup {
  const group = requireGroup(specs, name);
  // What older versions recorded was not looked at.
  const problem = taskServiceProblem(group);
  if (problem !== undefined)
    throw new Failure("failed_precondition", `The settings of resource group '${name}' cannot be used: ${problem}.`, {
      hint: "Set them anew with `svc environment patch`.",
    });
  const service = taskService(group);
  return { ...service, name, atOnce: service.atOnce ?? (name === DEFAULT_GROUP ? MOST_AT_ONCE : 1) };
}
