/** Which values of queries go to the offline store. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { columnTypeOf } from "../stores/offline/column.ts";
import type { FeatureTable } from "../stores/offline/store.ts";

/** The facts of a deployment that this depends on. */
export interface WrittenDeployment {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly graph: Graph;
  /** Id and internal version of every scalar feature, by FQN. */
  readonly identities: ReadonlyMap<string, { readonly id: number; readonly internalVersion: number }>;
}

/**
 * The tables of the features whose values are stored, by feature id: of all that do not say `store_offline=False`. A branch stores nothing offline: its values would mix
 * with the environment's.
 */
export function offlineTables(deployment: WrittenDeployment): ReadonlyMap<number, FeatureTable> {
  const tables = new Map<number, FeatureTable>();
  if (deployment.branch !== "") return tables;
  for (const { namespace, features } of deployment.graph.featureSets)
    for (const { fqn, kind } of features) {
      const identity = deployment.identities.get(fqn);
      if (kind.case !== "scalar" || !kind.value.dtype || !identity || kind.value.storeOffline === false) continue;
      tables.set(identity.id, {
        featureId: identity.id,
        environmentId: deployment.environmentId,
        namespace,
        name: fqn.slice(namespace.length + 1),
        internalVersion: identity.internalVersion,
        type: columnTypeOf(kind.value.dtype),
      });
    }
  return tables;
}
