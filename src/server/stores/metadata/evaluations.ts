/**
 * Runs of evaluations. Every method is one atomic step; times are epoch milliseconds. A run has one
 * job, whose fencing number says who may still write to it.
 */

import type { JsonObject } from "../../../domain/json-value.ts";
import type { NewJob } from "./jobs.ts";

/** The state of a run; `succeeded`, `failed` and `cancelled` are final. */
export type StoredEvaluationRunState = "received" | "running" | "succeeded" | "failed" | "cancelled";

/** What one scorer gave in a run; undefined figures = it scored no row. */
export interface ScoreRecord {
  readonly scorer: string;
  /** Rows that it scored. */
  readonly count: number;
  /** Rows for which it failed. */
  readonly errors: number;
  readonly mean?: number | undefined;
  readonly p50?: number | undefined;
  readonly p90?: number | undefined;
  readonly p99?: number | undefined;
}

/** Why a row failed. */
export interface RowFailureRecord {
  /** Number of the row, from 0. */
  readonly row: number;
  /** The row's key as text; empty without one. */
  readonly key: string;
  /** Empty = the function failed. */
  readonly scorer: string;
  readonly message: string;
}

/** A run to be stored. */
export interface NewEvaluationRun {
  readonly id: string;
  readonly environmentId: string;
  readonly evaluationId: string;
  readonly evaluationName: string;
  /** The workflow that its job is. */
  readonly workflowId: string;
  /** Name of the dataset when the run was asked for; empty = it had none. */
  readonly dataset: string;
  readonly revisionId: string;
  readonly deploymentId: string;
  /** Branch of that deployment; empty = the environment's own. */
  readonly branch: string;
  /** What the caller noted. */
  readonly metadata: JsonObject;
  /** Rows of the revision. */
  readonly rows: number;
  /** Client that asked for it. */
  readonly createdBy: string;
}

/** A run as it is stored. */
export interface EvaluationRunRecord extends NewEvaluationRun {
  readonly state: StoredEvaluationRunState;
  /** The largest fencing number that wrote to it. */
  readonly fence: number;
  /** Attempts that began. */
  readonly attempts: number;
  /** Rows that are evaluated and kept. */
  readonly rowsDone: number;
  /** Rows, of those at the end, for which the function or a scorer failed. */
  readonly rowsFailed: number;
  /** The first of these; undefined before the end. */
  readonly firstFailure: RowFailureRecord | undefined;
  /** In the order of the scorers; none before the end. */
  readonly scores: readonly ScoreRecord[];
  /** Mean of the scorers' averages; undefined without any. */
  readonly averageScore: number | undefined;
  /** Empty before the end. */
  readonly resultRevisionId: string;
  /** Why the last attempt failed; empty = none did. */
  readonly error: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** What changes in a run. */
export type EvaluationRunPatch = Partial<
  Pick<EvaluationRunRecord, "averageScore" | "error" | "firstFailure" | "resultRevisionId" | "rowsDone" | "rowsFailed" | "scores" | "state">
>;

/** A selection of runs. */
export interface EvaluationRunFilter {
  readonly environmentId: string;
  /** Default: all. */
  readonly evaluationId?: string | undefined;
  /** Default: all. */
  readonly states?: readonly StoredEvaluationRunState[];
  /** Only those that were stored before the run with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The runs of evaluations. */
export interface EvaluationStore {
  /**
   * Stores a run and enqueues its job. `full` when the environment would have more than `limit`
   * runs that have not ended.
   */
  create(run: NewEvaluationRun, job: NewJob, limit: number): Promise<"stored" | "full">;
  /**
   * Marks a run as running. Undefined when a later fencing number has written to it, or it has
   * ended.
   */
  begin(id: string, fence: number, attempts: number): Promise<EvaluationRunRecord | undefined>;
  /** Changes a run; false when a later fencing number has written to it, or it has ended. */
  update(id: string, fence: number, patch: EvaluationRunPatch): Promise<boolean>;
  /** Marks a run as cancelled, whoever runs it; false when it has ended, or there is none. */
  cancel(id: string): Promise<boolean>;
  run(id: string): Promise<EvaluationRunRecord | undefined>;
  /** Selected runs, newest first. */
  list(filter: EvaluationRunFilter): Promise<EvaluationRunRecord[]>;
  /** The newest run of each evaluation that succeeded and has a score. */
  latestScored(environmentId: string, evaluationIds: readonly string[]): Promise<EvaluationRunRecord[]>;
  /** Removes runs that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
