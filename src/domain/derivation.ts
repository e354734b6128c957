/**
 * What can be computed from what: the AND/OR structure of a graph, without regard to any one query. Goals are features by FQN; a path through
 * relations needs the join keys on its way and the feature at its end.
 */

import { type Feature, type Graph, type Resolver, ResolverKind } from "../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "./graph-index.ts";

/** One need of a consumer. */
export interface Need {
  /** FQN of the feature at the path's end. */
  readonly feature: string;
  /** The path as written. */
  readonly path: string;
  /** Whether the feature is reached through relations, and not one of the root class itself. */
  readonly foreign: boolean;
}

/** A resolver with what it needs for a run. Optional inputs and `now` are no needs. */
export interface Step {
  readonly resolver: Resolver;
  readonly needs: readonly Need[];
  readonly outputs: readonly string[];
}

/** A graph as steps. */
export class Derivation {
  readonly index: GraphIndex;
  readonly steps: readonly Step[];
  /** Steps that give a feature, by FQN. */
  readonly providers = new Map<string, Step[]>();
  /** Classes with a `select *` resolver, which may give any of their values. */
  readonly #starSets = new Set<string>();

  constructor(readonly graph: Graph) {
    this.index = new GraphIndex(graph);
    this.steps = graph.resolvers.map((resolver) => this.#step(resolver));
    for (const step of this.steps)
      for (const output of step.outputs) {
        const known = this.providers.get(output);
        if (known) known.push(step);
        else this.providers.set(output, [step]);
      }
  }

  /** Whether a resolver or a default gives the feature, or a `select *` may. */
  hasProvider(feature: Feature): boolean {
    return this.providers.has(feature.fqn) || hasDefault(feature) || this.#starSets.has(feature.namespace);
  }

  /** Whether a `select *` resolver may give the feature. */
  mayComeFromStar(feature: Feature): boolean {
    return this.#starSets.has(feature.namespace);
  }

  /** Whether the feature is the primary key of its class. */
  isPrimary(fqn: string): boolean {
    const feature = this.index.features.get(fqn);
    return feature?.kind.case === "scalar" && feature.kind.value.primary;
  }

  /** What following a path needs; empty for a path that does not exist (a finding of another rule). */
  needsOf(path: string): Need[] {
    const resolved = this.index.resolvePath(path);
    if (!resolved.found) return [];
    const needs: Need[] = [];
    for (const [position, relation] of resolved.relations.entries()) {
      if (relation.kind.case !== "hasOne") continue;
      for (const key of relation.kind.value.join) needs.push({ feature: key.local, path: key.local, foreign: position > 0 });
    }
    const joined = resolved.relations.at(-1);
    const isJoinKey = joined?.kind.case === "hasOne" && joined.kind.value.join.some((key) => key.foreign === resolved.feature.fqn);
    if (resolved.feature.kind.case === "hasOne")
      needs.push(
        ...resolved.feature.kind.value.join.map((key) => ({ feature: key.local, path: key.local, foreign: joined !== undefined })),
      );
    else if (!isJoinKey) needs.push({ feature: resolved.feature.fqn, path: resolved.path, foreign: joined !== undefined });
    return needs;
  }

  /**
   * The features that can be computed when `given` are known, with the primary keys of all classes, defaults, and what a `select *` may give.
   * `without` is taken to be underivable: a goal that is being worked on does not help itself.
   */
  closure(given: Iterable<string>, options: { without?: string; onlineOnly?: boolean } = {}): Set<string> {
    const derived = new Set(given);
    for (const feature of this.index.features.values())
      if (this.isPrimary(feature.fqn) || hasDefault(feature) || this.#starSets.has(feature.namespace)) derived.add(feature.fqn);
    if (options.without) derived.delete(options.without);
    let waiting = this.steps.filter((step) => !options.onlineOnly || step.resolver.kind !== ResolverKind.OFFLINE);
    for (let before = -1; before !== waiting.length; ) {
      before = waiting.length;
      waiting = waiting.filter((step) => {
        if (!step.needs.every((need) => derived.has(need.feature))) return true;
        for (const output of step.outputs) if (output !== options.without) derived.add(output);
        return false;
      });
    }
    return derived;
  }

  #step(resolver: Resolver): Step {
    const needs = resolver.inputs.flatMap((input) => {
      if (input.kind.case !== "feature" || input.kind.value.optional || input.kind.value.defaultValue) return [];
      return this.needsOf(input.kind.value.path);
    });
    if (resolver.body.case === "sql" && resolver.body.value.star) {
      const namespace = resolver.inputs.flatMap((input) =>
        input.kind.case === "feature" ? (input.kind.value.path.split(".")[0] as string) : [],
      )[0];
      const ofOutput = resolver.outputs[0]?.split(".")[0];
      const set = ofOutput ?? namespace;
      if (set) this.#starSets.add(set);
    }
    return { resolver, needs, outputs: resolver.outputs };
  }
}

/** Whether a feature has a default value. */
export function hasDefault(feature: Feature): boolean {
  return feature.kind.case === "scalar" && feature.kind.value.defaultValue !== undefined;
}
