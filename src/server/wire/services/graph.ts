/** GraphService: the features, resolvers and named queries of a deployment. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  GetGraphResponseSchema,
  type Graph,
  GraphService,
  ListFeaturesResponseSchema,
  ListNamedQueriesResponseSchema,
  ListResolversResponseSchema,
} from "../../../../gen/svc/v1/graph_pb.ts";
import { resolveScope } from "../../access/scope.ts";
import { featureKeys } from "../../deployments/feature-keys.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

interface Found {
  readonly id: string;
  readonly environment: EnvironmentRecord;
  readonly graph: Graph;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata } = platform;

  const find = async (deploymentId: string, context: HandlerContext): Promise<Found> => {
    const scope = await resolveScope(environments, callerOf(context), context.requestHeader);
    const deployments = await platform.deployments();
    const id = await deployments.resolve(deploymentId === "" ? scope : { ...scope, deploymentId });
    return { id, environment: scope.environment, graph: await deployments.graph(id) };
  };

  router.service(GraphService, {
    async getGraph({ deploymentId }, context) {
      const { id, graph } = await find(deploymentId, context);
      return create(GetGraphResponseSchema, { graph, deploymentId: id });
    },

    async listFeatures({ deploymentId }, context) {
      const { id, environment, graph } = await find(deploymentId, context);
      const identities = await metadata.featureIdentities(environment.id, featureKeys(graph), clock.now());
      const producers = producersOf(graph);
      const features = graph.featureSets
        .flatMap((set) => set.features)
        .sort((a, b) => (a.fqn < b.fqn ? -1 : 1))
        .map((feature) => ({
          feature,
          resolvers: producers.get(feature.fqn) ?? [],
          internalVersion: identities.get(feature.fqn)?.internalVersion ?? 1,
        }));
      const deployment = await metadata.deployment(id);
      return create(ListFeaturesResponseSchema, {
        features,
        deploymentId: id,
        environmentId: environment.id,
        projectName: deployment?.projectName || environment.projectName,
      });
    },

    async listResolvers({ deploymentId }, context) {
      const { id, graph } = await find(deploymentId, context);
      return create(ListResolversResponseSchema, { resolvers: graph.resolvers, deploymentId: id });
    },

    async listNamedQueries({ deploymentId }, context) {
      const { graph } = await find(deploymentId, context);
      return create(ListNamedQueriesResponseSchema, { namedQueries: graph.namedQueries });
    },
  });
}

function producersOf(graph: Graph): Map<string, string[]> {
  const producers = new Map<string, string[]>();
  for (const { fqn, outputs } of graph.resolvers) {
    for (const output of outputs) {
      const known = producers.get(output);
      if (known) known.push(fqn);
      else producers.set(output, [fqn]);
    }
  }
  return producers;
}
