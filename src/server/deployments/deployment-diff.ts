/** What a deployment changed against another one. */

import { fromBinary } from "@bufbuild/protobuf";
import type { DeploymentDiff } from "../../../gen/svc/v1/deployment_pb.ts";
import { type Graph, GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { diffGraphs, resolversIn } from "../../domain/graph-diff.ts";
import { Failure } from "../failure.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { GraphStore } from "../stores/metadata/graphs.ts";
import type { VersionStore } from "../stores/metadata/versions.ts";

type Store = DeploymentStore & GraphStore & VersionStore;

/** Deployments of the scope that are looked at for one that was live before. */
const LOOKED_AT = 50;

/**
 * The changes against the deployment `base`, or by default the one of the same scope that was
 * promoted before; everything is added when there was none. Rejects with a Failure: not_found for a
 * base of another environment, failed_precondition while the deployment has no graph.
 */
export async function deploymentDiff(metadata: Store, deployment: DeploymentRecord, base: string): Promise<DeploymentDiff> {
  const { environmentId, id } = deployment;
  const before = base === "" ? await promotedBefore(metadata, deployment) : await metadata.deployment(base);
  if (base !== "" && before?.environmentId !== environmentId)
    throw new Failure("not_found", `There is no deployment ${base} in the environment to compare with.`);
  const [after, old] = await Promise.all([graphOf(metadata, id), before && graphOf(metadata, before.id)]);
  if (!after) throw new Failure("failed_precondition", `The deployment ${id} has no graph: it was not analyzed.`);
  const diff = diffGraphs(old, after, {
    before: await metadata.resolverVersions(environmentId, old ? resolversIn(old) : []),
    after: await metadata.resolverVersions(environmentId, resolversIn(after)),
  });
  for (const change of diff.features) change.feature = undefined;
  diff.baseDeploymentId = before?.id ?? "";
  return diff;
}

async function graphOf(metadata: GraphStore, id: string): Promise<Graph | undefined> {
  const bytes = await metadata.graph(id);
  return bytes && fromBinary(GraphSchema, bytes);
}

async function promotedBefore(
  metadata: DeploymentStore,
  { id, environmentId, branch }: DeploymentRecord,
): Promise<DeploymentRecord | undefined> {
  const before = await metadata.deployments({ environmentId, branch, before: id, limit: LOOKED_AT });
  return before.find(({ promoted }) => promoted);
}
