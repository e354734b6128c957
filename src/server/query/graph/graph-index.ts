/**
 * Lookup tables of a graph for name resolution, the planner and the executor; built once per
 * deployment.
 */

import type { Expression, Feature, Graph, NamedQuery, Resolver } from "../../../../gen/svc/v1/graph_pb.ts";
import { OutputShape, ResolverKind, RowCount, SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { deprecationText } from "../../../domain/deprecation.ts";
import { Derivation } from "../../../domain/derivation.ts";
import { numberedName } from "../../../domain/feature-version.ts";
import { durationToMs } from "../../../domain/proto-time.ts";
import { fromProtoValue } from "../../../domain/proto-value.ts";
import { findRecursion } from "../../../domain/recursion.ts";
import { INCREMENTAL_PLACEHOLDER } from "../../../domain/sql/statement.ts";
import { compileRules, hasStrictCheck, withRules } from "../../../domain/validations.ts";
import { compileCoercer, typeName } from "../../../domain/value.ts";
import type { CompiledExpression } from "../../expressions/compiled.ts";
import type { Caching } from "../../writes/policy.ts";
import { AnswerType } from "./answer-type.ts";
import { conditionInfo } from "./condition.ts";
import { compilerOf } from "./expressions.ts";
import type { Member, NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo, SqlInfo } from "./index-types.ts";
import { linkKeptWindows } from "./kept-windows.ts";
import { brokenParameter, followPath, parameterInfos, pathOf } from "./parameter-index.ts";
import { linkRelations } from "./relation-index.ts";
import { translationOf } from "./translation.ts";

/** Default timeout of a resolver in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** Facts of the deployment that the index takes beside its graph. */
export interface IndexOptions {
  readonly environmentName: string;
  /** Online-store id of every scalar feature and has-many relation, by FQN. */
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
  /**
   * Resolvers, and features with an expression, that may depend on themselves through other rows,
   * by FQN; and the relations on these cycles.
   */
  readonly recursive: {
    readonly resolvers: ReadonlySet<string>;
    readonly expressions: ReadonlySet<string>;
    readonly relations: ReadonlySet<string>;
  };
  /** Named queries by name, then by version (empty = unversioned). */
  readonly namedQueries: ReadonlyMap<string, ReadonlyMap<string, NamedQuery>>;
  /**
   * Compiles an expression, once: of a feature, or of the rows of a class (a filter).
   * @returns the reason as text when it cannot be evaluated
   */
  compile(expression: Expression, of: ScalarInfo | NamespaceInfo | undefined): CompiledExpression | string;
}

/**
 * Builds the tables. A dangling reference makes its resolver unusable, with the reason; lint
 * reports it.
 */
export function buildGraphIndex(graph: Graph, options: IndexOptions): GraphIndex {
  const scalars = new Map<string, ScalarInfo>();
  const namespaces = namespacesOf(graph, options, scalars);
  const relations = linkRelations(graph, namespaces, scalars, options.featureIds);
  linkKeptWindows(graph, namespaces, scalars);
  return {
    environmentName: options.environmentName,
    namespaces,
    scalars,
    relations,
    resolvers: resolversOf(graph, options, namespaces, scalars),
    recursive: recursiveOf(graph),
    namedQueries: namedQueriesOf(graph),
    compile: rememberingCompiler(graph),
  };
}

/** The classes, whose features are added to `scalars`. */
function namespacesOf(graph: Graph, { featureIds }: IndexOptions, scalars: Map<string, ScalarInfo>): Map<string, NamespaceInfo> {
  const keys = joinedFeatures(graph);
  const streams = new Map(graph.streamResolvers.flatMap(({ fqn, outputs }) => outputs.map((output) => [output, fqn] as const)));
  const namespaces = new Map<string, NamespaceInfo>();
  for (const set of graph.featureSets) {
    const members = new Map<string, Member>();
    const own: ScalarInfo[] = [];
    const windows = new Map<string, ScalarInfo[]>();
    const numbered = new Map<string, ScalarInfo>();
    for (const feature of set.features) {
      const scalar = scalarInfo(feature, featureIds, keys, streams);
      if (!scalar) continue;
      scalars.set(scalar.fqn, scalar);
      members.set(scalar.name, scalar);
      own.push(scalar);
      const version = numberedName(feature);
      if (version !== undefined) numbered.set(version.slice(set.namespace.length + 1), scalar);
      const base = windowedBase(feature);
      if (base) windows.set(base, [...(windows.get(base) ?? []), scalar]);
    }
    namespaces.set(set.namespace, {
      name: set.namespace,
      className: set.className,
      members,
      scalars: own,
      windows,
      numbered,
      primaryKey: scalars.get(set.primaryKey),
      featureTime: scalars.get(set.featureTime),
    });
  }
  return namespaces;
}

/** The resolvers, which are added to what they produce. */
function resolversOf(
  graph: Graph,
  { sources }: IndexOptions,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
): Map<string, ResolverInfo> {
  const resolvers = new Map<string, ResolverInfo>();
  for (const resolver of graph.resolvers) {
    const info = resolverInfo(resolver, namespaces, scalars, sources);
    resolvers.set(info.fqn, info);
    if (info.shape === "relation") {
      const many = namespaces.get(info.namespace)?.members.get(resolver.relation.slice(info.namespace.length + 1));
      if (many?.kind === "has_many") many.fillers.push(info);
      continue;
    }
    for (const output of info.outputs) scalars.get(output)?.producers.push(info);
  }
  return resolvers;
}

function namedQueriesOf(graph: Graph): GraphIndex["namedQueries"] {
  const named = new Map<string, Map<string, NamedQuery>>();
  for (const query of graph.namedQueries) {
    const versions = named.get(query.name) ?? new Map<string, NamedQuery>();
    versions.set(query.version, query);
    named.set(query.name, versions);
  }
  return named;
}

function recursiveOf(graph: Graph): GraphIndex["recursive"] {
  const { steps, relations } = findRecursion(new Derivation(graph));
  const fqnsOf = (isResolver: boolean) =>
    new Set([...steps].flatMap((step) => ((step.resolver !== undefined) === isResolver ? [step.name] : [])));
  return { resolvers: fqnsOf(true), expressions: fqnsOf(false), relations };
}

/** A compiler that compiles each expression once. */
function rememberingCompiler(graph: Graph): GraphIndex["compile"] {
  const compiled = new Map<Expression, CompiledExpression | string>();
  const compile = compilerOf(graph);
  return (expression, of) => {
    let known = compiled.get(expression);
    if (known === undefined) {
      known = compile(expression, of);
      compiled.set(expression, known);
    }
    return known;
  };
}

/** The bare name of a windowed feature; undefined for others. */
function windowedBase(feature: Feature): string | undefined {
  const { value } = feature.kind.case === "scalar" ? feature.kind : { value: undefined };
  if (value?.windowedBase) return value.windowedBase.slice(value.windowedBase.lastIndexOf(".") + 1);
  return /^(.+)__\d+__$/.exec(feature.name)?.[1];
}

/** FQNs of the features that relations join on. */
function joinedFeatures({ featureSets }: Graph): ReadonlySet<string> {
  const joins = featureSets.flatMap((set) =>
    set.features.flatMap(({ kind }) => (kind.case === "hasOne" || kind.case === "hasMany" ? kind.value.join : [])),
  );
  return new Set(joins.flatMap(({ local, foreign }) => [local, foreign]));
}

function scalarInfo(
  feature: Feature,
  featureIds: ReadonlyMap<string, number>,
  keys: ReadonlySet<string>,
  streams: ReadonlyMap<string, string>,
): ScalarInfo | undefined {
  if (feature.kind.case !== "scalar" || !feature.kind.value.dtype) return undefined;
  const {
    dtype,
    nullable,
    defaultValue,
    primary,
    featureTime,
    expression,
    offlineExpression,
    etlOfflineToOnline,
    window,
    storeOnline,
    storeOffline,
    cacheNulls,
    evictNulls,
    cacheDefaults,
    evictDefaults,
    offlineTtl,
  } = feature.kind.value;
  const strictRules = compileRules(feature.kind.value, true);
  const isChecked = hasStrictCheck(feature.kind.value);
  return {
    kind: "scalar",
    fqn: feature.fqn,
    name: feature.name,
    namespace: feature.namespace,
    dtype,
    answerType: new AnswerType(dtype),
    typeName: typeName(dtype),
    nullable,
    defaultValue: defaultValue ? fromProtoValue(defaultValue) : undefined,
    stalenessMs: feature.maxStaleness ? durationToMs(feature.maxStaleness) : 0,
    featureId: featureIds.get(feature.fqn),
    stream: streams.get(feature.fqn),
    storesOnline: storeOnline !== false,
    caching: { nulls: cachingOption(cacheNulls, evictNulls), defaults: cachingOption(cacheDefaults, evictDefaults) },
    offlineTtlMs: offlineTtl && durationToMs(offlineTtl),
    storesOffline: storeOffline !== false,
    followsOffline: etlOfflineToOnline && storeOffline !== false,
    version: feature.version || 1,
    isOldVersion: feature.version !== feature.defaultVersion,
    deprecation: feature.deprecated ? deprecationText(feature.description) : undefined,
    personal: feature.tags.includes("pii"),
    primary,
    featureTime,
    strict: withRules(compileCoercer(dtype, primary || keys.has(feature.fqn) ? "key" : "strict"), strictRules, dtype, isChecked),
    lenient: withRules(compileCoercer(dtype, "lenient"), strictRules, dtype),
    strictRules,
    hasStrictCheck: isChecked,
    softRules: compileRules(feature.kind.value, false),
    producers: [],
    expression,
    offlineExpression,
    windowMs: window ? durationToMs(window) : undefined,
  };
}

function cachingOption(stores: boolean | undefined, evicts: boolean): Caching {
  return stores !== false ? "store" : evicts ? "evict" : "keep";
}

function resolverInfo(
  resolver: Resolver,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
  sources: IndexOptions["sources"],
): ResolverInfo {
  const outputs = new Set(resolver.outputs.filter((fqn) => scalars.has(fqn)));
  const shape = SHAPES[resolver.outputShape];
  const namespace =
    shape === "relation"
      ? (resolver.relation.split(".", 1)[0] as string)
      : (scalars.get(resolver.outputs.find((fqn) => scalars.has(fqn)) ?? "")?.namespace ?? "");
  const timeout = resolver.timeout ? durationToMs(resolver.timeout) : 0;
  const inputs = resolver.inputs.flatMap((input) => parameterInfos(input, namespace, namespaces));
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
    features: [...outputs].flatMap((fqn) => scalars.get(fqn) ?? []),
    tags: resolver.tags,
    environments: resolver.environments,
    timeoutMs: timeout > 0 && Number.isFinite(timeout) ? timeout : DEFAULT_TIMEOUT_MS,
    place: resolver.span?.file ? `${resolver.span.file}:${resolver.span.line}` : "",
    file: resolver.span?.file ?? "",
    line: resolver.span?.line ?? 0,
    sql,
    condition: conditionInfo(resolver, namespace),
    conditionText: resolver.whenText,
    shape,
    total: sql?.total ?? (shape === "rows" && resolver.total),
    uniqueOn: resolver.uniqueOn.flatMap((fqn) => scalars.get(fqn) ?? []),
    partitionedBy: resolver.partitionedBy.flatMap((fqn) => scalars.get(fqn) ?? []),
    runFilter: resolver.runFilter,
    runSample: resolver.runSample,
    broken,
    translation: shape === "values" ? translationOf(resolver, namespace, inputs, scalars) : undefined,
    untranslated: resolver.untranslated,
  };
}

