/** A graph turned into lookup tables, once per deployment: what name resolution, the planner and the executor read. */

import type { Feature, Graph, NamedQuery, Resolver, ResolverInput } from "../../../gen/svc/v1/graph_pb.ts";
import { ResolverKind, RowCount, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { compileCoercer, type FeatureValue, typeName } from "../../domain/value.ts";
import type { NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo, SqlInfo } from "./index-types.ts";

/** How long a resolver may run when it does not say, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** What the index takes from the deployment beside its graph. */
export interface IndexOptions {
  readonly environmentName: string;
  /** Online-store id of every scalar feature, by FQN. */
  readonly featureIds: ReadonlyMap<string, number>;
  /** The sources that SQL resolvers can read here. */
  readonly sources: readonly { readonly name: string; readonly kind: SourceKind }[];
}

/** The tables of one deployment. */
export interface GraphIndex {
  readonly environmentName: string;
  readonly namespaces: ReadonlyMap<string, NamespaceInfo>;
  /** Scalar features by FQN. */
  readonly scalars: ReadonlyMap<string, ScalarInfo>;
  /** Has-one relations by FQN. */
  readonly relations: ReadonlyMap<string, RelationInfo>;
  /** Resolvers by FQN. */
  readonly resolvers: ReadonlyMap<string, ResolverInfo>;
  /** Named queries by name, then by version (empty = unversioned). */
  readonly namedQueries: ReadonlyMap<string, ReadonlyMap<string, NamedQuery>>;
}

/** Builds the tables. References that lead nowhere make the resolver that holds them unusable, with the reason; they are lint's to refuse. */
export function buildGraphIndex(graph: Graph, options: IndexOptions): GraphIndex {
  const scalars = new Map<string, ScalarInfo>();
  const namespaces = new Map<string, NamespaceInfo>();
  for (const set of graph.featureSets) {
    const members = new Map<string, ScalarInfo | RelationInfo | "has_many">();
    const own: ScalarInfo[] = [];
    const windows = new Map<string, ScalarInfo[]>();
    for (const feature of set.features) {
      const scalar = scalarInfo(feature, options.featureIds);
      if (!scalar) continue;
      scalars.set(scalar.fqn, scalar);
      members.set(scalar.name, scalar);
      own.push(scalar);
      const window = /^(.+)__\d+__$/.exec(scalar.name);
      if (window) windows.set(window[1] as string, [...(windows.get(window[1] as string) ?? []), scalar]);
    }
    namespaces.set(set.namespace, {
      name: set.namespace,
      className: set.className,
      members,
      scalars: own,
      windows,
      primaryKey: scalars.get(set.primaryKey),
      featureTime: scalars.get(set.featureTime),
    });
  }
  const relations = linkRelations(graph, namespaces, scalars);
  const resolvers = new Map<string, ResolverInfo>();
  for (const resolver of graph.resolvers) {
    const info = resolverInfo(resolver, namespaces, scalars, options.sources);
    resolvers.set(info.fqn, info);
    for (const output of info.outputs) scalars.get(output)?.producers.push(info);
  }
  const namedQueries = new Map<string, Map<string, NamedQuery>>();
  for (const query of graph.namedQueries) {
    const versions = namedQueries.get(query.name) ?? new Map<string, NamedQuery>();
    versions.set(query.version, query);
    namedQueries.set(query.name, versions);
  }
  return { environmentName: options.environmentName, namespaces, scalars, relations, resolvers, namedQueries };
}

function scalarInfo(feature: Feature, featureIds: ReadonlyMap<string, number>): ScalarInfo | undefined {
  if (feature.kind.case !== "scalar" || !feature.kind.value.dtype) return undefined;
  const { dtype, nullable, defaultValue, primary, featureTime } = feature.kind.value;
  return {
    kind: "scalar",
    fqn: feature.fqn,
    name: feature.name,
    namespace: feature.namespace,
    dtype,
    typeName: typeName(dtype),
    nullable,
    defaultValue: defaultValue ? fromProtoValue(defaultValue) : undefined,
    stalenessMs: feature.maxStaleness ? durationToMs(feature.maxStaleness) : 0,
    featureId: featureIds.get(feature.fqn),
    primary,
    featureTime,
    strict: compileCoercer(dtype, "strict"),
    lenient: compileCoercer(dtype, "lenient"),
    producers: [],
  };
}

function linkRelations(
  graph: Graph,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
): Map<string, RelationInfo> {
  const relations = new Map<string, RelationInfo>();
  for (const set of graph.featureSets) {
    const members = namespaces.get(set.namespace)?.members as Map<string, ScalarInfo | RelationInfo | "has_many">;
    for (const feature of set.features) {
      if (feature.kind.case === "hasMany") members.set(feature.name, "has_many");
      if (feature.kind.case !== "hasOne") continue;
      const { foreignNamespace, optional, join } = feature.kind.value;
      const foreign = namespaces.get(foreignNamespace);
      const pairs = join.flatMap((key) => {
        const local = scalars.get(key.local);
        const other = scalars.get(key.foreign);
        return local && other ? [{ local, foreign: other }] : [];
      });
      if (!foreign || pairs.length === 0 || pairs.length !== join.length) continue;
      const relation: RelationInfo = {
        kind: "has_one",
        fqn: feature.fqn,
        name: feature.name,
        namespace: feature.namespace,
        foreign,
        optional,
        join: pairs,
        onPrimaryKey: pairs.some((pair) => pair.foreign === foreign.primaryKey),
      };
      relations.set(relation.fqn, relation);
      members.set(relation.name, relation);
    }
  }
  return relations;
}

function resolverInfo(
  resolver: Resolver,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
  sources: IndexOptions["sources"],
): ResolverInfo {
  const outputs = new Set(resolver.outputs.filter((fqn) => scalars.has(fqn)));
  const namespace = scalars.get(resolver.outputs.find((fqn) => scalars.has(fqn)) ?? "")?.namespace ?? "";
  const timeout = resolver.timeout ? durationToMs(resolver.timeout) : 0;
  const inputs = resolver.inputs.map((input) => parameterInfo(input, namespace, namespaces));
  const sql = resolver.body.case === "sql" ? sqlInfo(resolver, namespace, namespaces, inputs, sources) : undefined;
  const parameters = sql ? sql.parameters : inputs;
  const broken =
    sql?.broken ??
    parameters.find((input) => input.broken !== undefined)?.broken ??
    (resolver.body.case === undefined ? "it has no body" : undefined);
  return {
    fqn: resolver.fqn,
    namespace,
    offline: resolver.kind === ResolverKind.OFFLINE,
    inputs: parameters,
    outputs,
    tags: resolver.tags,
    environments: resolver.environments,
    timeoutMs: timeout > 0 && Number.isFinite(timeout) ? timeout : DEFAULT_TIMEOUT_MS,
    place: resolver.span?.file ? `${resolver.span.file}:${resolver.span.line}` : "",
    file: resolver.span?.file ?? "",
    sql,
    broken,
  };
}

function parameterInfo(input: ResolverInput, namespace: string, namespaces: ReadonlyMap<string, NamespaceInfo>): ParameterInfo {
  if (input.kind.case === "now") return { name: input.name, now: true, relations: [], optional: false, hasDefault: false };
  if (input.kind.case !== "feature") return brokenParameter(input.name, `its parameter ${input.name} reads no feature`);
  const { path, optional, defaultValue } = input.kind.value;
  const found = followPath(path, namespace, namespaces);
  if (typeof found === "string") return brokenParameter(input.name, found);
  return {
    name: input.name,
    now: false,
    ...found,
    optional: optional || defaultValue !== undefined,
    hasDefault: defaultValue !== undefined,
    defaultValue: defaultValue ? fromProtoValue(defaultValue) : undefined,
  };
}

function brokenParameter(name: string, broken: string): ParameterInfo {
  return { name, now: false, relations: [], optional: false, hasDefault: false, broken };
}

function followPath(
  path: string,
  namespace: string,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
): { relations: RelationInfo[]; feature: ScalarInfo } | string {
  const [root, ...segments] = path.split(".");
  if (root !== namespace) return `it reads ${path}, but what it produces belongs to ${namespace || "no class"}`;
  const relations: RelationInfo[] = [];
  let at = namespaces.get(root);
  for (const [index, segment] of segments.entries()) {
    const member = at?.members.get(segment);
    if (member === undefined) return `it reads ${path}, which does not exist`;
    if (member === "has_many") return `it reads ${path}, which goes through a has-many relation`;
    if (member.kind === "scalar")
      return index === segments.length - 1 ? { relations, feature: member } : `it reads ${path}, which does not exist`;
    relations.push(member);
    at = member.foreign;
  }
  return `it reads ${path}, which is a whole row`;
}

function sqlInfo(
  resolver: Resolver,
  namespace: string,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  inputs: readonly ParameterInfo[],
  sources: IndexOptions["sources"],
): SqlInfo | undefined {
  if (resolver.body.case !== "sql") return undefined;
  const query = resolver.body.value;
  const kinds = sources.filter((source) => source.name === query.source || SOURCE_KIND_NAMES[source.kind] === query.source);
  const source = sources.find((candidate) => candidate.name === query.source) ?? (kinds.length === 1 ? kinds[0] : undefined);
  const parameters = query.parameters.map((parameter): ParameterInfo => {
    if (parameter.path === "") return { name: "now", now: true, relations: [], optional: false, hasDefault: false };
    const declared = inputs.find((input) => input.feature && pathOf(namespace, input) === parameter.path);
    if (declared) return declared;
    const found = followPath(parameter.path, namespace, namespaces);
    if (typeof found === "string") return brokenParameter(parameter.path, found);
    return { name: parameter.path, now: false, ...found, optional: false, hasDefault: false };
  });
  const columns = new Map(query.columns.map((column) => [column.feature, column.column]));
  if (query.star) {
    for (const fqn of resolver.outputs) if (!columns.has(fqn)) columns.set(fqn, fqn.slice(fqn.lastIndexOf(".") + 1));
    const own = namespaces.get(namespace);
    for (const key of [own?.primaryKey, own?.featureTime]) if (key && !columns.has(key.fqn)) columns.set(key.fqn, key.name);
  }
  return {
    source: source?.name ?? query.source,
    sourceKind: source?.kind ?? SourceKind.UNSPECIFIED,
    body: query.body,
    bodyLine: query.bodyLine,
    parameters,
    places: query.parameters.map(({ offset, length }) => ({ offset, length })),
    columns,
    count: query.count,
    all: query.count === RowCount.ALL,
    total: query.total,
    broken: source
      ? undefined
      : `its source '${query.source}' is not configured in this environment (there is ${sources.map((s) => s.name).join(", ") || "none"})`,
  };
}

const SOURCE_KIND_NAMES: Readonly<Record<SourceKind, string>> = {
  [SourceKind.UNSPECIFIED]: "",
  [SourceKind.SQLITE]: "sqlite",
  [SourceKind.POSTGRESQL]: "postgresql",
  [SourceKind.MYSQL]: "mysql",
};

/** A parameter's path from a namespace, for example `flight.origin.latitude`. */
export function pathOf(
  namespace: string,
  to: { readonly relations: readonly RelationInfo[]; readonly feature?: { readonly name: string } | undefined },
): string {
  let path = namespace;
  for (const relation of to.relations) path += `.${relation.name}`;
  return to.feature ? `${path}.${to.feature.name}` : path;
}

/** The value passed for a parameter whose feature has none. */
export function absentArgument(parameter: ParameterInfo): FeatureValue {
  return parameter.defaultValue ?? null;
}
