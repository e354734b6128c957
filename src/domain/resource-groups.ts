/** The resource groups that definitions of a project name, and whether an environment has them. */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "./closest.ts";
import { DEFAULT_GROUP, groupNames, resourceGroup } from "./environment-config.ts";
import { finding } from "./finding.ts";
import { isInEnvironment } from "./in-environment.ts";
import type { JsonObject } from "./json-value.ts";
import { UNKNOWN_RESOURCE_GROUP } from "./rules/project.ts";
import type { WorkerContainer } from "./worker-container.ts";
import { containerProblem, workerService, workerServiceProblem } from "./worker-service.ts";

/** What an environment says of its resource groups. */
export interface EnvironmentGroups {
  /** Its spec config. */
  readonly specs: JsonObject;
  /** The containers of its workers. */
  readonly container: WorkerContainer;
}

/** Why nothing can run in a group, as a sentence without its end; undefined = it can. */
export function groupProblem({ specs, container }: EnvironmentGroups, name: string): string | undefined {
  const group = resourceGroup(specs, name);
  if (!group) {
    const known = groupNames(specs);
    return `the environment has no resource group '${name.slice(0, 100)}': ${didYouMean(name, known) || `it has ${known.join(", ")}`}`;
  }
  // What older versions recorded was not looked at.
  const problem = workerServiceProblem(group) ?? containerProblem(container, workerService(group));
  return problem && `the settings of resource group '${name}' cannot be used: ${problem}`;
}

/**
 * Findings 209: resource groups that resolvers and scheduled queries of an environment name, and in
 * which nothing can run there.
 */
export function groupFindings(graph: Graph, groups: EnvironmentGroups, environmentName: string): Diagnostic[] {
  const { resolvers, scheduledQueries, streamResolvers } = graph;
  const users = [
    ...[...resolvers, ...streamResolvers]
      .filter(({ environments }) => isInEnvironment(environments, environmentName))
      .map(({ fqn, ...one }) => ({ ...one, what: `the resolver '${fqn}'` })),
    ...scheduledQueries.map(({ name, ...one }) => ({ ...one, what: `the scheduled query '${name}'` })),
  ];
  return users.flatMap(({ resourceGroup: name, span, what }) => {
    const problem = name === "" || name === DEFAULT_GROUP ? undefined : groupProblem(groups, name);
    return problem === undefined ? [] : [finding(UNKNOWN_RESOURCE_GROUP.unusable({ what, group: name, problem }), span)];
  });
}
