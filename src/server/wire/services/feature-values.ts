/** Changes of stored values, for the services and for plain HTTP. */

import { storedNames } from "../../../domain/graph-index.ts";
import type { DeploymentTarget } from "../../access/scope.ts";
import type { DeletionState } from "../../deletions/deletions.ts";
import { type Selected, type SelectedVersions, type Selection, select, selectVersions } from "../../deletions/selection.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import { Failure } from "../../failure.ts";
import type { BegunVersion, RemovedCounts } from "../../stores/metadata/deletions.ts";
import type { Platform } from "../platform.ts";
import { type Asking, askApproval } from "./approval-request.ts";

/** Features whose versions were ended. */
export interface EndedFeatures {
  /** The versions that they go on with. */
  readonly versions: readonly BegunVersion[];
  readonly state: DeletionState;
}

/** A change that waits for approval. */
export interface AskedFor {
  readonly approvalId: string;
}

/** What can be done with stored values. Everything rejects with Failure. */
export interface FeatureValues {
  /** What a selection of rows means in the live deployment of a scope. */
  selected(scope: DeploymentTarget, selection: Partial<Selection> | undefined): Promise<Selected>;
  /** Deletes values of rows, and waits a while until all nodes have done so; or asks for it. */
  deleteRows(asking: Asking, scope: DeploymentTarget, selection: Partial<Selection> | undefined): Promise<DeletionState | AskedFor>;
  /** What a selection of features means in an environment, for the end of their versions. */
  selectedVersions(scope: DeploymentTarget, selection: SelectedNames | undefined): Promise<SelectedVersions>;
  /** Ends versions of features, and waits a while until all nodes have done so; or asks for it. */
  endVersions(
    asking: Asking,
    scope: DeploymentTarget,
    selection: SelectedNames | undefined,
    how: { readonly isDropped: boolean },
  ): Promise<EndedFeatures | AskedFor>;
}

/** Features by their names. */
export type SelectedNames = Partial<Pick<Selection, "namespace" | "features">>;

/** What can be done with the stored values of a platform. */
export function featureValues(platform: Platform): FeatureValues {
  const { deletions, deployments, metadata } = platform;
  const graphOf = async (scope: DeploymentTarget) => {
    const all = await deployments();
    return all.graph(await all.resolve(scope));
  };

  const selected: FeatureValues["selected"] = async (scope, { features = [], keys = [], namespace = "", tags = [] } = {}) => {
    const graph = await graphOf(scope);
    return select(
      { features: storedNames(graph, features, namespace), keys, namespace, tags },
      graph,
      await metadata.knownFeatures(scope.environment.id),
    );
  };

  const selectedVersions: FeatureValues["selectedVersions"] = async ({ branch, environment }, { features = [], namespace = "" } = {}) => {
    if (branch !== "")
      throw new Failure("invalid_argument", "Features have their versions in the environment and all its branches: name no branch.");
    const graph = await graphOf({ environment, branch, deploymentId: "" });
    return selectVersions(
      { features: storedNames(graph, features, namespace), namespace },
      featureKeys(graph),
      await metadata.knownFeatures(environment.id),
    );
  };

  return {
    selected,
    selectedVersions,

    async deleteRows(asking, scope, selection) {
      const { branch, deploymentId, environment } = scope;
      const { features, rows } = await selected(scope, selection);
      const deleting = await deletions();
      if (branch === "") {
        const what = { deletionId: deleting.newId(), deploymentId, features, keys: selection?.keys ?? [] };
        const approvalId = await askApproval(platform, asking, environment, { kind: "values.delete", ...what });
        if (approvalId !== undefined) return { approvalId };
      }
      const { id } = await deleting.begin(environment.id, branch, rows);
      return deleting.settled(environment.id, id);
    },

    async endVersions(asking, scope, selection, { isDropped }) {
      const { environment } = scope;
      const { features, relations } = await selectedVersions(scope, selection);
      const deleting = await deletions();
      const approvalId = await askApproval(platform, asking, environment, {
        kind: isDropped ? "values.drop" : "values.migrate",
        deletionId: deleting.newId(),
        features: features.map(({ fqn }) => fqn),
      });
      if (approvalId !== undefined) return { approvalId };
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
export function removedBy({ deletion }: DeletionState): Required<RemovedCounts> {
  const removed = Object.values(deletion.removed);
  const sum = (of: keyof RemovedCounts): number => removed.reduce((total, one) => total + (one[of] ?? 0), 0);
  return { online: sum("online"), offline: sum("offline"), queries: sum("queries"), told: sum("told") };
}
