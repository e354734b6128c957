/**
 * The features of a graph as code generators need them: classes with members that have types, and
 * the structs and enums among those types. It follows from the graph alone, so that the same graph
 * gives the same code.
 */

import type { Feature, Graph, JoinKey, Nearest } from "../../gen/svc/v1/graph_pb.ts";
import type { DataType, EnumType, StructType } from "../../gen/svc/v1/value_pb.ts";
import { durationToMs } from "../domain/proto-time.ts";

/** What all members of a class have. */
interface MemberFacts {
  /**
   * The last part of its FQN: `fails__600__` for one window, `code@2` for a version other than the
   * default.
   */
  readonly name: string;
  readonly fqn: string;
  readonly description: string;
  readonly deprecated: boolean;
}

/** A feature that holds a value. */
export interface ValueMember extends MemberFacts {
  readonly kind: "value";
  readonly type: DataType;
  readonly nullable: boolean;
  readonly isPrimary: boolean;
  readonly isTime: boolean;
  /** The name without the window, and the window's length; undefined unless windowed. */
  readonly window: { readonly base: string; readonly seconds: number } | undefined;
  /** The name without the version, and its number; undefined unless it has versions. */
  readonly version: { readonly base: string; readonly number: number; readonly default: number } | undefined;
}

/** A relation. */
export interface RelationMember extends MemberFacts {
  readonly kind: "relation";
  readonly many: boolean;
  /** Whether a has-one row may be missing. */
  readonly optional: boolean;
  readonly target: FeatureClass;
  readonly join: readonly JoinKey[];
  readonly nearest: Nearest | undefined;
}

/** A feature of a class. */
export type Member = ValueMember | RelationMember;

/** A feature class. */
export interface FeatureClass {
  readonly namespace: string;
  /** The name of its Python class; several classes may have one name. */
  readonly name: string;
  readonly description: string;
  /** In the order of definition. */
  readonly members: readonly Member[];
}

/** A struct or an enum that a type of a feature is made of. */
export type NamedType = { readonly kind: "struct"; readonly type: StructType } | { readonly kind: "enum"; readonly type: EnumType };

/** The features of a graph. */
export interface FeatureModel {
  /** Where the features come from, for the head of what is generated: `the project flights`. */
  readonly origin: string;
  /** By namespace. */
  readonly classes: readonly FeatureClass[];
  /**
   * Structs and enums by what they are, those that others are made of first; two of one name that
   * differ are two.
   */
  readonly types: ReadonlyMap<string, NamedType>;
}

/** The features of a graph. */
export function featureModel(graph: Graph, origin: string): FeatureModel {
  const classes = new Map<string, FeatureClass & { members: Member[] }>();
  const sets = [...graph.featureSets].sort((a, b) => (a.namespace < b.namespace ? -1 : 1));
  for (const { namespace, className, description } of sets)
    classes.set(namespace, { namespace, name: className, description, members: [] });
  const types = new Map<string, NamedType>();
  for (const set of sets) {
    const { members } = classes.get(set.namespace) as { members: Member[] };
    for (const feature of set.features) {
      const member = memberOf(feature, set, classes);
      if (!member) continue;
      members.push(member);
      if (member.kind === "value") collectTypes(member.type, types);
    }
  }
  return { origin, classes: [...classes.values()], types };
}

function memberOf(
  feature: Feature,
  set: { readonly primaryKey: string; readonly featureTime: string },
  classes: ReadonlyMap<string, FeatureClass>,
): Member | undefined {
  const { deprecated, description, fqn, kind, name } = feature;
  const facts = { name, fqn, description, deprecated };
  if (kind.case === "scalar") {
    const { dtype, nullable, window, windowedBase } = kind.value;
    if (!dtype) return undefined;
    const base = windowedBase.slice(windowedBase.indexOf(".") + 1);
    return {
      kind: "value",
      ...facts,
      type: dtype,
      nullable,
      isPrimary: fqn === set.primaryKey,
      isTime: fqn === set.featureTime,
      window: window ? { base, seconds: durationToMs(window) / 1000 } : undefined,
      version:
        feature.version > 0 ? { base: name.split("@")[0] as string, number: feature.version, default: feature.defaultVersion } : undefined,
    };
  }
  const target = kind.value && classes.get(kind.value.foreignNamespace);
  if (!target) return undefined;
  const many = kind.case === "hasMany";
  return {
    kind: "relation",
    ...facts,
    many,
    optional: kind.case === "hasOne" && kind.value.optional,
    target,
    join: kind.value.join,
    nearest: kind.case === "hasMany" ? kind.value.nearest : undefined,
  };
}

function collectTypes(type: DataType, types: Map<string, NamedType>): void {
  const { kind } = type;
  if (kind.case === "list" && kind.value.element) collectTypes(kind.value.element, types);
  if (kind.case !== "struct" && kind.case !== "enum") return;
  const key = typeKey(type);
  if (types.has(key)) return;
  if (kind.case === "enum") {
    types.set(key, { kind: "enum", type: kind.value });
    return;
  }
  for (const { dtype } of kind.value.fields) if (dtype) collectTypes(dtype, types);
  types.set(key, { kind: "struct", type: kind.value });
}

/** What a type is, as text: equal for equal types, by which `FeatureModel.types` has them. */
export function typeKey(type: DataType): string {
  return JSON.stringify(type, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}

/**
 * A path from a class through has-one relations, and at most one has-many relation, to a member.
 */
export interface FeaturePath {
  readonly fqn: string;
  readonly member: Member;
  /** Whether a row on the way may be missing. */
  readonly optional: boolean;
  /** Whether it goes through a has-many relation, so that its value is a list. */
  readonly many: boolean;
}

/**
 * The paths from a class that are at most `depth` steps long, a feature of its own being one, in
 * the
 * order of definition.
 */
export function* pathsFrom(start: FeatureClass, depth: number): Generator<FeaturePath, void, undefined> {
  yield* pathsBelow(start, { fqn: start.namespace, optional: false, many: false }, depth);
}

function* pathsBelow({ members }: FeatureClass, from: Omit<FeaturePath, "member">, depth: number): Generator<FeaturePath, void, undefined> {
  for (const member of members) {
    const path = { ...from, fqn: `${from.fqn}.${member.name}`, member };
    if (member.kind === "value" || (member.many && !from.many)) yield path;
    if (member.kind === "value" || depth <= 1 || (member.many && from.many)) continue;
    const optional = from.optional || (!member.many && member.optional);
    yield* pathsBelow(member.target, { fqn: path.fqn, optional, many: from.many || member.many }, depth - 1);
  }
}
