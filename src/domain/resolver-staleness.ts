/**
 * `max_staleness` of resolvers: it becomes that of their outputs, as far as feature and class state
 * none (rule 199).
 */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { type Feature, type FeatureSet, type Graph, OutputShape, type Resolver } from "../../gen/svc/v1/graph_pb.ts";
import { formatDuration } from "./duration.ts";
import { finding } from "./finding.ts";
import { durationToMs } from "./proto-time.ts";
import { TWO_STALENESSES } from "./rules/resolvers.ts";
import type { RuleProblem } from "./rules/rule.ts";

/** The feature classes of a graph with the staleness that resolvers give their features. */
export interface SettledStaleness {
  /** Those of the graph, copied where a feature of theirs has another staleness now. */
  readonly featureSets: FeatureSet[];
  readonly diagnostics: Diagnostic[];
}

/** Settles the staleness of the outputs of all resolvers; nothing of the graph is changed. */
export function settleStaleness({ featureSets, resolvers }: Pick<Graph, "featureSets" | "resolvers">): SettledStaleness {
  const stating = resolvers.filter(({ maxStaleness }) => maxStaleness !== undefined);
  if (stating.length === 0) return { featureSets, diagnostics: [] };
  const features = new Map(featureSets.flatMap((set) => set.features.map((feature) => [feature.fqn, feature] as const)));
  const given = new Map<string, Resolver>();
  const diagnostics: Diagnostic[] = [];
  for (const resolver of stating) {
    const add = (problem: RuleProblem, related: Feature | Resolver | undefined = undefined): void => {
      const place = related && ("maxStalenessSpan" in related ? related.maxStalenessSpan : undefined);
      const span = place ?? related?.span;
      const details = span ? { related: [{ span, message: "the other one" }] } : {};
      diagnostics.push(finding(problem, resolver.maxStalenessSpan ?? resolver.span, details));
    };
    const [own, name] = [stalenessOf(resolver), resolver.fqn];
    if (resolver.outputShape === OutputShape.RELATION) add(TWO_STALENESSES.ofRelation({ resolver: name, relation: resolver.relation }));
    else if (resolver.body.case === "sql" && resolver.body.value.star) add(TWO_STALENESSES.ofStar());
    else
      for (const fqn of resolver.outputs) {
        const feature = features.get(fqn);
        if (feature?.kind.case !== "scalar" || feature.kind.value.primary) continue;
        const rival = given.get(fqn);
        if (feature.maxStaleness && stalenessOf(feature) !== own)
          add(TWO_STALENESSES.ofFeature({ resolver: name, own: shown(resolver), feature: fqn, other: shown(feature) }), feature);
        else if (rival && stalenessOf(rival) !== own)
          add(
            TWO_STALENESSES.ofResolver({ resolver: name, own: shown(resolver), rival: rival.fqn, other: shown(rival), feature: fqn }),
            rival,
          );
        else if (!rival) given.set(fqn, resolver);
      }
  }
  return { featureSets: featureSets.map((set) => settled(set, given)), diagnostics };
}

function settled(set: FeatureSet, given: ReadonlyMap<string, Resolver>): FeatureSet {
  if (!set.features.some(({ fqn, maxStaleness }) => !maxStaleness && given.has(fqn))) return set;
  const features = set.features.map((feature) => {
    const maxStaleness = feature.maxStaleness ?? given.get(feature.fqn)?.maxStaleness;
    return maxStaleness ? { ...feature, maxStaleness } : feature;
  });
  return { ...set, features };
}

function stalenessOf({ maxStaleness }: Feature | Resolver): number {
  return maxStaleness ? durationToMs(maxStaleness) : 0;
}

function shown(stating: Feature | Resolver): string {
  return formatDuration(stalenessOf(stating));
}
