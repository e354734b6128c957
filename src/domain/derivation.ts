/**
 * Derivability of features: the AND/OR structure of a graph, without regard to any one query. One
 * provider of a feature is enough; a provider requires all of its needs. Goals are features by FQN;
 * a path through relations needs the join keys on its way and the feature at its end.
 */

import type { Span } from "../../gen/svc/v1/error_pb.ts";
import {
  type Feature,
  type FeatureSet,
  type Graph,
  type JoinKey,
  type Resolver,
  type ResolverInput,
  ResolverKind,
} from "../../gen/svc/v1/graph_pb.ts";
import { readPaths } from "./expressions/read-paths.ts";
import { GraphIndex } from "./graph-index.ts";
import type { Recursion } from "./recursion.ts";

/** A feature that a step needs. */
export interface Need {
  /** FQN of the feature at the path's end. */
  readonly feature: string;
  /** The path as written. */
  readonly path: string;
  /** Whether the feature is reached through relations, and not one of the root class itself. */
  readonly foreign: boolean;
}

/** A resolver, or the expression of a feature, with what it needs for a run. `now` is no need. */
export interface Step {
  /**
   * FQN of the resolver, or of the feature that the expression computes; windows of one feature
   * share its name.
   */
  readonly name: string;
  readonly span: Span | undefined;
  /** Whether it may run in an online query. */
  readonly isOnline: boolean;
  /** Absent for an expression. */
  readonly resolver: Resolver | undefined;
  readonly needs: readonly Need[];
  /** Features that its optional inputs read. */
  readonly optionalNeeds: readonly Need[];
  readonly outputs: readonly string[];
}

/** Options of a closure. */
export interface ClosureOptions {
  /**
   * FQN of a feature that counts as underivable: a goal that is being worked on does not help
   * itself.
   */
  readonly without?: string;
  readonly onlineOnly?: boolean;
  /**
   * Steps that could lead to themselves on other rows without end: their optional inputs count as
   * needs and the defaults of their features do not help.
   */
  readonly endless?: Recursion;
}

/** A graph as steps. */
export class Derivation {
  readonly index: GraphIndex;
  readonly steps: readonly Step[];
  /** Steps that give a feature, by FQN; an expression comes before resolvers. */
  readonly providers = new Map<string, Step[]>();
  readonly #needs = new Map<string, readonly Need[]>();
  readonly #paths = new Map<Resolver, readonly string[]>();
  /** Classes with a `select *` resolver, which may give any of their values. */
  readonly #starSets = new Set<string>();
  /** Features that streams store, by FQN. */
  readonly #streamed: ReadonlySet<string>;

