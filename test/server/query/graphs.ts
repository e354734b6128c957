/** Small graphs written in a few words, for tests of the planner and the executor. */

import { create } from "@bufbuild/protobuf";
import { SpanSchema } from "../../../gen/svc/v1/error_pb.ts";
import {
  type Expression,
  ExpressionSchema,
  type Feature,
  FeatureSchema,
  type FeatureSet,
  FeatureSetSchema,
  type Graph,
  GraphSchema,
  GroupingSchema,
  NamedQuerySchema,
  OutputShape,
  type Resolver,
  ResolverInputSchema,
  ResolverKind,
  ResolverSchema,
  RowCount,
} from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { parseDuration } from "../../../src/domain/duration.ts";
import { microsToTimestamp, msToDuration } from "../../../src/domain/proto-time.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";

const PRIMITIVES = {
  int: PrimitiveType.INT64,
  float: PrimitiveType.FLOAT64,
  str: PrimitiveType.STRING,
  bool: PrimitiveType.BOOL,
  bytes: PrimitiveType.BYTES,
  date: PrimitiveType.DATE,
  datetime: PrimitiveType.DATETIME,
  timedelta: PrimitiveType.TIMEDELTA,
  decimal: PrimitiveType.DECIMAL,
  json: PrimitiveType.JSON,
} as const;

/** A primitive type by its name. */
export function primitive(name: keyof typeof PRIMITIVES): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value: PRIMITIVES[name] } });
}

/** `int`, `str?` (optional), or a whole type. */
export type TypeSpec = keyof typeof PRIMITIVES | `${keyof typeof PRIMITIVES}?` | DataType;

/** A scalar feature. */
export interface ScalarSpec {
  readonly type: TypeSpec;
  readonly default?: FeatureValue;
  /** A duration, `infinity` for ever. */
  readonly stale?: string;
  /** `store_online`, `cache_nulls`. */
  readonly online?: boolean;
  readonly nulls?: boolean;
  readonly primary?: boolean;
  readonly time?: boolean;
  readonly expression?: Expression;
  /** A duration; the feature is then one of the windows of the name before `__`. */
  readonly window?: string;
  /** Keeps its aggregate: durations. */
  readonly kept?: { readonly bucket: string; readonly buffer?: string; readonly start?: bigint };
}

/** A has-many relation: the other class, and pairs of names that must be equal (near, far). */
export interface ManySpec {
  readonly many: string;
  /** A duration, `infinity` for ever. */
  readonly stale?: string;
  readonly on: readonly (readonly [string, string])[];
}

/** A has-one relation: the other class, and pairs of names that must be equal (near, far). */
export interface RelationSpec {
  readonly to: string;
  readonly on: readonly (readonly [string, string])[];
  readonly optional?: boolean;
}

/** A feature: a type, or more about it. */
export type FeatureSpec = TypeSpec | ScalarSpec | RelationSpec | ManySpec | "has_many";

function isMany(spec: ScalarSpec | RelationSpec | ManySpec): spec is ManySpec {
  return "many" in spec;
}

function isRelation(spec: ScalarSpec | RelationSpec): spec is RelationSpec {
  return "to" in spec;
}

function staleness({ stale }: { readonly stale?: string }): Partial<Pick<Feature, "maxStaleness">> {
  return stale === undefined ? {} : { maxStaleness: msToDuration(parseDuration(stale) ?? 0) };
}

function feature(namespace: string, name: string, spec: FeatureSpec): Feature {
  const base = { fqn: `${namespace}.${name}`, name, namespace };
  if (spec === "has_many")
    return create(FeatureSchema, { ...base, kind: { case: "hasMany", value: { foreignNamespace: namespace, join: [] } } });
  if (typeof spec === "object" && !("$typeName" in spec) && isMany(spec)) {
    const join = spec.on.map(([local, foreign]) => ({ local: `${namespace}.${local}`, foreign: `${spec.many}.${foreign}` }));
    return create(FeatureSchema, { ...base, ...staleness(spec), kind: { case: "hasMany", value: { foreignNamespace: spec.many, join } } });
  }
  if (typeof spec === "object" && !("$typeName" in spec) && isRelation(spec)) {
    const join = spec.on.map(([local, foreign]) => ({ local: `${namespace}.${local}`, foreign: `${spec.to}.${foreign}` }));
    return create(FeatureSchema, {
      ...base,
      kind: { case: "hasOne", value: { foreignNamespace: spec.to, join, optional: spec.optional ?? false } },
    });
  }
  const scalar: ScalarSpec = typeof spec === "string" || "$typeName" in spec ? { type: spec } : spec;
  const { type } = scalar;
  const nullable = typeof type === "string" && type.endsWith("?");
  const dtype = typeof type === "string" ? primitive(type.replace("?", "") as keyof typeof PRIMITIVES) : type;
  return create(FeatureSchema, {
    ...base,
    ...staleness(scalar),
    kind: {
      case: "scalar",
      value: {
        dtype,
        nullable,
        primary: scalar.primary ?? name === "id",
        featureTime: scalar.time ?? false,
        ...(scalar.online === undefined ? {} : { storeOnline: scalar.online }),
        ...(scalar.nulls === undefined ? {} : { cacheNulls: scalar.nulls }),
        ...(scalar.expression ? { expression: scalar.expression } : {}),
        ...(scalar.window === undefined
          ? {}
          : { window: msToDuration(parseDuration(scalar.window) ?? 0), windowedBase: `${namespace}.${name.replace(/__\d+__$/, "")}` }),
        ...(scalar.kept === undefined
          ? {}
          : {
              materialization: {
                bucketDuration: msToDuration(parseDuration(scalar.kept.bucket) ?? 0),
                ...(scalar.kept.buffer === undefined ? {} : { continuousBuffer: msToDuration(parseDuration(scalar.kept.buffer) ?? 0) }),
                ...(scalar.kept.start === undefined ? {} : { bucketStart: microsToTimestamp(scalar.kept.start) }),
              },
            }),
        ...(scalar.default === undefined ? {} : { defaultValue: toProtoValue(scalar.default, dtype) }),
      },
    },
  });
}

