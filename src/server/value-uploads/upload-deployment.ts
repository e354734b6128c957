/** The deployment that uploads are checked against, as it is now. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { identitiesOf } from "../deployments/feature-keys.ts";
import { buildGraphIndex } from "../query/graph/graph-index.ts";
import type { FeatureIdentity, VersionStore } from "../stores/metadata/versions.ts";
import { longestStaleness, offlineVersions } from "../writes/policy.ts";
import type { UploadDeployment } from "./upload-plan.ts";

/** Which deployment, and where it is. */
export interface DeploymentPlace {
  readonly deploymentId: string;
  readonly environmentId: string;
  readonly environmentName: string;
  /** Empty = the environment's own. */
  readonly branch: string;
}

/** A deployment with the versions of its features. */
export interface VersionedDeployment extends UploadDeployment {
  /** The versions, to be compared with those of another time. */
  readonly versions: string;
  readonly graph: Graph;
}

/**
 * Reads deployments with the versions of their features that are in use, and keeps the last ones.
 */
export function createUploadDeployments(options: {
  readonly metadata: Pick<VersionStore, "featureIdentities">;
  readonly graphOf: (deploymentId: string) => Promise<Graph>;
  readonly now: () => number;
}): (place: DeploymentPlace) => Promise<VersionedDeployment> {
  const { metadata, graphOf, now } = options;
  const kept = new Map<string, { readonly graph: Graph; readonly deployment: VersionedDeployment }>();

  const versioned = (graph: Graph, place: DeploymentPlace, identities: ReadonlyMap<string, FeatureIdentity>, versions: string) => {
    const { branch, deploymentId: id, environmentId, environmentName } = place;
    const featureIds = new Map([...identities].map(([fqn, identity]) => [fqn, identity.id]));
    return {
      ...{ versions, graph },
      index: buildGraphIndex(graph, { environmentName, featureIds, sources: [] }),
      offline: offlineVersions({ id, environmentId, branch, graph, identities }),
      staleness: longestStaleness(graph, identities),
    };
  };

  return async (place) => {
    const before = kept.get(place.deploymentId);
    const graph = before?.graph ?? (await graphOf(place.deploymentId));
    const identities = await identitiesOf(metadata, place.environmentId, graph, now());
    const versions = JSON.stringify([...identities].map(([fqn, { id }]) => [fqn, id]));
    if (before?.deployment.versions === versions) return before.deployment;
    const deployment = versioned(graph, place, identities, versions);
    kept.delete(place.deploymentId);
    kept.set(place.deploymentId, { graph, deployment });
    for (const [oldest] of kept) if (kept.size > MOST_KEPT) kept.delete(oldest);
    return deployment;
  };
}

/** Deployments of which the tables are kept. */
const MOST_KEPT = 4;