const SHAPES: Readonly<Record<OutputShape, ResolverInfo["shape"]>> = {
  [OutputShape.UNSPECIFIED]: "values",
  [OutputShape.ROWS]: "rows",
  [OutputShape.RELATION]: "relation",
};

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
    const none = { relations: [], optional: false, hasDefault: false };
    if (parameter.incremental) return { name: INCREMENTAL_PLACEHOLDER, now: true, incremental: true, ...none };
    if (parameter.constant) {
      const name = query.body.slice(parameter.offset, parameter.offset + parameter.length);
      const constant = { value: fromProtoValue(parameter.constant), isFloat: parameter.constant.kind.case === "doubleValue" };
      return { name, now: true, constant, ...none };
    }
    if (parameter.path === "") return { name: "now", now: true, ...none };
    const declared = inputs.find((input) => input.feature && pathOf(namespace, input) === parameter.path);
    if (declared) return declared;
    const found = followPath(parameter.path, namespace, namespaces);
    if (typeof found === "string") return brokenParameter(parameter.path, found);
    return { name: parameter.path, now: false, ...found, optional: false, hasDefault: false };
  });
  const columns = new Map(query.columns.map((column) => [column.feature, column.column]));
  for (const fqn of resolver.outputs) if (!columns.has(fqn)) columns.set(fqn, fqn.slice(fqn.lastIndexOf(".") + 1));
  return {
    source: source?.name ?? query.source,
    sourceKind: source?.kind ?? SourceKind.UNSPECIFIED,
    body: query.body,
    file: query.python?.textSpan?.file ?? resolver.span?.file ?? "",
    bodyLine: query.bodyLine,
    parameters,
    places: query.parameters.map(({ offset, length }) => ({ offset, length })),
    columns,
    count: query.count,
    all: query.count === RowCount.ALL,
    total: query.total,
    incremental: query.incremental,
    learned: {},
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
  [SourceKind.CLICKHOUSE]: "clickhouse",
  [SourceKind.DUCKDB]: "duckdb",
  [SourceKind.SNOWFLAKE]: "snowflake",
  [SourceKind.BIGQUERY]: "bigquery",
  [SourceKind.KAFKA]: "kafka",
  [SourceKind.TOPIC]: "topic",
};
