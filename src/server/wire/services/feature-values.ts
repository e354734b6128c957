/** Changes of stored values, for the services and for plain HTTP. */

import type { DeploymentTarget } from "../../access/scope.ts";
import type { DeletionState } from "../../deletions/deletions.ts";
import { type Selected, type SelectedVersions, type Selection, select, selectVersions } from "../../deletions/selection.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import { Failure } from "../../failure.ts";
import type { BegunVersion, RemovedCounts } from "../../stores/metadata/deletions.ts";
import type { Platform } from "../platform.ts";

/** Features whose versions were ended. */
export interface EndedFeatures {
  /** The versions that they go on with. */
  readonly versions: readonly BegunVersion[];
  readonly state: DeletionState;
}

/** What can be done with stored values. Everything rejects with Failure. */
export interface FeatureValues {
  /** What a selection of rows means in the live deployment of a scope. */
  selected(scope: DeploymentTarget, selection: Partial<Selection> | undefined): Promise<Selected>;
  /** Deletes values of rows, and waits a while until all nodes have done so. */
  deleteRows(scope: DeploymentTarget, selection: Partial<Selection> | undefined): Promise<DeletionState>;
  /** What a selection of features means in an environment, for the end of their versions. */
  selectedVersions(scope: DeploymentTarget, selection: SelectedNames | undefined): Promise<SelectedVersions>;
  /** Ends versions of features, and waits a while until all nodes have done so. */
  endVersions(scope: DeploymentTarget, selection: SelectedNames | undefined, how: { readonly isDropped: boolean }): Promise<EndedFeatures>;
}

/** Features by their names. */
export type SelectedNames = Partial<Pick<Selection, "namespace" | "features">>;

/** What can be done with the stored values of a platform. */
export function featureValues({ approvals, deletions, deployments, metadata }: Platform): FeatureValues {
  const graphOf = async (scope: DeploymentTarget) => {
    const all = await deployments();
    return all.graph(await all.resolve(scope));
  };

  const selected: FeatureValues["selected"] = async (scope, { features = [], keys = [], namespace = "", tags = [] } = {}) =>
    select({ features, keys, namespace, tags }, await graphOf(scope), await metadata.knownFeatures(scope.environment.id));

  const selectedVersions: FeatureValues["selectedVersions"] = async ({ branch, environment }, { features = [], namespace = "" } = {}) => {
    if (branch !== "")
      throw new Failure("invalid_argument", "Features have their versions in the environment and all its branches: name no branch.");
    const graph = await graphOf({ environment, branch, deploymentId: "" });
    return selectVersions({ features, namespace }, featureKeys(graph), await metadata.knownFeatures(environment.id));
  };

  return {
    selected,
    selectedVersions,

    async deleteRows(scope, selection) {
      const { branch, environment } = scope;
      const { rows } = await selected(scope, selection);
      if (branch === "") await (await approvals()).refuseProtected(environment, "nothing was deleted");
      const deleting = await deletions();
      const { id } = await deleting.begin(environment.id, branch, rows);
      return deleting.settled(environment.id, id);
    },

    async endVersions(scope, selection, { isDropped }) {
      const { environment } = scope;
      const { features, relations } = await selectedVersions(scope, selection);
      await (await approvals()).refuseProtected(environment, isDropped ? "nothing was dropped" : "nothing was migrated");
      const deleting = await deletions();
      const what = { environmentId: environment.id, features: [...features, ...relations], isDropped };
      const { id, versions } = await deleting.endVersions(what);
      const named = new Set(features.map(({ fqn }) => fqn));
      return {
        versions: (versions?.begun ?? []).filter(({ fqn }) => named.has(fqn)),
        state: await deleting.settled(environment.id, id),
      };
    },
  };
}

/** What all nodes removed for a deletion up to now. */
export function removedBy({ deletion }: DeletionState): RemovedCounts {
  const removed = Object.values(deletion.removed);
  const sum = (of: keyof RemovedCounts): number => removed.reduce((total, one) => total + one[of], 0);
  return { online: sum("online"), offline: sum("offline"), queries: sum("queries") };
}