/** A feature class. */
export function featureClass(namespace: string, features: Readonly<Record<string, FeatureSpec>>): FeatureSet {
  const made = Object.entries(features).map(([name, spec]) => feature(namespace, name, spec));
  return create(FeatureSetSchema, {
    namespace,
    className: namespace.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    features: made,
    primaryKey: made.find((one) => one.kind.case === "scalar" && one.kind.value.primary)?.fqn ?? "",
    featureTime: made.find((one) => one.kind.case === "scalar" && one.kind.value.featureTime)?.fqn ?? "",
  });
}

/** What is common to resolvers of both kinds. */
export interface ResolverOptions {
  readonly tags?: readonly string[];
  readonly environments?: readonly string[];
  readonly offline?: boolean;
  readonly timeout?: string;
  readonly line?: number;
  /** `when=`, shown as the given text. */
  readonly when?: readonly [condition: Expression, text: string];
  /** The result is rows of the class. */
  readonly rows?: boolean;
  readonly total?: boolean;
  /** The result is the rows of this has-many relation. */
  readonly relation?: string;
  readonly uniqueOn?: readonly string[];
  readonly partitionedBy?: readonly string[];
}

/** A parameter: a path, a path ending in `?` (Optional), `now`, or a path with a default. */
export type ParameterSpec = string | readonly [path: string, defaultValue: FeatureValue] | RowsSpec | { readonly table: readonly string[] };

function common(fqn: string, outputs: readonly string[], options: ResolverOptions, file: string) {
  const timeout = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  return {
    fqn,
    kind: options.offline ? ResolverKind.OFFLINE : ResolverKind.ONLINE,
    outputs: [...outputs],
    tags: [...(options.tags ?? [])],
    environments: [...(options.environments ?? [])],
    outputShape: options.relation ? OutputShape.RELATION : options.rows ? OutputShape.ROWS : OutputShape.UNSPECIFIED,
    relation: options.relation ?? "",
    uniqueOn: [...(options.uniqueOn ?? [])],
    partitionedBy: [...(options.partitionedBy ?? [])],
    total: options.total ?? false,
    ...(options.when ? { when: options.when[0], whenText: options.when[1] } : {}),
    span: create(SpanSchema, { file, line: options.line ?? 1 }),
    ...(timeout === undefined ? {} : { timeout: msToDuration(timeout) }),
  };
}

/** A constant of an expression. */
export function lit(value: FeatureValue): Expression {
  return create(ExpressionSchema, { node: { case: "literal", value: toProtoValue(value) } });
}

/** `_.a.b`. */
export function ref(path: string): Expression {
  return create(ExpressionSchema, { node: { case: "feature", value: { path: path.split(".") } } });
}

/** A function or an operator of its arguments; text stands for a feature. */
export function fn(name: string, ...args: readonly (Expression | string)[]): Expression {
  return create(ExpressionSchema, { node: { case: "call", value: { function: name, arguments: args.map(expressionOf) } } });
}

/** `_.path[column, filters].name()`. */
export function agg(name: string, path: string, column?: Expression | string, ...filters: readonly Expression[]): Expression {
  return create(ExpressionSchema, {
    node: {
      case: "aggregation",
      value: {
        function: name,
        path: path.split("."),
        filters: [...filters],
        ...(column === undefined ? {} : { column: expressionOf(column) }),
      },
    },
  });
}

