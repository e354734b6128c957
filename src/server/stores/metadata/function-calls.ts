/**
 * Calls of functions that were kept, with their arguments and results. A call has one job, whose
 * fencing number says who may still write to it. Every method is one atomic step; times are epoch
 * milliseconds.
 */

import type { NewJob } from "./jobs.ts";

/** The state of a call; `succeeded`, `failed` and `cancelled` are final. */
export type StoredCallState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/** How arguments are written, and results after them. */
export type CallForm = "arrow_stream" | "arrow_file" | "json";

/** Why a call failed. */
export interface CallError {
  /** As in `ErrorCode`. */
  readonly code: number;
  readonly message: string;
  readonly exception?: {
    readonly kind: string;
    readonly message: string;
    readonly stacktrace: string;
    readonly file: string;
    readonly line: number;
  };
}

/** A call to be stored. */
export interface NewFunctionCall {
  readonly id: string;
  readonly environmentId: string;
  /** Branch of its deployment; empty = the environment's own. */
  readonly branch: string;
  readonly deploymentId: string;
  readonly name: string;
  readonly version: number;
  readonly traceId: string;
  /** Header of the caller that asked for a trace; empty = nobody did. */
  readonly traceparent: string;
  readonly form: CallForm;
  readonly rows: number;
  /** Client that asked for it. */
  readonly createdBy: string;
}

/** A call as it is stored. */
export interface FunctionCallRecord extends NewFunctionCall {
  readonly state: StoredCallState;
  /** The largest fencing number that wrote to it. */
  readonly fence: number;
  /** Attempts that began. */
  readonly attempts: number;
  /** Bytes of its arguments. */
  readonly inputBytes: number;
  /** Undefined = it did not fail. */
  readonly error: CallError | undefined;
  readonly enqueuedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** How a call ends. */
export type CallOutcome =
  | { readonly state: "succeeded"; readonly output: Uint8Array }
  | { readonly state: "failed"; readonly error: CallError };

/** Most calls of an environment that wait or run, and most bytes of their arguments. */
export interface CallLimits {
  readonly calls: number;
  readonly bytes: number;
}

/** The calls. */
export interface FunctionCallStore {
  /**
   * Stores a call with its arguments and enqueues its job. `full` when the environment would have
   * more that has not ended than the limits allow.
   */
  submit(call: NewFunctionCall, input: Uint8Array, job: NewJob, limits: CallLimits): Promise<"stored" | "full">;
  /**
   * Marks a call as running. Undefined when a later fencing number has written to it, or it has
   * ended.
   */
  begin(id: string, fence: number, attempts: number): Promise<FunctionCallRecord | undefined>;
  /**
   * Ends a call, whose arguments are forgotten; false when a later fencing number has written to
   * it, or it has ended.
   */
  end(id: string, fence: number, outcome: CallOutcome): Promise<boolean>;
  /** Ends a call as cancelled, whoever runs it; false when it has ended, or there is none. */
  cancel(id: string): Promise<boolean>;
  call(id: string): Promise<FunctionCallRecord | undefined>;
  /** The arguments of a call that has not ended. */
  input(id: string): Promise<Uint8Array | undefined>;
  /** The result of a call that succeeded. */
  output(id: string): Promise<Uint8Array | undefined>;
  /** Calls of an environment, newest first; `name`: of one function alone. */
  list(environmentId: string, name: string | undefined, limit: number): Promise<FunctionCallRecord[]>;
  /** How many calls were stored since a time. */
  count(environmentId: string, name: string | undefined, since: number): Promise<number>;
  /**
   * Removes results of calls that ended longer ago than this, at most `limit`; returns their
   * number.
   */
  forgetResults(olderThanMs: number, limit: number): Promise<number>;
  /** Removes calls that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
