/**
 * GraphService: the features, resolvers and named queries of a deployment, one by one and as a
 * lineage.
 */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { Span } from "../../../../gen/svc/v1/error_pb.ts";
import {
  type Feature,
  GetFeatureResponseSchema,
  GetGraphResponseSchema,
  GetLineageResponseSchema,
  GetResolverResponseSchema,
  type Graph,
  GraphService,
  ListFeaturesResponseSchema,
  ListNamedQueriesResponseSchema,
  ListResolversResponseSchema,
} from "../../../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import type { DefinitionForm } from "../../../domain/definition-text.ts";
import { numberedName, storedName } from "../../../domain/feature-version.ts";
import { foldClasses, type Lineage, lineageId } from "../../../domain/lineage.ts";
import { findInLineage, partOfLineage } from "../../../domain/lineage-choice.ts";
import { readableName } from "../../../domain/name.ts";
import { allows } from "../../../domain/permissions.ts";
import { providersOf } from "../../../domain/providers.ts";
import { resolveScope } from "../../access/scope.ts";
import { identitiesOf } from "../../deployments/feature-keys.ts";
import { resolverNamed, sinkNamed, streamNamed } from "../../deployments/graph-names.ts";
import { createSourceFiles } from "../../deployments/source-files.ts";
import { Failure } from "../../failure.ts";
import { DRIFT_REFERENCE_MS } from "../../metrics/feature-drift.ts";
import { LruMap } from "../../query/lru.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import {
  directionOf,
  edgeMessage,
  formOf,
  graphLineage,
  nodeMessage,
  providerMessage,
  sourceMessage,
  statisticsMessage,
  usedBy,
  versionMessage,
} from "./graph-details.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Deployments whose lineage is remembered. */
const MOST_LINEAGES = 4;
const NODES = 2_000;
const MOST_NODES = 5_000;
const MOST_EDGES = 20_000;

