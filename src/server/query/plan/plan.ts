/**
 * Plans: the planner makes them and the executor runs them. A plan holds no values, so that queries
 * of the same shape share it.
 */

import type { PlannerOptions } from "../../../domain/planner-options.ts";
import type { CompiledExpression } from "../../expressions/compiled.ts";
import type { RowTest } from "../../expressions/row-test.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { KeptInfo, ManyInfo, NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import type { ScanStatement } from "../ops/sql-statement.ts";
import type { FrameId, OpId, SlotId } from "./ids.ts";

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
  readonly options: PlannerOptions;
  /**
   * FQN of the resolver that alone computes those of the outputs that it gives, whatever is stored;
   * it may be one that is offline only.
   */
  readonly forcedResolver?: string | undefined;
  /**
   * Set for rows of history: resolvers that are offline only take part, before others. Only
   * features of `computed` are given by resolvers or defaults.
   */
  readonly history?: { readonly computed: "all" | ReadonlySet<ScalarInfo> } | undefined;
  /** For a plan of child rows, the has-many relations passed on the way to them. */
  readonly nesting?: readonly ManyInfo[];
}

/** A feature reached from the root class. */
export interface PathFeature {
  readonly relations: readonly RelationInfo[];
  readonly feature: ScalarInfo;
  /** For rows of a has-many relation given with the query: the features that every row has. */
  readonly given?: GivenChildren;
}

/** The features that every row given for a has-many relation has. */
export interface GivenChildren {
  readonly columns: readonly GivenColumn[];
  /** Rows of has-one relations that are given in each, or given as null in each. */
  readonly rows: readonly GivenRow[];
}

/** A feature that is given in every row. */
export interface GivenColumn {
  /** The relation path from the child's class. */
  readonly relations: readonly RelationInfo[];
  readonly feature: ScalarInfo;
  /**
   * Pseudo-feature of its values, named by the path from the child's class; the feature itself
   * where the child has it.
   */
  readonly key: ScalarInfo;
}

/** The features and relations of child rows that are needed; paths start at the child's class. */
export interface RowsNeeds {
  readonly paths: ReadonlySet<string>;
  /** Whether every available scalar is needed. */
  readonly all: boolean;
  /** Has-many relations of the child whose rows an expression aggregates. */
  readonly relations: ReadonlyMap<string, RowsNeeds>;
  /** Test that rows must pass to be needed; undefined = all are. */
  readonly test?: RowTest | undefined;
}

/** A row given in place of a join. */
export interface GivenRow {
  readonly relations: readonly RelationInfo[];
  /** Whether null was given: there is no row. */
  readonly absent: boolean;
}

/** A requested feature. */
export interface OutputFeature extends PathFeature {
  /** Whether it was named by itself and not by its class: then it must have a provider. */
  readonly named: boolean;
  /** For rows of a has-many relation, what is needed of them. */
  readonly needs?: RowsNeeds;
  /**
   * For rows of a has-many relation, the child's feature whose values are wanted as a list;
   * undefined = whole rows.
   */
  readonly pick?: string | undefined;
}

/**
 * The way in which the row of a relation path is found.
 * - `root`: it is the query's row.
 * - `join`: by the values of the join's features on the near side.
 * - `open`: as `join`, but features of it were given by path, so that it exists whatever the join
 *   says.
 * - `given`: it was given whole.
 * - `absent`: it was given as null.
 */
export type FrameMode = "root" | "join" | "open" | "given" | "absent";

/** The rows of a relation path, one for each row of the query. */
export interface PlanFrame {
  readonly id: FrameId;
  /** `flight`, `flight.origin`. */
  readonly path: string;
  readonly namespace: NamespaceInfo;
  /** Undefined for the root. */
  readonly relation: RelationInfo | undefined;
  readonly mode: FrameMode;
  /** Whether a relation on the path is optional: reads are then nullable. */
  readonly optional: boolean;
  /**
   * The slots whose values must be known before the row can be looked for; empty unless the mode is
   * `join`.
   */
  readonly gateSlots: readonly SlotId[];
  /**
   * The slot with the value of the primary key for the online store, of the near side where a join
   * is on it; undefined = the key is not known, and nothing is read or stored.
   */
  readonly keySlot: SlotId | undefined;
  /**
   * The slot with the value of the primary key, for answers; undefined = the plan does not have it.
   */
  readonly primarySlot: SlotId | undefined;
  /**
   * Ops that decide whether the row exists, run one after another until one finds it; empty = none
   * can decide or none has to.
   */
  readonly rowOps: readonly OpId[];
}

