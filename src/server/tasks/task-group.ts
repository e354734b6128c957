/** The resource groups of an environment's configuration, as tasks run in them. */

import { didYouMean } from "../../domain/closest.ts";
import { DEFAULT_GROUP, groupNames, resourceGroup } from "../../domain/environment-config.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { MOST_AT_ONCE, type TaskService, taskService, taskServiceProblem } from "../../domain/task-service.ts";
import { Failure } from "../failure.ts";

/** The spec config of an environment. */
export type Specs = (environmentId: string) => Promise<JsonObject>;

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
  const group = resourceGroup(specs, name);
  if (!group) {
    const known = groupNames(specs);
    throw new Failure("invalid_argument", `The environment has no resource group '${name.slice(0, 100)}'.`, {
      hint: didYouMean(name, new Set(known)) || `It has ${known.join(", ")}; \`svc environment update\` adds others.`,
    });
  }
  // What older versions recorded was not looked at.
  const problem = taskServiceProblem(group);
  if (problem !== undefined)
    throw new Failure("failed_precondition", `The settings of resource group '${name}' cannot be used: ${problem}.`, {
      hint: "Set them anew with `svc environment patch`.",
    });
  const service = taskService(group);
  return { ...service, name, atOnce: service.atOnce ?? (name === DEFAULT_GROUP ? MOST_AT_ONCE : 1) };
}
