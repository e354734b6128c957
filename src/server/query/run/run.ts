/** A run of a plan, as its operations and the answer see it. The executor is what implements it. */

import type { CarriedHeaders } from "../../../domain/traceparent.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { Log } from "../../log.ts";
import type { CallOrigin, ResolverCall, ResolverCalls, ResolverResult } from "../../python/pool.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { RowsWrite } from "../../stores/online/store.ts";
import type { DeploymentMeter } from "../deployment-meter.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { LiveDeployment } from "../live-deployment.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame, PlanOp } from "../plan/plan.ts";
import type { Awaitable } from "./awaitable.ts";
import type { RunCaches } from "./caches.ts";
import type { CellFailure, Cells } from "./cells.ts";
import type { QueryTime } from "./query-time.ts";
import type { Trace } from "./trace.ts";

/** One run of a plan on some rows. */
export interface Run {
  readonly plan: Plan;
  /** Number of rows. */
  readonly rows: number;
  readonly cells: Cells;
  readonly context: RunContext;
  /** The time of each row; undefined = all have the query's. */
  readonly times: readonly QueryTime[] | undefined;
  /** Runs of child rows, in the order in which they began. */
  readonly children: readonly Run[];
  /** Rows of has-many relations that were found and are to be stored. */
  readonly foundRows: RowsWrite[];
  /** Failures that a default stands in for, those of child rows among them. */
  readonly covered: readonly CellFailure[];

  /** The time that a row is answered as of. */
  timeOf(row: Row): QueryTime;
  /** The times of rows derived from some rows of this run; undefined = all have the query's. */
  timesOf(rows: readonly Row[]): readonly QueryTime[] | undefined;
  /** The times of rows in microseconds since 1970; one for all when they have the query's. */
  microsOf(rows: readonly Row[]): bigint | readonly bigint[];

  /**
   * Begins a run of child rows, which becomes one of `children`.
   * @param times of the child rows; undefined = all have the query's
   */
  nested(op: PlanOp, plan: Plan, rows: number, times: readonly QueryTime[] | undefined): Run;

  /**
   * Settles every output; once.
   * @param columns for each given slot of the plan, a value per row
   * @param failures by given slot, the rows that have no value, and why
   * @returns a promise only when something has to be waited for
   */
  execute(columns: readonly (readonly FeatureValue[])[], failures?: GivenFailures): Awaitable<void>;
}

/** Reasons why given values are missing, by given slot and row. */
export type GivenFailures = ReadonlyMap<SlotId, ReadonlyMap<Row, CellFailure>>;

/**
 * The context of a query beside plan and values: shared by its run and all runs of child rows below
 * it.
 */
export interface RunContext {
  readonly deployment: LiveDeployment;
  /** The workers of the deployment, or those of the resource group of its job. */
  readonly workers: ResolverCalls;
  /**
   * The time that the query answers as of; where its rows have times of their own, when it arrived.
   */
  readonly now: QueryTime;
  /**
   * The bound of an incremental run, a canonical datetime; undefined = it reads everything.
   */
  readonly since?: string | undefined;
  readonly queryId: string;
  /** Id of the query's trace: the caller's if it sent one, else one that is good for logs. */
  readonly traceId: string;
  /**
   * The caller's `traceparent` header, for the calls of a query that is not traced; empty = none.
   */
  readonly traceparent: string;
  /** What the caller has passed on with its span. */
  readonly carried: CarriedHeaders;
  /** Where the query comes from, for what its resolvers log. */
  readonly origin: CallOrigin;
  readonly tags: readonly string[];
  readonly queryContext: Readonly<Record<string, FeatureValue>>;
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  /** Set when the query is to be explained. */
  readonly trace: Trace | undefined;
  /** Set when the query is traced or its stages are kept. */
  readonly observer: RunObserver | undefined;
  /** Set where metrics are recorded. */
  readonly meter: DeploymentMeter | undefined;
  /** Results that steps of the query share. */
  readonly caches: RunCaches;
  /** The deployment's compiled expressions. */
  readonly compile: GraphIndex["compile"];
}

/**
 * A watcher of the steps of a query. Queries that are neither traced nor staged have none, and pay
 * nothing.
 */
export interface RunObserver {
  /** A run of child rows was made for an op. */
  nested(child: Run, op: PlanOp): void;
  /** An op starts for some rows. */
  opBegan(run: Run, op: PlanOp, rows: readonly Row[]): void;
  /** The results of an op were taken, for the very list of rows that it began with. */
  opEnded(run: Run, op: PlanOp, rows: readonly Row[]): void;
  /** Cells of one frame are looked up in the online store. */
  readBegan(run: Run, frame: PlanFrame, cells: readonly CellId[]): void;
  /**
   * The values that the online store had were taken, for the very list of cells that the lookup
   * began with.
   */
  readEnded(run: Run, frame: PlanFrame, cells: readonly CellId[]): void;
  /**
   * Values and rows of relations are written to the online store; call the returned function when
   * they are, with the error if there was one.
   */
  writeBegan(values: number, relations: number): (error?: unknown) => void;
  /**
   * Calls a worker for an op. The call carries the span, as the parent of the resolver's own
   * requests.
   */
  call(workers: ResolverCalls, op: PlanOp, call: ResolverCall): Promise<ResolverResult>;
  /** A source whose statements for an op are watched. */
  source(source: SqlSource, op: PlanOp): SqlSource;
}

/** The outcome for one cell. */
export type Outcome =
  | { readonly kind: "value"; readonly value: FeatureValue }
  | { readonly kind: "absent" }
  /**
   * `final`: the feature's default does not replace it. `isNull`: the result was null, which is not
   * a value of the feature.
   */
  | { readonly kind: "failed"; readonly failure: CellFailure; readonly final?: boolean; readonly isNull?: boolean };

/** The results of an op that computes values. */
export interface OpResults {
  /** For each output of the op, for each row of the call. */
  readonly outcomes: readonly (readonly Outcome[])[];
  /**
   * For each row of the call, the row's feature time in epoch milliseconds; undefined when the
   * resolver returned none.
   */
  readonly observedAt: readonly (number | undefined)[];
  /**
   * Of an op that looks rows up: for each row of the call, whether it has the row, or why it cannot
   * tell.
   */
  readonly found?: readonly RowFound[];
}

/** Whether a source has a row, or why it cannot tell. */
export type RowFound = boolean | CellFailure;
