/** The nodes of the goal graph: frames, the goals in them, and the candidates to provide those. */

import type { CompiledExpression } from "../../expressions/compiled.ts";
import type { NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import type { RowsSource } from "./child-plan.ts";
import type { FrameMode, OpKind, RowsNeeds } from "./plan.ts";

/** The row of a relation path while planning. */
export interface FrameNode {
  readonly id: number;
  readonly path: string;
  readonly parent: FrameNode | undefined;
  readonly relation: RelationInfo | undefined;
  readonly namespace: NamespaceInfo;
  readonly mode: FrameMode;
  readonly optional: boolean;
  readonly relations: readonly RelationInfo[];
  /** Goals that the row's existence depends on. */
  gates: readonly Goal[];
  readonly children: Map<RelationInfo, FrameNode>;
  readonly goals: Map<ScalarInfo, Goal>;
}

/** A feature of a frame to find a provider for. */
export interface Goal {
  readonly id: number;
  readonly frame: FrameNode;
  readonly feature: ScalarInfo;
  readonly path: string;
  /** Position among the given values, or -1. */
  readonly given: number;
  /** Its possible providers. */
  candidates: readonly Candidate[];
  /** Resolvers that produce the feature but cannot be used here, with the reasons. */
  rejected: readonly Rejection[];
  /** The primary key by which the online store would be read; undefined = it is not read. */
  key: Goal | undefined;
  /** Effective staleness in milliseconds. */
  staleMs: number;
  /** The reason why its expression cannot be evaluated here. */
  obstacle?: string;
}

/** A resolver that cannot be used. */
export interface Rejection {
  readonly resolver: ResolverInfo;
  readonly reason: string;
}

/**
 * A possible provider of a goal. `stored` = only from the online store, `default` = only by the
 * feature's default.
 */
export interface Candidate {
  readonly kind: "join" | "expression" | "resolver" | "default" | "stored";
  readonly call: CallNode | undefined;
  /** Goals without which it is impossible. */
  readonly required: readonly Goal[];
  /** For rows of a has-many relation: candidates of a lower rank come first. */
  readonly rank?: number;
}

/** A call of a resolver for a frame (or a join's copy); shared by the goals that it provides. */
export interface CallNode {
  readonly key: string;
  readonly kind: OpKind;
  readonly frame: FrameNode;
  readonly resolver: ResolverInfo | undefined;
  readonly inputs: readonly { readonly parameter: ParameterInfo; readonly goal: Goal | undefined; readonly nullable: boolean }[];
  /** Inputs that must be derivable, and the gates of the frame. */
  readonly required: readonly Goal[];
  readonly keys: readonly ScalarInfo[];
  /** What must be true of a row for the call; it is one of `required`. */
  readonly condition?: Goal | undefined;
  readonly expression?: CompiledExpression | undefined;
  /** The source of the rows of a has-many relation. */
  readonly source?: RowsSource | undefined;
  /** The features that the call reads of the rows of has-many relations. */
  readonly needs?: readonly { readonly goal: Goal; readonly needs: RowsNeeds }[] | undefined;
}

/** The candidates chosen for a goal. */
export interface Choice {
  /** Those with conditions, in the order in which these are tested. */
  readonly conditional: readonly Candidate[];
  /** The one for all other rows; undefined = only a default is left, or nothing. */
  readonly last: Candidate | undefined;
}

/** The provider chosen for a goal. */
export interface Decision {
  readonly goal: Goal;
  /** Calls with conditions, in their order: the first whose condition is true computes a row. */
  readonly conditional: readonly CallNode[];
  /**
   * The call for all other rows. Undefined when the goal is given, absent, or has only a default,
   * the store, or calls with conditions.
   */
  readonly call: CallNode | undefined;
  /** Whether the online store is read first. */
  readonly readStore: boolean;
  /** Reasons why other providers were not chosen. */
  readonly notes: readonly string[];
}

/** All calls that may provide a goal. */
export function callsOf({ conditional, call }: Pick<Decision, "conditional" | "call">): readonly CallNode[] {
  return call ? [...conditional, call] : conditional;
}

/**
 * A call with the goals that fill its inputs; undefined where an optional input cannot be derived.
 */
export interface BuiltCall {
  readonly call: CallNode;
  readonly inputs: readonly (Goal | undefined)[];
}

/** The query has more possible goals than are planned. */
export class PlanTooLarge extends Error {
  override readonly name = "PlanTooLarge";
}

/** The key of a row for an op that does not pass it to its resolver. */
export function hiddenParameter(feature: ScalarInfo): ParameterInfo {
  return { ...keyParameter(feature), name: "" };
}

/** A feature of the op's own frame as a parameter. */
export function keyParameter(feature: ScalarInfo): ParameterInfo {
  return { name: feature.name, now: false, relations: [], feature, optional: false, hasDefault: false };
}
