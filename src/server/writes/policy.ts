/** Which values of queries go to the offline store. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { columnTypeOf } from "../stores/offline/column.ts";
import type { FeatureTable } from "../stores/offline/store.ts";

/** What may be stored. */
export interface WritePolicy {
  /** Whether values of a scalar feature go to the offline store (`store_offline`). */
  storeOffline(fqn: string): boolean;
}

/** Every value is stored. */
export const STORE_EVERYTHING: WritePolicy = { storeOffline: () => true };

/** The facts of a deployment that the policy depends on. */
export interface WrittenDeployment {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly graph: Graph;
  /** Id and internal version of every scalar feature, by FQN. */
  readonly identities: ReadonlyMap<string, { readonly id: number; readonly internalVersion: number }>;
}

/** The tables of the features whose values are stored, by feature id. A branch stores nothing offline: its values would mix with the environment's. */
export function offlineTables(deployment: WrittenDeployment, policy: WritePolicy): ReadonlyMap<number, FeatureTable> {
  const tables = new Map<number, FeatureTable>();
  if (deployment.branch !== "") return tables;
  for (const { namespace, features } of deployment.graph.featureSets)
    for (const { fqn, kind } of features) {
      const identity = deployment.identities.get(fqn);
      if (kind.case !== "scalar" || !kind.value.dtype || !identity || !policy.storeOffline(fqn)) continue;
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
