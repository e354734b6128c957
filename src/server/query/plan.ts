/** What the planner makes and the executor runs. A plan holds no values: queries of the same shape share it. */

import type { NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo } from "./index-types.ts";

/** The shape of a request: everything of it that the choice of providers can depend on. */
export interface PlanShape {
  /** The root class. */
  readonly root: NamespaceInfo;
  /** Features given, in the order of their values. */
  readonly givens: readonly PathFeature[];
  /** Rows of has-one relations given whole, or given as null. */
  readonly rows: readonly GivenRow[];
  readonly outputs: readonly OutputFeature[];
  /** The query's tags. */
  readonly tags: readonly string[];
  /** Overrides of staleness in milliseconds, by FQN. */
  readonly staleness: ReadonlyMap<string, number>;
  readonly plannerOptions: Readonly<Record<string, string>>;
}

/** A feature reached from the root class. */
export interface PathFeature {
  readonly relations: readonly RelationInfo[];
  readonly feature: ScalarInfo;
}

/** A row given in place of a join. */
export interface GivenRow {
  readonly relations: readonly RelationInfo[];
  /** Whether null was given: there is no row. */
  readonly absent: boolean;
}

/** A feature asked for. */
export interface OutputFeature extends PathFeature {
  /** Whether it was named by itself and not by its class: then it must have a provider. */
  readonly named: boolean;
}

/**
 * How the row of a relation path is found.
 * - `root`: it is the query's row.
 * - `join`: by the values of the join's features on the near side.
 * - `open`: as `join`, but features of it were given by path, so that it exists whatever the join says.
 * - `given`: it was given whole.
 * - `absent`: it was given as null.
 */
export type FrameMode = "root" | "join" | "open" | "given" | "absent";

/** The rows of a relation path, one for each row of the query. */
export interface PlanFrame {
  readonly id: number;
  /** `flight`, `flight.origin`. */
  readonly path: string;
  readonly namespace: NamespaceInfo;
  /** Undefined for the root. */
  readonly relation: RelationInfo | undefined;
  readonly mode: FrameMode;
  /** Whether a relation on the way is optional: reads are then nullable. */
  readonly optional: boolean;
  /** The slots whose values must be known before the row can be looked for; empty unless the mode is `join`. */
  readonly gateSlots: readonly number[];
  /** The slot of the primary key for the online store; -1 = the key is not known, nothing is read or stored. */
  readonly keySlot: number;
  /** The slot of the primary key if the plan has it, for answers; else -1. */
  readonly primarySlot: number;
}

/** A feature of a frame. */
export interface PlanSlot {
  readonly id: number;
  readonly frame: number;
  readonly feature: ScalarInfo;
  /** FQN from the root: `flight.origin.latitude`. */
  readonly path: string;
  /** Position among the given values; -1 = not given. */
  readonly given: number;
  /** The op that produces it; -1 = none. */
  readonly op: number;
  /** Oldest stored value that is served, milliseconds; 0 = the store is not read. */
  readonly readMs: number;
  /** Whether a fresh value is stored. */
  readonly stored: boolean;
  /** Ops that take it, each once. */
  readonly takers: readonly number[];
  /** Frames that it gates. */
  readonly gates: readonly number[];
  /** Whether it is the key of its frame for the online store. */
  readonly isKey: boolean;
  /** Why other providers were not chosen, one line each. */
  readonly notes: readonly string[];
}

/** An argument of an op. */
export interface PlanInput {
  readonly parameter: ParameterInfo;
  /** -1 = the query's time, or an optional feature that nothing provides. */
  readonly slot: number;
  /** Whether the way from the op's frame to the feature's goes through an optional relation. */
  readonly nullable: boolean;
}

/** One call of a resolver for a frame, or the copy of a join's value to the far side. */
export interface PlanOp {
  readonly id: number;
  readonly kind: "python" | "sql" | "join";
  readonly frame: number;
  /** Undefined for joins. */
  readonly resolver: ResolverInfo | undefined;
  readonly inputs: readonly PlanInput[];
  /** Distinct slots among the inputs. */
  readonly inputSlots: readonly number[];
  /** The slots it provides. */
  readonly outputs: readonly number[];
  /** For a SQL query without placeholders: the features that its rows are looked up by, in the order of the inputs. */
  readonly keys: readonly ScalarInfo[];
}

/** A feature of the answer. */
export interface PlanOutput {
  readonly path: string;
  readonly feature: ScalarInfo;
  readonly slot: number;
  /** Set, with slot -1, when nothing provides it. */
  readonly reason?: string;
}

/** A plan. */
export interface Plan {
  /** Same for queries of the same shape, hex. */
  readonly hash: string;
  readonly frames: readonly PlanFrame[];
  readonly slots: readonly PlanSlot[];
  readonly ops: readonly PlanOp[];
  readonly outputs: readonly PlanOutput[];
  /** The slot of each given value, in order. */
  readonly givenSlots: readonly number[];
  /** The slots whose fresh values are stored. */
  readonly storedSlots: readonly number[];
}
