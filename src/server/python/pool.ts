/** Running of Python resolvers: the executor's interface to the worker pool. */

import type { ErrorCode, ExceptionInfo } from "../../../gen/svc/v1/error_pb.ts";
import type { CheckedValue } from "../../domain/validations.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { StartedProcess } from "./launch.ts";

/** The part of a query's context that a call passes to the resolver. */
export interface CallContext {
  readonly queryId: string;
  readonly traceId: string;
  /** W3C `traceparent` header for requests of the resolver; absent = the query is not traced. */
  readonly traceparent?: string;
  /** Further headers for such requests, as the caller of the query sent them. */
  readonly tracestate?: string;
  readonly baggage?: string;
  readonly tags: readonly string[];
  readonly queryContext: Readonly<Record<string, FeatureValue>>;
}

/** Where a call comes from, for the lines that the resolver writes. It is not told to workers. */
export interface CallOrigin {
  /** Id of the offline query or run; empty = an online query. */
  readonly operation: string;
  readonly queryName: string;
  readonly correlationId: string;
}

/**
 * Child rows of a batch: those of row i are from `offsets[i]` to `offsets[i + 1]`. Columns by path
 * or FQN of the child's feature.
 */
export interface RowGroups {
  /** One longer than the batch. */
  readonly offsets: readonly number[];
  readonly columns: Readonly<Record<string, readonly FeatureValue[]>>;
}

/** A value of a result: one that breaks a strict check of the project says so. */
export type ResultValue = FeatureValue | CheckedValue;

/** Child rows of a result, in the same form. */
export interface ResultGroups {
  readonly offsets: readonly number[];
  readonly columns: Readonly<Record<string, readonly ResultValue[]>>;
}

/**
 * What the name of a call begins with that has a worker ask the checks of a feature about values,
 * the column `value`; the feature's FQN follows.
 */
export const CHECKS_OF = "validations of ";

/**
 * What the name of a call begins with that runs a function of callers; the function's name follows.
 * Columns are its parameters, those with a value of their own may be missing, and the result is the
 * column `result`. The first row that fails is the only error.
 */
export const FUNCTION = "function ";

/** One call: a batch of rows for one resolver. */
export interface ResolverCall {
  /** Resolver FQN. */
  readonly resolver: string;
  /** Rows in the batch. */
  readonly rows: number;
  /** Values per parameter, each as long as `rows`; without parameters of kind `now`. */
  readonly columns: Readonly<Record<string, readonly FeatureValue[]>>;
  /** Child rows per parameter of kind `rows`. */
  readonly groups?: Readonly<Record<string, RowGroups>>;
  /**
   * Columns per parameter of kind `table`, by path; each as long as the batch. Such a resolver runs
   * once for the whole batch.
   */
  readonly tables?: Readonly<Record<string, Readonly<Record<string, readonly FeatureValue[]>>>>;
  /** Canonical datetime per row, for `Now`. */
  readonly now: readonly string[];
  readonly deadlineMs: number;
  readonly context: CallContext;
  /** Absent = nothing is known. */
  readonly origin?: CallOrigin;
  /** Ends the call, as if its time were up, when it is aborted; default: never. */
  readonly signal?: AbortSignal;
}

/** The error of a row that has no result. */
export interface RowError {
  readonly row: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly exception?: ExceptionInfo;
}

/**
 * What a call asked of a model: requests, those that failed, and the tokens that answers tell of.
 */