/** The aggregation with what rows are chosen by, and with constant arguments. */
export function aggWith(made: Expression, key: Expression | string | undefined, ...constants: readonly FeatureValue[]): Expression {
  if (made.node.case !== "aggregation") throw new Error("no aggregation");
  if (key !== undefined) made.node.value.key = expressionOf(key);
  made.node.value.arguments = constants.map((constant) => toProtoValue(constant));
  return made;
}

/** The aggregation of each group of rows; the fields of the structs are called as the columns, and `value`. */
export function aggBy(made: Expression, columns: readonly string[]): Expression {
  if (made.node.case !== "aggregation") throw new Error("no aggregation");
  const grouping = { structName: "Group", columns: columns.map((name) => ({ name, value: ref(name) })), valueName: "value" };
  made.node.value.grouping = create(GroupingSchema, grouping);
  return made;
}

/** `_.svc_window`. */
export const windowStart = create(ExpressionSchema, { node: { case: "windowStart", value: {} } });

/** `_.svc_now`. */
export const queryNow = create(ExpressionSchema, { node: { case: "queryNow", value: {} } });

function expressionOf(value: Expression | string): Expression {
  return typeof value === "string" ? ref(value) : value;
}

/** A parameter that takes rows of a has-many relation. */
export interface RowsSpec {
  readonly rows: string;
  readonly columns?: readonly string[];
  readonly filters?: readonly Expression[];
  readonly limit?: number;
  readonly optional?: boolean;
}

/** A Python resolver. Parameters are called p0, p1, ... */
export function python(fqn: string, inputs: readonly ParameterSpec[], outputs: readonly string[], options: ResolverOptions = {}): Resolver {
  return create(ResolverSchema, {
    ...common(fqn, outputs, options, `${fqn.split(".")[0]}.py`),
    inputs: inputs.map((spec, position) => {
      const name = `p${position}`;
      if (typeof spec === "object" && "rows" in spec)
        return create(ResolverInputSchema, {
          name,
          kind: {
            case: "rows",
            value: {
              path: spec.rows,
              columns: [...(spec.columns ?? [])],
              filters: [...(spec.filters ?? [])],
              limit: spec.limit ?? 0,
              optional: spec.optional ?? false,
            },
          },
        });
      if (typeof spec === "object" && "table" in spec)
        return create(ResolverInputSchema, { name, kind: { case: "table", value: { columns: [...spec.table] } } });
      if (spec === "now") return create(ResolverInputSchema, { name, kind: { case: "now", value: {} } });
      const path = typeof spec === "string" ? spec.replace("?", "") : spec[0];
      const optional = typeof spec === "string" && spec.endsWith("?");
      const rest = typeof spec === "string" ? {} : { defaultValue: toProtoValue(spec[1]) };
      return create(ResolverInputSchema, { name, kind: { case: "feature", value: { path, optional, ...rest } } });
    }),
    body: { case: "python", value: { module: fqn.slice(0, fqn.lastIndexOf(".")), name: fqn.slice(fqn.lastIndexOf(".") + 1) } },
  });
}

/** A SQL resolver; columns by feature FQN. */
export function sql(
  fqn: string,
  body: string,
  columns: Readonly<Record<string, string>>,
  options: ResolverOptions & {
    readonly source?: string;
    readonly count?: RowCount;
    readonly total?: boolean;
    readonly star?: boolean;
  } = {},
): Resolver {
  const parameters = [...body.matchAll(/\$\{([\w.]+)\}/g)].map((match) => ({
    path: match[1] === "now" ? "" : (match[1] as string),
    offset: match.index,
    length: match[0].length,
  }));
  return create(ResolverSchema, {
    ...common(fqn, Object.keys(columns), options, `${fqn}.svc.sql`),
    body: {
      case: "sql",
      value: {
        source: options.source ?? "db",
        body,
        bodyLine: 3,
        parameters,
        columns: Object.entries(columns).map(([name, column]) => ({ feature: name, column })),
        count: options.count ?? RowCount.UNSPECIFIED,
        total: options.total ?? false,
        star: options.star ?? false,
      },
    },
  });
}

/** A graph. */
export function graph(
  featureSets: readonly FeatureSet[],
  resolvers: readonly Resolver[] = [],
  namedQueries: readonly Parameters<typeof create<typeof NamedQuerySchema>>[1][] = [],
): Graph {
  return create(GraphSchema, {
    featureSets: [...featureSets],
    resolvers: [...resolvers],
    namedQueries: namedQueries.map((query) => create(NamedQuerySchema, query)),
  });
}

/** Ids for everything of a graph that holds something: scalar features and has-many relations. */
export function featureIdsOf(of: Graph): Map<string, number> {
  const fqns = of.featureSets.flatMap((set) => set.features.filter((one) => one.kind.case !== "hasOne").map((one) => one.fqn));
  return new Map(fqns.map((fqn, position) => [fqn, position + 1]));
}
