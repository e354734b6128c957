/**
 * The rows of the graph index: features, relations, classes and resolvers with everything about
 * them resolved.
 */

import type { Expression, IncrementalRead, RowCount, SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import type { KeptWindow } from "../../../domain/expressions/tile-series.ts";
import type { RuleCheck } from "../../../domain/validations.ts";
import type { Coercer, FeatureValue } from "../../../domain/value.ts";
import type { CompiledTranslation } from "../../expressions/python/compile-translation.ts";
import type { ColumnType } from "../../sql/condition.ts";
import type { SeriesReader } from "../../tiles/series-rows.ts";
import type { Metric, VectorForm } from "../../vectors/vector-memory.ts";
import type { Caching } from "../../writes/policy.ts";
import type { AnswerType } from "./answer-type.ts";

/** A feature that holds a value. */
export interface ScalarInfo {
  readonly kind: "scalar";
  readonly fqn: string;
  readonly name: string;
  readonly namespace: string;
  readonly dtype: DataType;
  /** Its type in answers. */
  readonly answerType: AnswerType;
  /** As a Python user writes it. */
  readonly typeName: string;
  readonly nullable: boolean;
  /** Value used when no provider has one; undefined = no default. */
  readonly defaultValue: FeatureValue | undefined;
  /**
   * Oldest stored value that may be served, milliseconds; Infinity = never expires, 0 = not stored.
   */
  readonly stalenessMs: number;
  /** Its id in the online store; undefined = it cannot be stored. */
  readonly featureId: number | undefined;
  /** FQN of the resolver of a stream that gives its values; undefined = none does. */
  readonly stream: string | undefined;
  /** Whether its values go to the online store and are read from there (`store_online`). */
  readonly storesOnline: boolean;
  /** What becomes of a fresh null (`cache_nulls`), and of the default (`cache_defaults`). */
  readonly caching: { readonly nulls: Caching; readonly defaults: Caching };
  /** Greatest age of a value in the history that counts, milliseconds; undefined = any. */
  readonly offlineTtlMs?: number | undefined;
  /** Whether values that are stored offline only go online as well (`etl_offline_to_online`). */
  readonly followsOffline: boolean;
  /** Whether its values go to the history (`store_offline`). */
  readonly storesOffline: boolean;
  /** The number of its version, from 1. */
  readonly version: number;
  /** Whether it is a version that the bare name does not mean. */
  readonly isOldVersion: boolean;
  /** What callers are told when it is deprecated: `is deprecated: use user.name`. */
  readonly deprecation?: string | undefined;
  /** Whether it is tagged `pii`: no message shows its values where they are no caller's. */
  readonly personal: boolean;
  readonly primary: boolean;
  readonly featureTime: boolean;
  /** Coercion of values that resolvers return; those that break a strict rule do not fit. */
  readonly strict: Coercer;
  /** Coercion of values from users and databases, likewise. */
  readonly lenient: Coercer;
  /** The rules that its values must keep to. */
  readonly strictRules?: RuleCheck | undefined;
  /** The rules that are only counted. */
  readonly softRules?: RuleCheck | undefined;
  /** Whether a strict rule is a function of the project: workers are asked about uploads. */
  readonly hasStrictCheck?: boolean;
  /** Every resolver that lists it among its outputs, by FQN. */
  readonly producers: ResolverInfo[];
  /** The expression that computes it without code. */
  readonly expression?: Expression | undefined;
  /** The one that does so in offline queries; undefined = the same. */
  readonly offlineExpression?: Expression | undefined;
  /** The window of a windowed feature in milliseconds. */
  readonly windowMs?: number | undefined;
  /** Set for the pseudo-feature that represents the rows of a has-many relation in a plan. */
  readonly rowsOf?: ManyInfo | undefined;
  /** Set for a window whose aggregation is kept in tiles. */
  readonly kept?: KeptInfo | undefined;
  /** Set for the pseudo-feature of the rows of a kept window that are not read as tiles. */
  readonly edgesOf?: KeptInfo | undefined;
  /** Set for the pseudo-feature of a resolver's condition: the resolver's FQN. */
  readonly conditionOf?: string | undefined;
}

/** A window whose aggregation is kept in tiles. */
export interface KeptInfo {
  readonly window: KeptWindow;
  readonly many: ManyInfo;
  /** Reads rows for its series; compiled once for all windows of it. */
  readonly reader: () => SeriesReader;
  /** Pseudo-feature of the rows that are not read as tiles. */
  readonly edges: ScalarInfo;
}

/** A has-one relation. */
export interface RelationInfo {
  readonly kind: "has_one";
  readonly fqn: string;
  readonly name: string;
  readonly namespace: string;
  readonly foreign: NamespaceInfo;
  /** Whether a missing row is legal. */
  readonly optional: boolean;
  readonly join: readonly { readonly local: ScalarInfo; readonly foreign: ScalarInfo }[];
  /** Whether the join determines the foreign row's primary key. */
  readonly onPrimaryKey: boolean;
}

/** Features of the two sides of a relation. */
export interface PairInfo {
  readonly local: ScalarInfo;
  readonly foreign: ScalarInfo;
}

/** The rows of a relation that are nearest to a vector. */
export interface NearestInfo extends PairInfo {
  /** Number of rows. */
  readonly limit: number;
  readonly metric: Metric;
  readonly form: VectorForm;
  /** Feature of the rows that is given the distance; undefined = none. */
  readonly distance: ScalarInfo | undefined;
  /** Pairs of features that must be equal. */
  readonly equal: readonly PairInfo[];
  /** Pairs of texts, of which the foreign one contains the local one. */
  readonly containing: readonly PairInfo[];
  readonly filters: readonly Expression[];
}

/** A has-many relation. */
export interface ManyInfo {
  readonly kind: "has_many";
  readonly fqn: string;
  readonly name: string;
  readonly namespace: string;
  readonly foreign: NamespaceInfo;
  /** Empty when it cannot be joined: its rows are given, a resolver's, or the nearest ones. */
  readonly join: readonly PairInfo[];
  /** Set for the relation to the nearest rows. */
  readonly nearest: NearestInfo | undefined;
  /** Pseudo-feature of its rows in a plan. */
  readonly rows: ScalarInfo;
  /** Pseudo-feature of its rows as given with a query. */
  readonly given: ScalarInfo;
  /** Resolvers that return its rows. */
  readonly fillers: ResolverInfo[];
}

/** The meaning of a name within a class. */
export type Member = ScalarInfo | RelationInfo | ManyInfo;

/** Rows of a has-many relation as a parameter. */
export interface RowsParameter {
  readonly many: ManyInfo;
  /**
   * The columns: names as written in the resolver, and paths from the child's class; empty = all
   * available scalars of the child.
   */
  readonly columns: readonly { readonly name: string; readonly path: string }[];
  readonly filters: readonly Expression[];
  /** 0 = all. */
  readonly limit: number;
}

/** A feature class. */
export interface NamespaceInfo {
  readonly name: string;
  readonly className: string;
  readonly members: ReadonlyMap<string, Member>;
  /** Its scalar features in the order of definition. */
  readonly scalars: readonly ScalarInfo[];
  /** Default versions of features, by the name with their number. */
  readonly numbered: ReadonlyMap<string, ScalarInfo>;
  /** Windows of a windowed feature, by the bare name. */
  readonly windows: ReadonlyMap<string, readonly ScalarInfo[]>;
  readonly primaryKey: ScalarInfo | undefined;
  readonly featureTime: ScalarInfo | undefined;
}

/** A parameter of a resolver or a placeholder of a SQL query. */
export interface ParameterInfo {
  readonly name: string;
  /** Whether it is the query's time. */
  readonly now: boolean;
  /** Whether it is the bound of incremental runs, which goes by the name of a time. */
  readonly incremental?: boolean | undefined;
  /** The value of a constant of Python code, which goes by the name of a time. */
  readonly constant?: { readonly value: FeatureValue; readonly isFloat: boolean } | undefined;
  /** The relation path from the resolver's class to the feature's. */
  readonly relations: readonly RelationInfo[];
  /** Undefined for `now` and for a broken parameter. */
  readonly feature?: ScalarInfo | undefined;
  /** Whether the resolver runs when the feature is null, missing or failed. */
  readonly optional: boolean;
  readonly hasDefault: boolean;
  /** Passed instead of null when there is one. */
  readonly defaultValue?: FeatureValue | undefined;
  /** The reason why it cannot be passed. */
  readonly broken?: string | undefined;
  /** Set for rows of a has-many relation. */
  readonly rows?: RowsParameter | undefined;
  /**
   * Set for a column of a table: the parameter of the function that it belongs to, and the column's
   * name there.
   */
  readonly table?: { readonly parameter: string; readonly column: string } | undefined;
}

/** A SQL resolver's query. */
export interface SqlInfo {
  readonly source: string;
  readonly sourceKind: SourceKind;
  readonly body: string;
  /** Path of the file that has the body. */
  readonly file: string;
  /** Line of the body's first line in its file. */
  readonly bodyLine: number;
  /** One per placeholder, in order of appearance. */
  readonly parameters: readonly ParameterInfo[];
  /** The spans of the body that are placeholders, in characters. */
  readonly places: readonly { readonly offset: number; readonly length: number }[];
  /** Result column by feature FQN. */
  readonly columns: ReadonlyMap<string, string>;
  readonly count: RowCount;
  readonly all: boolean;
  readonly total: boolean;
  /** How runs read only what is new; undefined = they read all rows. */
  readonly incremental: IncrementalRead | undefined;
  readonly broken: string | undefined;
  readonly learned: LearnedColumns;
}

/**
 * Names and types of a query's columns, as the database describes them. Requested by the first step
 * that needs them, and kept as long as the deployment's tables.
 */
export interface LearnedColumns {
  /**
   * The mapping of a declared column to the database's name of it. A description that failed is not
   * kept.
   */
  exactName?: Promise<(column: string) => string> | undefined;
  types?: LearnedTypes | undefined;
}

/** Types of columns by the database's names. */
export interface LearnedTypes {
  /** Undefined = the database does not say. */
  readonly found: Promise<ReadonlyMap<string, ColumnType> | undefined>;
  /** Time of their request, by `performance.now()`. */
  readonly since: number;
}

/** A resolver. */
export interface ResolverInfo {
  readonly fqn: string;
  /** The class whose features it produces. */
  readonly namespace: string;
  readonly offline: boolean;
  /** Parameters in order; for SQL one per placeholder. */
  readonly inputs: readonly ParameterInfo[];
  /** FQNs of the known features that it produces. */
  readonly outputs: ReadonlySet<string>;
  /** The same features. */
  readonly features: readonly ScalarInfo[];
  readonly tags: readonly string[];
  readonly environments: readonly string[];
  readonly timeoutMs: number;
  /** `file:line`, or empty. */
  readonly place: string;
  readonly file: string;
  /** 0 = not known. */
  readonly line: number;
  readonly sql: SqlInfo | undefined;
  /** What must be true of a row for it to be computed; undefined = nothing. */
  readonly condition: ScalarInfo | undefined;
  /** The condition as it is written; empty = none. */
  readonly conditionText: string;
  /**
   * The shape of its result: values for a row, rows of its class, or the rows of a has-many
   * relation.
   */
  readonly shape: "values" | "rows" | "relation";
  /** Whether its rows are all rows of its class. */
  readonly total: boolean;
  /** Features of which no two rows of a result have the same values; empty = none are promised. */
  readonly uniqueOn: readonly ScalarInfo[];
  /** Columns of its table: rows with the same values of them are in one call; empty = none. */
  readonly partitionedBy: readonly ScalarInfo[];
  /** Path of the bool of which a row must be true in a run by itself; empty = all rows run. */
  readonly runFilter: string;
  /** FQN of the resolver whose rows run by themselves; empty = all that are known run. */
  readonly runSample: string;
  /** The reason why it can never run in this deployment. */
  readonly broken: string | undefined;
  /** For a Python function that the server computes itself where it is sure of the result. */
  readonly translation: CompiledTranslation | undefined;
  /** The reason why a Python function has no translation; empty when there is nothing to say. */
  readonly untranslated: string;
}