export interface ModelUsage {
  readonly model: string;
  readonly requests: number;
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Results of a call: per output FQN a value per row (null where a row failed), not yet checked
 * against the feature's type.
 */
export interface ResolverResult {
  readonly columns: Readonly<Record<string, readonly ResultValue[]>>;
  /**
   * Rows of a resolver of shape ROWS (rows of the class, keyed by the primary key among the
   * columns, for each call of the function) or RELATION (child rows of each row of the batch), by
   * FQN.
   */
  readonly groups?: ResultGroups;
  readonly errors: readonly RowError[];
  /** What broke strict checks, by feature: the row and the rule; absent = nothing did. */
  readonly broken?: Readonly<Record<string, readonly (readonly [row: number, rule: string])[]>>;
  /** Values that broke checks that are not strict, by feature; absent = none did. */
  readonly counted?: Readonly<Record<string, number>>;
  /** Messages that a stream left out on purpose; absent = none. */
  readonly skipped?: readonly number[];
  /** What the call asked of a model; absent = the resolver asks none. */
  readonly usage?: ModelUsage;
  /** What rows returned in place of values, which are null or without rows; absent = nothing. */
  readonly statements?: readonly ReturnedStatement[];
  /** Why no row was computed, if that is about the call or the pool; absent = rows were. */
  readonly whole?: "crashed" | "timed_out" | "unavailable";
  readonly ranMs: number;
}

/** Statements of one text that a resolver returned for rows of a call: the platform runs them. */
export interface ReturnedStatement {
  readonly source: string;
  readonly text: string;
  /** How many rows it gives; empty = as the resolver's result says. */
  readonly count: "" | "one" | "one_or_none" | "all";
  /** The names of the arguments, and those of them that are floats. */
  readonly names: readonly string[];
  readonly floats: readonly string[];
  /** FQNs of features by the column that fills them. */
  readonly fields: Readonly<Record<string, string>>;
  /** Columns that it may have beside those of what the resolver returns. */
  readonly keys: readonly string[];
  /** The rows of the call, and for each its arguments. */
  readonly rows: readonly number[];
  readonly values: readonly (readonly FeatureValue[])[];
}

/** State of a pool, for health and messages. */
export interface PoolHealth {
  readonly workers: number;
  readonly degraded: boolean;
  readonly lastFailure?: string;
}

/** What takes calls of resolvers. */
export type ResolverCalls = Pick<PythonPool, "call" | "health">;

/** What takes the calls of a job that was submitted to a resource group; undefined = to none. */
export function callsIn(pool: PythonPool, group: string | undefined): ResolverCalls {
  return group === undefined ? pool : (pool.inGroup?.(group) ?? pool);
}

/** The workers of one deployment. */
export interface PythonPool {
  /**
   * Runs a call. Never rejects because of user code: failures, crashes and timeouts are row errors.
   */
  call(call: ResolverCall): Promise<ResolverResult>;
  /** State of all workers, or of those that run a resolver. */
  health(resolver?: string): PoolHealth;
  /**
   * What takes calls to workers of a resource group, whatever groups the resolvers have, and starts
   * these with the first one; absent where there are no Python resolvers.
   */
  inGroup?(group: string): ResolverCalls;
  /** Sets the number of workers to at least this; absent where there are none. */
  resize?(atLeast: number): void;
  /** Lets running calls end (at most `graceMs`), then stops the workers. */
  drain(graceMs: number): Promise<void>;
}

/** A line logged by user code. */
export interface WorkerLog {
  readonly level: "debug" | "info" | "warning" | "error";
  readonly text: string;
  readonly logger: string;
  readonly resolver: string;
  readonly queryId: string;
  readonly timestampMs: number;
  /** Where the query comes from; absent = the line is of none, or of one that ended long ago. */
  readonly origin?: CallOrigin & { readonly traceId: string };
  /** Name of the process that wrote it; empty = it has none. */
  readonly podName: string;
}

/** A line as a worker sends it. */
export type PlainLog = Omit<WorkerLog, "origin" | "podName">;

/** An observer of a pool's processes. */
export interface WorkerObserver {
  /** Called when a process has been started; what it returns is told what becomes of it. */
  began(process: StartedProcess): {
    /** Name of the process, as people are told it. */
    readonly name: string;
    /** The worker has imported the project. */
    ready(): void;
    /** The process has ended; `cpuMs` is its processor time, with that of its children. */
    ended(end: { readonly isExpected: boolean; readonly how: string; readonly cpuMs: number | undefined }): void;
  };
}