/** A feature of a frame. */
export interface PlanSlot {
  readonly id: SlotId;
  readonly frame: FrameId;
  readonly feature: ScalarInfo;
  /** FQN from the root: `flight.origin.latitude`. */
  readonly path: string;
  /** Position among the given values; -1 = not given. */
  readonly given: number;
  /** Ops with conditions: a row is computed by the first whose condition is true, else by `op`. */
  readonly choices: readonly PlanChoice[];
  /** The op that produces it where no condition is true; undefined = none. */
  readonly op: OpId | undefined;
  /** Whether it is the condition of an op. */
  readonly isCondition: boolean;
  /** Whether rows for which no condition is true are left out, as in a run of the resolver. */
  readonly leavesOut: boolean;
  /** Oldest stored value that is served, milliseconds; 0 = the store is not read. */
  readonly readMs: number;
  /** Whether a fresh value is stored; of rows of a has-many relation, whether all of them are. */
  readonly stored: boolean;
  /** Ops that take it, each once. */
  readonly takers: readonly OpId[];
  /** Frames that it gates. */
  readonly gates: readonly FrameId[];
  /** Whether it is the key of its frame for the online store. */
  readonly isKey: boolean;
  /**
   * Whether it could have a value although its row does not exist, so that `rowOps` are run first.
   */
  readonly needsRow: boolean;
  /** Reasons why other providers were not chosen, one line each. */
  readonly notes: readonly string[];
}

/** An op that computes the rows for which a condition is true. */
export interface PlanChoice {
  readonly condition: SlotId;
  readonly op: OpId;
}

/** An argument of an op. */
export interface PlanInput {
  readonly parameter: ParameterInfo;
  /** Undefined = the query's time, or an optional feature that nothing provides. */
  readonly slot: SlotId | undefined;
  /** Whether the path from the op's frame to the feature's has an optional relation. */
  readonly nullable: boolean;
  /** For rows of a has-many relation, what the op reads of them. */
  readonly needs?: RowsNeeds | undefined;
}

/** One call of a resolver for a frame, or the copy of a join's value to the far side. */
export interface PlanOp {
  readonly id: OpId;
  readonly kind: OpKind;
  readonly frame: FrameId;
  /** Undefined for joins. */
  readonly resolver: ResolverInfo | undefined;
  /** Whether it waits until all rows that it is wanted for are known, for their partitions. */
  readonly gathers: boolean;
  /** Whether a row that it does not find does not exist, because no other op decides. */
  readonly isRowSource: boolean;
  readonly inputs: readonly PlanInput[];
  /** Distinct slots among the inputs. */
  readonly inputSlots: readonly SlotId[];
  /** The slots it provides. */
  readonly outputs: readonly SlotId[];
  /**
   * For a SQL query that takes no features: the features that its rows are looked up by, in the
   * order of the inputs.
   */
  readonly keys: readonly ScalarInfo[];
  /** Of kind `expression`: the computation. */
  readonly expression?: CompiledExpression | undefined;
  /** Of kind `rows`: what is done with the child rows. */
  readonly rows?: PlanRows | undefined;
}

/**
 * The kinds of ops. `translated` computes a Python function without Python where that is sure to be
 * the same; `scan` looks up rows by key among those that a Python resolver returns; `rows` finds
 * the rows of a has-many relation and computes their features; `tiles` aggregates a kept window.
 */
export type OpKind = "python" | "translated" | "sql" | "join" | "scan" | "expression" | "rows" | "tiles";

/** The source of the rows of a has-many relation. */
export type RowsSourceKind = "given" | "relation" | "sql" | "scan" | "nearest";

