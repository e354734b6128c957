/** Comparison of a graph with the one that it would replace. */

import type { DeploymentDiff } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { GraphDecoder } from "../../domain/graph-bytes.ts";
import { diffGraphs, resolversIn, without } from "../../domain/graph-diff.ts";
import type { GraphStore } from "../stores/metadata/graphs.ts";
import type { ResolverKey, VersionStore } from "../stores/metadata/versions.ts";

/**
 * The changes from the deployment `base` to the graph `after`; when `base` is undefined, everything
 * is added. `known` is the graph of `base` where it is in memory; `decode` decodes it where not.
 */
export async function compareWithLive(
  metadata: GraphStore & VersionStore,
  environmentId: string,
  base: string | undefined,
  after: Graph,
  decode: GraphDecoder,
  known?: Graph,
): Promise<DeploymentDiff> {
  const before = known ?? (base === undefined ? undefined : await storedGraph(metadata, base, decode));
  const versionsOf = (resolvers: readonly ResolverKey[]) => metadata.resolverVersions(environmentId, resolvers);
  const [olds, news] = [before ? resolversIn(before) : [], resolversIn(after)];
  const diff = diffGraphs(before, after, {
    before: await versionsOf(without(olds, news)),
    after: await versionsOf(without(news, olds)),
  });
  diff.baseDeploymentId = base ?? "";
  return diff;
}

async function storedGraph(metadata: GraphStore, id: string, decode: GraphDecoder): Promise<Graph | undefined> {
  const bytes = await metadata.graph(id);
  return bytes && decode(bytes);
}
