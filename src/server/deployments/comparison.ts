/** Comparison of a graph with the one that it would replace. */

import { fromBinary } from "@bufbuild/protobuf";
import type { DeploymentDiff } from "../../../gen/svc/v1/deployment_pb.ts";
import { type Graph, GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { diffGraphs } from "../../domain/graph-diff.ts";
import type { GraphStore } from "../stores/metadata/graphs.ts";
import type { VersionStore } from "../stores/metadata/versions.ts";

/**
 * The changes from the deployment `base` to the graph `after`; when `base` is undefined, everything
 * is added. `known` is the graph of `base` where it is in memory.
 */
export async function compareWithLive(
  metadata: GraphStore & VersionStore,
  environmentId: string,
  base: string | undefined,
  after: Graph,
  known?: Graph,
): Promise<DeploymentDiff> {
  const before = known ?? (base === undefined ? undefined : await storedGraph(metadata, base));
  const diff = diffGraphs(before, after, {
    before: before ? await metadata.resolverVersions(environmentId, before.resolvers) : new Map(),
    after: await metadata.resolverVersions(environmentId, after.resolvers),
  });
  diff.baseDeploymentId = base ?? "";
  return diff;
}

async function storedGraph(metadata: GraphStore, id: string): Promise<Graph | undefined> {
  const bytes = await metadata.graph(id);
  return bytes && fromBinary(GraphSchema, bytes);
}
