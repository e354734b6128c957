/**
 * What has to be sampled for outputs: features of the rows and of the rows that has-one relations
 * lead to, down to those that the history has. Expressions over such features are computed from the
 * samples; what needs child rows, or a resolver, is not.
 */

import type { GraphIndex } from "../graph/graph-index.ts";
import type { NamespaceInfo, RelationInfo, ScalarInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import type { PathFeature } from "../plan/plan.ts";
import { resolveName } from "../request/names.ts";

/** Features of the rows at the end of one relation path. */
export interface SampledRows {
  readonly relations: readonly RelationInfo[];
  readonly namespace: NamespaceInfo;
  /** Path of the value that is the key of those rows; it is known before they are sampled. */
  readonly keyPath: string;
  readonly features: readonly ScalarInfo[];
}

/** What has to be sampled, or why an output cannot be had from samples. */
export interface SampledPaths {
  /** Rows further away come later. */
  readonly rows: readonly SampledRows[];
  /** Reasons by the output's path. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Options of `sampledPaths`. */
export interface SampledPathsOptions {
  readonly index: GraphIndex;
  readonly root: NamespaceInfo;
  /** Paths that are given. */
  readonly given: ReadonlySet<string>;
  /** Features that resolvers compute. */
  readonly computed: ReadonlySet<ScalarInfo>;
}

/** Finds what has to be sampled for outputs. */
export function sampledPaths(outputs: readonly PathFeature[], options: SampledPathsOptions): SampledPaths {
  const found = new Map<string, { relations: readonly RelationInfo[]; features: Set<ScalarInfo> }>();
  const problems = new Map<string, string>();
  for (const output of outputs) {
    const path = pathOf(options.root.name, output);
    const search = new Search(options);
    const problem = search.need(output.relations, output.feature);
    if (problem !== undefined) {
      problems.set(path, problem);
      continue;
    }
    for (const { relations, feature } of search.leaves) {
      const at = pathOf(options.root.name, { relations });
      const rows = found.get(at) ?? { relations, features: new Set() };
      rows.features.add(feature);
      found.set(at, rows);
    }
  }
  const rows = [...found.values()]
    .sort((a, b) => a.relations.length - b.relations.length)
    .map(({ relations, features }) => ({
      relations,
      namespace: relations.at(-1)?.foreign ?? options.root,
      keyPath: keyPathOf(options.root, relations),
      features: [...features],
    }));
  return { rows, problems };
}

/** The path of the value that is the primary key of the rows at the end of relations. */
function keyPathOf(root: NamespaceInfo, relations: readonly RelationInfo[]): string {
  const last = relations.at(-1);
  if (!last) return `${root.name}.${root.primaryKey?.name ?? ""}`;
  return pathOf(root.name, { relations: relations.slice(0, -1), feature: keyPair(last)?.local });
}

function keyPair({ join, foreign }: RelationInfo): RelationInfo["join"][number] | undefined {
  return join.find((pair) => pair.foreign === foreign.primaryKey);
}

/** The search for what one output needs. */
class Search {
  readonly leaves: PathFeature[] = [];
  readonly #seen = new Set<string>();

  constructor(readonly options: SampledPathsOptions) {}

  /** Adds what a feature needs; returns why it cannot be had, undefined = it can. */
  need(relations: readonly RelationInfo[], feature: ScalarInfo): string | undefined {
    const { index, root, given, computed } = this.options;
    const path = pathOf(root.name, { relations, feature });
    if (given.has(path) || this.#seen.has(path)) return undefined;
    this.#seen.add(path);
    if (feature.rowsOf) return `${path} is rows of a has-many relation, which are not sampled`;
    if (computed.has(feature)) return this.#needComputed(relations, feature);
    const last = relations.at(-1);
    if (!last && feature.primary) return `the rows have no ${path}`;
    if (last) {
      const problem = this.#needJoin(relations);
      if (problem !== undefined || last.join.some((pair) => pair.foreign === feature)) return problem;
    }
    const columns = columnsOf(index, feature);
    if (columns) return this.#needPaths(relations, feature.namespace, columns);
    if (feature.featureId === undefined || !feature.storesOffline) return `no values of ${feature.fqn} are kept (store_offline=False)`;
    if (last && (last.join.length !== 1 || !keyPair(last)))
      return `${path} is joined on something else than the primary key, by which rows are not sampled`;
    const keyPath = keyPathOf(root, relations);
    if (!last && !given.has(keyPath)) return `the rows have no ${keyPath}`;
    if (!this.#isKnown(keyPath)) return `the key of ${pathOf(root.name, { relations })}, ${keyPath}, is computed`;
    this.leaves.push({ relations, feature });
    return undefined;
  }

  #isKnown(path: string): boolean {
    const { root, given } = this.options;
    return given.has(path) || this.leaves.some((leaf) => pathOf(root.name, leaf) === path);
  }

  /** The near sides of the joins on the way to rows. */
  #needJoin(relations: readonly RelationInfo[]): string | undefined {
    for (const [depth, relation] of relations.entries())
      for (const { local } of relation.join) {
        const problem = this.need(relations.slice(0, depth), local);
        if (problem !== undefined) return problem;
      }
    return undefined;
  }

  /** What resolvers of a feature, and its expression, may read. */
  #needComputed(relations: readonly RelationInfo[], feature: ScalarInfo): string | undefined {
    const { index, root } = this.options;
    const problem = this.#needJoin(relations);
    if (problem !== undefined) return problem;
    const namespace = relations.at(-1)?.foreign ?? root;
    // Inputs that cannot be had are the planner's matter: another resolver may do without them.
    if (namespace.primaryKey) this.need(relations, namespace.primaryKey);
    for (const { condition, inputs } of feature.producers) {
      if (condition) this.need(relations, condition);
      for (const input of inputs) {
        const to = [...relations, ...input.relations];
        if (input.rows) for (const { local } of input.rows.many.join) this.need(to, local);
        else if (input.feature) this.need(to, input.feature);
      }
    }
    const expression = feature.offlineExpression ?? feature.expression;
    if (expression) {
      const compiled = index.compile(expression, feature);
      if (typeof compiled === "string") return undefined;
      this.#needPaths(relations, feature.namespace, compiled.references.columns);
      for (const { path } of compiled.references.relations) {
        const target = resolveName(index, `.${feature.namespace}.${path}`, undefined);
        if (target.kind === "rows") for (const { local } of target.many.join) this.need([...relations, ...target.relations], local);
      }
    }
    return undefined;
  }

  #needPaths(relations: readonly RelationInfo[], namespace: string, paths: readonly string[]): string | undefined {
    for (const path of paths) {
      const target = resolveName(this.options.index, `.${namespace}.${path}`, undefined);
      const problem =
        target.kind === "feature" ? this.need([...relations, ...target.relations], target.feature) : `${path} is no value of ${namespace}`;
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

/**
 * The paths that a feature's expression reads when it reads nothing else; undefined for features
 * that are sampled: those without an expression, and those over child rows.
 */
function columnsOf(index: GraphIndex, feature: ScalarInfo): readonly string[] | undefined {
  const expression = feature.offlineExpression ?? feature.expression;
  if (!expression) return undefined;
  const compiled = index.compile(expression, feature);
  return typeof compiled === "string" || compiled.references.relations.length > 0 ? undefined : compiled.references.columns;
}
