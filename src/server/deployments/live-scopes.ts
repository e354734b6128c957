/**
 * An in-memory table of the deployments that answer the queries of each scope, which every query
 * looks up first. The metadata store holds the truth, and `nodes/follow.ts` keeps the table in step
 * with it.
 */

export { branchOf, onlineScope } from "../stores/online/scope.ts";

import type { LivePointer } from "../stores/metadata/deployments.ts";
import { isShared, isWarm, leadingDeployment, routeOf, type TrafficRoute, type TrafficTags } from "./traffic-rules.ts";

/** A deployment that answers queries of an environment or a branch, or may have to at once. */
export interface ServingDeployment {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
}

/** A change of the table. */
export interface LiveChange {
  /** Deployments that began to serve. */
  readonly begun: readonly ServingDeployment[];
  /** Ids of deployments that serve no longer. */
  readonly ended: readonly string[];
}

/** The traffic of an environment. */
export interface EnvironmentTraffic {
  readonly environmentId: string;
  readonly tags: TrafficTags;
}

/** Deployments that serve, by environment and branch (empty = the environment's own). */
export interface LiveScopes {
  /** The live deployment; where queries are shared by weights, that of the most weight. */
  get(environmentId: string, branch: string): string | undefined;
  /** How an environment's queries are shared; undefined = the live deployment answers all. */
  route(environmentId: string): TrafficRoute | undefined;
  /** The tags of an environment that were given weights. */
  traffic(environmentId: string): TrafficTags;
  /** Deployments that are to run: live ones, and those of tags with a weight. */
  serving(): readonly ServingDeployment[];
  /** Whether a deployment is among those that are to run. */
  serves(id: string): boolean;
  /** Whether a deployment answers queries of its scope. */
  answers(id: string): boolean;
  /** Replaces the table by what is stored, and returns what changed. */
  replace(pointers: readonly LivePointer[], traffic: readonly EnvironmentTraffic[]): LiveChange;
}

interface Table {
  readonly live: ReadonlyMap<string, string>;
  readonly traffic: ReadonlyMap<string, TrafficTags>;
  readonly routes: ReadonlyMap<string, TrafficRoute>;
  readonly serving: ReadonlyMap<string, ServingDeployment>;
  readonly answering: ReadonlySet<string>;
}

const keyOf = (environmentId: string, branch: string): string => `${environmentId}/${branch}`;

function tableOf(pointers: readonly LivePointer[], traffic: readonly EnvironmentTraffic[]): Table {
  const live = new Map<string, string>();
  const routes = new Map<string, TrafficRoute>();
  const serving = new Map<string, ServingDeployment>();
  const answering = new Set<string>();
  const shared = new Set<string>();
  for (const { environmentId, tags } of traffic) {
    const route = routeOf(tags);
    if (route) routes.set(environmentId, route);
    for (const one of tags) if (isWarm(one)) serving.set(one.deploymentId, { id: one.deploymentId, environmentId, branch: "" });
    for (const { deploymentId, weight } of tags) if (weight) answering.add(deploymentId);
    if (!isShared(tags)) continue;
    shared.add(environmentId);
    live.set(keyOf(environmentId, ""), leadingDeployment(tags) as string);
  }
  for (const { environmentId, branch, deploymentId } of pointers) {
    if (branch === "" && shared.has(environmentId)) continue;
    live.set(keyOf(environmentId, branch), deploymentId);
    serving.set(deploymentId, { id: deploymentId, environmentId, branch });
    answering.add(deploymentId);
  }
  const tags = new Map(traffic.map((one) => [one.environmentId, one.tags]));
  return { live, traffic: tags, routes, serving, answering };
}

/** Makes the table of what is stored. */
export function createLiveScopes(pointers: readonly LivePointer[], traffic: readonly EnvironmentTraffic[]): LiveScopes {
  let table = tableOf(pointers, traffic);
  return {
    get: (environmentId, branch) => table.live.get(keyOf(environmentId, branch)),
    route: (environmentId) => (table.routes.size === 0 ? undefined : table.routes.get(environmentId)),
    traffic: (environmentId) => table.traffic.get(environmentId) ?? [],
    serving: () => [...table.serving.values()],
    serves: (id) => table.serving.has(id),
    answers: (id) => table.answering.has(id),
    replace(...stored) {
      const before = table;
      table = tableOf(...stored);
      return {
        begun: [...table.serving.values()].filter(({ id }) => !before.serving.has(id)),
        ended: [...before.serving.keys()].filter((id) => !table.serving.has(id)),
      };
    },
  };
}
