/** The resource groups of an environment's configuration, as workers and jobs run in them. */

import { didYouMean } from "../../domain/closest.ts";
import { DEFAULT_GROUP, groupNames, resourceGroup } from "../../domain/environment-config.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { type EnvironmentGroups, groupProblem } from "../../domain/resource-groups.ts";
import { serviceSettings } from "../../domain/service-settings.ts";
import type { WorkerContainer } from "../../domain/worker-container.ts";
import { addressSpace, containerOf, WORKER_SERVICE, workerService } from "../../domain/worker-service.ts";
import { Failure } from "../failure.ts";

/** The spec config of an environment. */
export type Specs = (environmentId: string) => Promise<JsonObject>;

/** How the workers of a group are started. */
export interface WorkerGroup {
  readonly name: string;
  /** Workers of each set of requirements; undefined = as many as the server has. */
  readonly replicas: number | undefined;
  /** Cap on the address space of a worker that is no container; undefined = the server's alone. */
  readonly memoryLimitBytes: number | undefined;
  /** Environment variables beside those of all code of the environment. */
  readonly variables: Readonly<Record<string, string>>;
  readonly container: WorkerContainer;
}

/** A group of a spec config. Throws Failure invalid_argument for one that there is not. */
export function requireGroup(specs: JsonObject, name: string): JsonObject {
  const group = resourceGroup(specs, name);
  if (group) return group;
  const known = groupNames(specs);
  throw new Failure("invalid_argument", `The environment has no resource group '${name.slice(0, 100)}'.`, {
    hint: didYouMean(name, new Set(known)) || `It has ${known.join(", ")}; \`svc environment update\` adds others.`,
  });
}

/** The slots that jobs of a group share: as many run at once as it has workers. Throws Failure. */
export function jobSlots(specs: JsonObject, name: string, { kind, environmentId, usual }: GroupedJobs): { name: string; slots: number } {
  return { name: `${kind}/${environmentId}/${name}`, slots: workerService(requireGroup(specs, name)).replicas ?? usual };
}

/** Jobs of one kind that share the slots of a group. */
export interface GroupedJobs {
  readonly kind: string;
  readonly environmentId: string;
  /** Workers of a group that does not say how many. */
  readonly usual: number;
}

/** How workers of a group are started, or why none are, as a sentence without its end. */
export function workersOf(groups: EnvironmentGroups, name: string): WorkerGroup | { readonly problem: string } {
  if (name === DEFAULT_GROUP) return usualWorkers(groups);
  const problem = groupProblem(groups, name);
  return problem === undefined ? startedAs(groups, name, resourceGroup(groups.specs, name)) : { problem };
}

/**
 * How workers in no group are started. Settings that cannot be used count for nothing: they were
 * recorded by versions that did not look at them.
 */
export function usualWorkers(groups: EnvironmentGroups): WorkerGroup {
  const isSound = groupProblem(groups, DEFAULT_GROUP) === undefined;
  return startedAs(groups, DEFAULT_GROUP, isSound ? resourceGroup(groups.specs, DEFAULT_GROUP) : undefined);
}

function startedAs({ container }: EnvironmentGroups, name: string, group: JsonObject = {}): WorkerGroup {
  const service = workerService(group);
  const { replicas, variables } = service;
  return { name, replicas, variables, memoryLimitBytes: addressSpace(service), container: containerOf(container, service) };
}

/** What the groups say of workers, as text: other workers are started when it changes. */
export function groupsText({ specs }: EnvironmentGroups): string {
  const said = groupNames(specs).map((name) => [name, serviceSettings(resourceGroup(specs, name) ?? {}, WORKER_SERVICE) ?? null]);
  return JSON.stringify(said);
}