  constructor(readonly graph: Graph) {
    this.index = new GraphIndex(graph);
    this.#streamed = new Set(graph.streamResolvers.flatMap(({ outputs }) => outputs));
    const expressions = graph.featureSets.flatMap((set) => set.features.flatMap((feature) => this.#expressionSteps(set, feature)));
    this.steps = [...expressions, ...graph.resolvers.map((resolver) => this.#step(resolver))];
    for (const step of this.steps)
      for (const output of step.outputs) {
        const known = this.providers.get(output);
        if (known) known.push(step);
        else this.providers.set(output, [step]);
      }
  }

  /**
   * Whether a resolver, an expression, a stream or a default gives the feature, or a `select *`
   * may.
   */
  hasProvider(feature: Feature): boolean {
    return (
      this.providers.has(feature.fqn) || this.#streamed.has(feature.fqn) || hasDefault(feature) || this.#starSets.has(feature.namespace)
    );
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

  /**
   * The features that following a path needs; empty for a path that does not exist (a finding of
   * another rule).
   */
  needsOf(path: string): readonly Need[] {
    const known = this.#needs.get(path);
    if (known) return known;
    const needs = this.#findNeeds(path);
    this.#needs.set(path, needs);
    return needs;
  }

  #findNeeds(path: string): Need[] {
    const resolved = this.index.resolvePath(path);
    if (!resolved.found) return [];
    const needs: Need[] = [];
    for (const [position, relation] of resolved.relations.entries()) {
      for (const key of joinOf(relation)) needs.push({ feature: key.local, path: key.local, foreign: position > 0 });
    }
    const joined = resolved.relations.at(-1);
    const isJoinKey = joined !== undefined && joinOf(joined).some((key) => key.foreign === resolved.feature.fqn);
    if (resolved.feature.kind.case !== "scalar")
      needs.push(...joinOf(resolved.feature).map((key) => ({ feature: key.local, path: key.local, foreign: joined !== undefined })));
    else if (!isJoinKey) needs.push({ feature: resolved.feature.fqn, path: resolved.path, foreign: joined !== undefined });
    return needs;
  }

  /**
   * The features that can be computed when `given` are known, with the primary keys of all classes,
   * defaults, what streams store online, and what a `select *` may give.
   */
  closure(given: Iterable<string>, options: ClosureOptions = {}): Set<string> {
    const derived = new Set(given);
    const { endless } = options;
    for (const feature of this.index.features.values()) {
      const { fqn, namespace, kind } = feature;
      const isPrimary = kind.case === "scalar" && kind.value.primary;
      if (this.#streamed.has(fqn) && feature.maxStaleness) derived.add(fqn);
      if (isPrimary || (hasDefault(feature) && !endless?.features.has(fqn)) || this.#starSets.has(namespace)) derived.add(fqn);
    }
    if (options.without) derived.delete(options.without);
    let waiting = this.steps.filter((step) => !options.onlineOnly || step.isOnline);
    for (let before = -1; before !== waiting.length; ) {
      before = waiting.length;
      waiting = waiting.filter((step) => {
        if (!step.needs.every((need) => derived.has(need.feature))) return true;
        if (endless?.steps.has(step) && step.optionalNeeds.some((need) => endless.features.has(need.feature) && !derived.has(need.feature)))
          return true;
        for (const output of step.outputs) if (output !== options.without) derived.add(output);
        return false;
      });
    }
    return derived;
  }

  /**
   * The paths that a resolver's parameters and its condition read: features, relations, and what is
   * read of their rows.
   */
  pathsOf(resolver: Resolver): readonly string[] {
    const known = this.#paths.get(resolver);
    if (known) return known;
    const paths = [...resolver.inputs.flatMap((input) => this.#pathsOfInput(input)), ...this.#pathsOfCondition(resolver)];
    this.#paths.set(resolver, paths);
    return paths;
  }

  #pathsOfCondition({ outputs, when }: Resolver): readonly string[] {
    const set = when && this.index.sets.get(outputs[0]?.split(".")[0] ?? "");
    return set ? readPaths(when, set, this.index) : [];
  }

  #pathsOfInput({ kind }: ResolverInput): readonly string[] {
    if (kind.case === "table") return kind.value.columns;
    if (kind.case === "feature") return [kind.value.path];
    if (kind.case !== "rows") return [];
    const { path, columns, filters } = kind.value;
    const child = this.#childOf(path);
    const read = child ? filters.flatMap((filter) => readPaths(filter, child, this.index)) : [];
    return [path, ...[...columns, ...read].map((column) => `${path}.${column.split(".").slice(1).join(".")}`)];
  }

  /** The class of the rows of a has-many relation. */
  #childOf(path: string): FeatureSet | undefined {
    const resolved = this.index.resolvePath(path);
    const relation = resolved.found ? resolved.feature.kind : undefined;
    return relation?.case === "hasMany" ? this.index.sets.get(relation.value.foreignNamespace) : undefined;
  }

  #step(resolver: Resolver): Step {
    const required = new Set([
      ...resolver.inputs.flatMap((input) => (isOptional(input) ? [] : this.#pathsOfInput(input))),
      ...this.#pathsOfCondition(resolver),
    ]);
    const needs = [...required].flatMap((path) => this.needsOf(path));
    const optionalNeeds = resolver.inputs.some(isOptional)
      ? this.pathsOf(resolver).flatMap((path) => (required.has(path) ? [] : this.needsOf(path)))
      : [];
    if (resolver.body.case === "sql" && resolver.body.value.star) {
      const namespace = resolver.inputs.flatMap((input) =>
        input.kind.case === "feature" ? (input.kind.value.path.split(".")[0] as string) : [],
      )[0];
      const ofOutput = resolver.outputs[0]?.split(".")[0];
      const set = ofOutput ?? namespace;
      if (set) this.#starSets.add(set);
    }
    const { fqn: name, span, outputs } = resolver;
    return { name, span, isOnline: resolver.kind !== ResolverKind.OFFLINE, resolver, needs, optionalNeeds, outputs };
  }

  #expressionSteps(set: FeatureSet, feature: Feature): Step[] {
    if (feature.kind.case !== "scalar") return [];
    const { expression, offlineExpression, windowedBase } = feature.kind.value;
    const { fqn, span } = feature;
    return [expression, offlineExpression].flatMap((one) => {
      if (!one) return [];
      const needs = readPaths(one, set, this.index).flatMap((path) => this.needsOf(path));
      const isOnline = one === expression;
      return [{ name: windowedBase || fqn, span, isOnline, resolver: undefined, needs, optionalNeeds: [], outputs: [fqn] }];
    });
  }
}

/** Whether a resolver runs without the value of a parameter. */
function isOptional({ kind }: ResolverInput): boolean {
  return kind.case === "feature"
    ? kind.value.optional || kind.value.defaultValue !== undefined
    : kind.case === "rows" && kind.value.optional;
}

function joinOf(relation: Feature): readonly Pick<JoinKey, "local" | "foreign">[] {
  if (relation.kind.case === "hasMany" && relation.kind.value.nearest) {
    const { local, distance, equal, containing } = relation.kind.value.nearest;
    return [{ local, foreign: distance }, ...[...equal, ...containing].map((key) => ({ local: key.local, foreign: "" }))];
  }
  return relation.kind.case === "hasOne" || relation.kind.case === "hasMany" ? relation.kind.value.join : [];
}

/** Whether a feature has a default value. */
export function hasDefault(feature: Feature): boolean {
  return feature.kind.case === "scalar" && feature.kind.value.defaultValue !== undefined;
}