interface Found {
  readonly id: string;
  readonly environment: EnvironmentRecord;
  readonly graph: Graph;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata, objects } = platform;
  const sources = createSourceFiles(objects);
  const lineages = new LruMap<Lineage>(MOST_LINEAGES);

  /** The lineage of a deployment, whose graph never changes. */
  const lineageOf = ({ id, graph }: Found): Lineage => {
    const lineage = lineages.get(id) ?? graphLineage(graph);
    lineages.set(id, lineage);
    return lineage;
  };

  const sourceOf = async (id: string, environmentId: string, span: Span | undefined, form: DefinitionForm) => {
    if (!span) return undefined;
    const deployment = await (await platform.deployments()).find(id, environmentId);
    return sourceMessage(span, form, await sources.read(deployment, span.file));
  };

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
      const identities = await identitiesOf(metadata, environment.id, graph, clock.now());
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
      return create(ListResolversResponseSchema, {
        resolvers: graph.resolvers,
        streamResolvers: graph.streamResolvers,
        sinkResolvers: graph.sinkResolvers,
        deploymentId: id,
      });
    },

    async listNamedQueries({ deploymentId }, context) {
      const { graph, id } = await find(deploymentId, context);
      return create(ListNamedQueriesResponseSchema, { namedQueries: graph.namedQueries, deploymentId: id });
    },

    async getFeature({ deploymentId, fqn: name }, context) {
      const found = await find(deploymentId, context);
      const { id, environment, graph } = found;
      const feature = featureNamed(graph, name);
      const { fqn } = feature;
      const lineage = lineageOf(found);
      const identities = await identitiesOf(metadata, environment.id, graph, clock.now());
      const known = await metadata.knownFeatures(environment.id);
      const now = clock.now();
      const from = Math.floor((now - DAY_MS) / HOUR_MS) * HOUR_MS;
      const hours = await (await platform.metricReader()).featureStats(environment.id, fqn, from - DRIFT_REFERENCE_MS, now);
      const [before, lastDay] = [hours.filter(({ at }) => at < from), hours.filter(({ at }) => at >= from)];
      const statistics = statisticsMessage(lastDay, allows(callerOf(context).permissions, "query.offline"), before);
      const source = await sourceOf(id, environment.id, feature.span, "field");
      return create(GetFeatureResponseSchema, {
        metadata: {
          feature,
          resolvers: producersOf(graph).get(fqn) ?? [],
          internalVersion: identities.get(fqn)?.internalVersion ?? 1,
        },
        deploymentId: id,
        ...(source && { source }),
        providers: providersOf(graph, feature, environment.name).map(providerMessage),
        ...usedBy(lineage, [lineageId("feature", fqn)]),
        versions: known.filter((version) => version.fqn === storedName(feature)).map(versionMessage),
        ...(statistics && { statistics }),
        url: pageAddress(platform, context.requestHeader, environment.id, "feature", { fqn }),
      });
    },

    async getResolver({ deploymentId, resolver: name }, context) {
      const found = await find(deploymentId, context);
      const { id, environment, graph } = found;
      const urlOf = (fqn: string) => pageAddress(platform, context.requestHeader, environment.id, "resolver", { fqn });
      const isResolver = graph.resolvers.some(({ fqn }) => fqn === name || fqn.endsWith(`.${name}`));
      const streamResolver = isResolver ? undefined : streamNamed(graph, name);
      const sinkResolver = isResolver || streamResolver ? undefined : sinkNamed(graph, name);
      const other = streamResolver ?? sinkResolver;
      if (other) {
        const versions = await metadata.resolverVersions(environment.id, [other]);
        const source = await sourceOf(id, environment.id, other.span, "function");
        return create(GetResolverResponseSchema, {
          ...{ deploymentId: id, version: versions.get(other.fqn) ?? 1, url: urlOf(other.fqn) },
          ...(streamResolver && { streamResolver }),
          ...(sinkResolver && { sinkResolver }),
          ...(source && { source }),
        });
      }
      const resolver = resolverNamed(graph, name);
      const versions = await metadata.resolverVersions(environment.id, [resolver]);
      const source = await sourceOf(id, environment.id, resolver.span, formOf(resolver));
      return create(GetResolverResponseSchema, {
        resolver,
        deploymentId: id,
        ...(source && { source }),
        version: versions.get(resolver.fqn) ?? 1,
        url: urlOf(resolver.fqn),
        ...usedBy(
          lineageOf(found),
          resolver.outputs.map((output) => lineageId("feature", output)),
        ),
      });
    },

    async getLineage({ byClass, deploymentId, depth, direction, limit, on }, context) {
      if (depth < 0 || limit < 0 || limit > MOST_NODES)
        throw new Failure("invalid_argument", `depth is 0 or more, and limit at most ${MOST_NODES}.`);
      const found = await find(deploymentId, context);
      const whole = lineageOf(found);
      const chosen = on === "" ? [] : findInLineage(whole, on);
      if (on !== "" && chosen.length === 0) throw nothingNamed(on, whole);
      const lineage = byClass ? foldClasses(whole) : whole;
      const ids = chosen.map(({ id, kind, name }) =>
        byClass && kind === "feature" ? lineageId("class", name.split(".", 1)[0] ?? "") : id,
      );
      const walk = { on: [...new Set(ids)], direction: directionOf(direction), depth: depth || Number.POSITIVE_INFINITY };
      const part = partOfLineage(lineage, on === "" ? undefined : walk, { nodes: limit || NODES, edges: MOST_EDGES });
      return create(GetLineageResponseSchema, {
        nodes: part.nodes.map(nodeMessage),
        edges: part.edges.map(edgeMessage),
        nodesLeftOff: part.nodesLeftOff,
        edgesLeftOff: part.edgesLeftOff,
        chosen: walk.on.slice(0, limit || NODES),
        deploymentId: found.id,
      });
    },
  });
}

/** The feature of an FQN. Throws Failure not_found, or invalid_argument for none. */
function featureNamed(graph: Graph, fqn: string): Feature {
  if (fqn === "") throw new Failure("invalid_argument", "Name the feature.", { hint: "`svc features list` shows them." });
  const features = graph.featureSets.flatMap((set) => set.features);
  const found = features.find((feature) => feature.fqn === fqn || numberedName(feature) === fqn);
  if (found) return found;
  const windows = features.filter(({ kind }) => kind.case === "scalar" && kind.value.windowedBase === fqn);
  if (windows.length > 0)
    throw new Failure("invalid_argument", `'${fqn}' has the windows ${windows.map((window) => readableName(window.fqn)).join(", ")}.`, {
      hint: "Name one of them.",
    });
  const near = didYouMean(
    fqn,
    features.map((feature) => feature.fqn),
  );
  throw new Failure("not_found", `There is no feature '${fqn.slice(0, 200)}' in the deployment${near ? `; ${near}` : "."}`, {
    hint: "`svc features list` shows them.",
  });
}

function nothingNamed(name: string, { nodes }: Lineage): Failure {
  const near = didYouMean(
    name,
    [...nodes.values()].map((node) => node.name),
  );
  return new Failure("not_found", `Nothing in the deployment is called '${name.slice(0, 200)}'${near ? `; ${near}` : "."}`, {
    hint: "`svc features list` and `svc resolvers` show what there is.",
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
