/**
 * Runs of resolvers by themselves. Every method is one atomic step; times are epoch milliseconds. A
 * run's id is that of its job, whose fencing number says who may still write to it.
 */

import type { IncrementalStep } from "./incremental.ts";
import type { NewJob } from "./jobs.ts";

/** The state of a run; `succeeded` and `failed` are final. */
export type ResolverRunState = "received" | "running" | "succeeded" | "failed";

/** What was asked for: two runs are the same request when all of it is. */
export interface ResolverRunRequest {
  /** FQN. */
  readonly resolver: string;
  /** Empty = the live deployment when the run begins. */
  readonly deploymentId: string;
  readonly persistOnline: boolean;
  readonly persistOffline: boolean;
  /** Only inputs observed at or after this time count; null = all. */
  readonly lowerBound: number | null;
  /** Only inputs observed before this time count; null = all. */
  readonly upperBound: number | null;
}

/** A run to be stored. */
export interface NewResolverRun {
  readonly id: string;
  readonly environmentId: string;
  readonly cause: "trigger" | "schedule";
  readonly request: ResolverRunRequest;
  /** Unique in the environment. */
  readonly idempotencyKey: string | undefined;
}

/** A run as it is stored. */
export interface ResolverRunRecord extends NewResolverRun {
  /** FQN, as in the request. */
  readonly resolver: string;
  /** Deployment that it runs in; empty until it has begun, when none was named. */
  readonly deploymentId: string;
  readonly state: ResolverRunState;
  /** The largest fencing number that wrote to it. */
  readonly fence: number;
  /** Also the time at which its values count as observed. */
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Number of rows that were tried. */
  readonly rows: number;
  /** Number of them that failed. */
  readonly failedRows: number;
  /** Why it failed, or the first error of a row; empty = none. */
  readonly error: string;
  /** Store's key of the last row that was tried; the next attempt goes on after it. */
  readonly position: string;
  /** What an incremental run reads in every attempt; undefined = all, or not known yet. */
  readonly incremental: IncrementalSpan | undefined;
}

/** What an incremental run reads; times are microseconds since 1970. */
export interface IncrementalSpan {
  /** Null = from the beginning. */
  readonly since: number | null;
  /** Latest time in what it read at its beginning; null = it found none. */
  readonly until: number | null;
  /** Revision of the progress that it continues. */
  readonly revision: number;
}

/** How far a run has got, and how it ended. */
export type ResolverRunPatch = Partial<Pick<ResolverRunRecord, "rows" | "failedRows" | "error" | "position" | "incremental">> & {
  readonly state?: "succeeded" | "failed";
};

/** A selection of runs. */
export interface ResolverRunFilter {
  readonly environmentId: string;
  /** FQN; default: all. */
  readonly resolver?: string | undefined;
  /** Earliest creation, inclusive. */
  readonly since?: number | undefined;
  /** Latest creation, exclusive. */
  readonly until?: number | undefined;
  /** Only those that were stored before the run with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The runs. */
export interface ResolverRunStore {
  /**
   * Stores a run and enqueues its job, whose id is the run's. Returns the run that has the
   * idempotency key already, if one does, and then stores nothing. `full` when the environment has
   * `limit` runs that have not ended.
   */
  create(run: NewResolverRun, job: NewJob, limit: number): Promise<ResolverRunRecord | "full">;
  /**
   * Marks a run as running, and first stores one that its schedule enqueued. Its deployment stays
   * that of the first attempt. Undefined when a later fencing number has written to it, or it has
   * ended.
   */
  begin(run: NewResolverRun, fence: number, createdAt: number, deploymentId: string): Promise<ResolverRunRecord | undefined>;
  /**
   * Changes a run, and in the same step adds what it has read to the progress, unless somebody
   * changed that; false when a later fencing number has written to the run, or it has ended.
   */
  update(id: string, fence: number, patch: ResolverRunPatch, step?: IncrementalStep): Promise<boolean>;
  run(id: string): Promise<ResolverRunRecord | undefined>;
  /** Selected runs, newest first. */
  list(filter: ResolverRunFilter): Promise<ResolverRunRecord[]>;
  /** Removes runs that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