/** The source of child rows, and the plan that is run on all of them together. */
export interface PlanRows {
  readonly many: ManyInfo;
  readonly source: RowsSourceKind;
  /** Features of the child that the source has; of the join, the parent's values. */
  readonly givens: readonly ScalarInfo[];
  /** Those among them that are read. */
  readonly used: ReadonlySet<ScalarInfo>;
  /**
   * The test that a database may apply, because rows that do not pass it are not needed. Returned
   * rows are filtered all the same.
   */
  readonly test: RowTest | undefined;
  /** The plan of the child rows; its given slots are those of `givens`. */
  readonly child: Plan;
  /** Positions of the child plan's outputs by path from the child's class. */
  readonly columns: ReadonlyMap<string, number>;
  /** The same for has-many relations of the child whose rows are aggregated. */
  readonly relations: ReadonlyMap<string, number>;
  /** Positions of the child plan's outputs for the child's available scalars. */
  readonly whole: readonly number[];
  /** Set when only the rows of a kept window are needed that are not read as tiles. */
  readonly edgesOf?: KeptInfo | undefined;
  /**
   * Of the nearest rows: the oldest stored values of a feature that count, milliseconds.
   */
  readonly oldest?: ((feature: ScalarInfo) => number) | undefined;
  /** Whether the source provides all needed features, so that nothing has to be run. */
  readonly isComplete: boolean;
}

/** A feature of the answer. */
export interface PlanOutput {
  readonly path: string;
  readonly feature: ScalarInfo;
  /** Undefined when nothing provides it. */
  readonly slot: SlotId | undefined;
  /** The reason why nothing provides it. */
  readonly reason?: string;
  /** For rows of a has-many relation: the child's feature that is listed; empty = whole rows. */
  readonly pick?: string | undefined;
}

/** The statement by which an op looks rows up in a source. */
export interface PlanLookup {
  readonly source: SqlSource;
  readonly statement: ScanStatement;
}

/**
 * The parts of answers that are the same for all queries of a plan, each kept by the first answer
 * that was encoded so.
 */
export interface SharedAnswerParts {
  /** JSON of the types by output. */
  typesJson?: string;
  /** What callers are told about the outputs. */
  warnings?: readonly string[];
  /** The bytes of the outputs' types and warnings as a message. */
  typesBytes?: Uint8Array;
  /** The bytes of the outputs' paths as a field of a message, in their order. */
  pathsBytes?: readonly Uint8Array[];
  /** The origins of the last answer's fields, which are most often those of the next one. */
  origins?: AnswerOrigins;
}

/** Where the fields of an answer come from, in their order. */
export interface AnswerOrigins {
  readonly fields: readonly { readonly hit: boolean; readonly resolver: string }[];
  /** As the query log keeps them. */
  readonly text: string;
  /** Share of the fields that the online store served; null = there are none. */
  readonly hitShare: number | null;
}

/**
 * A plan, shared by all queries of its shape. Nothing of it changes but what is kept of the work
 * that these have in common.
 */
export class Plan {
  /** Same for queries of the same shape, hex. */
  readonly hash: string;
  readonly options: PlannerOptions;
  readonly frames: readonly PlanFrame[];
  readonly slots: readonly PlanSlot[];
  readonly ops: readonly PlanOp[];
  readonly outputs: readonly PlanOutput[];
  /** The slot of each given value, in order. */
  readonly givenSlots: readonly SlotId[];
  /** The slots whose fresh values are stored, rows of has-many relations aside. */
  readonly storedSlots: readonly SlotId[];
  /**
   * Statements of ops as the last query made them, which serve the next: they live as long as the
   * plan.
   */
  readonly lookups = new Map<OpId, PlanLookup>();
  /** Filled by answers, and as lasting. */
  readonly answerParts: SharedAnswerParts = {};

  constructor(parts: Omit<Plan, "lookups" | "answerParts" | "slot" | "frame" | "op" | "outputOf" | "providersOf">) {
    this.hash = parts.hash;
    this.options = parts.options;
    this.frames = parts.frames;
    this.slots = parts.slots;
    this.ops = parts.ops;
    this.outputs = parts.outputs;
    this.givenSlots = parts.givenSlots;
    this.storedSlots = parts.storedSlots;
  }

  slot(id: SlotId): PlanSlot {
    return this.slots[id] as PlanSlot;
  }

  frame(id: FrameId): PlanFrame {
    return this.frames[id] as PlanFrame;
  }

  op(id: OpId): PlanOp {
    return this.ops[id] as PlanOp;
  }

  /** The slot of an op that provides one. */
  outputOf({ outputs: [only] }: PlanOp): PlanSlot {
    return this.slots[only ?? -1] as PlanSlot;
  }

  /** The ops that provide a slot: those with conditions in their order, and the one without. */
  providersOf({ choices, op }: PlanSlot): readonly PlanOp[] {
    return [...choices.map((choice) => this.op(choice.op)), ...(op === undefined ? [] : [this.op(op)])];
  }
}
