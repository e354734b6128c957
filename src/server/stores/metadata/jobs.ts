/**
 * The durable queue of jobs. Every method is one atomic step, and a write that was acknowledged
 * survives a power cut. Times are epoch milliseconds of the store's own clock, so that nodes whose
 * clocks differ agree on who holds a lease. The conformance suite in the tests runs against every
 * backend.
 */

import type { NewWorkflow } from "./workflows.ts";

/** The state of a job. `succeeded`, `failed` and `cancelled` are final. */
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/** A group of jobs that share a limited resource. */
export interface ResourceGroup {
  readonly name: string;
  /** Number of the group's jobs that may run at once, at least 1. */
  readonly slots: number;
}

/** A job to be enqueued. */
export interface NewJob {
  readonly id: string;
  /** Names the handler. */
  readonly kind: string;
  /** The handler's input, JSON. */
  readonly payload: unknown;
  /**
   * Higher priorities run first; default 0. Jobs of equal priority run in the order of enqueueing.
   */
  readonly priority?: number;
  readonly group?: ResourceGroup;
  /** What it belongs to, from the environment down: `env_1`, `env_1/whk_2`; default: nothing. */
  readonly scope?: string;
  /** Id of what it is about, such as a deployment; default: of nothing. */
  readonly subject?: string;
  /** What it is called among the jobs of its operation, such as `shard 3`; default: nothing. */
  readonly name?: string;
  /** Operation that it is a part of: jobs with one purpose; default: none. */
  readonly operationId?: string;
  /** Its index among the jobs of its operation, from 0; default: none. */
  readonly index?: number;
  /** Workflow that it is a part of, which there is; default: none. */
  readonly workflowId?: string;
  /** The workflow that begins with it, and that it is a part of. */
  readonly begins?: NewWorkflow;
  /**
   * Number of jobs of its operation that may run at once, at least 1; default: any. It needs an
   * operation.
   */
  readonly gate?: number;
  /**
   * Ids of jobs that must have succeeded before it is due; default: none. When one of them fails
   * it is handed out to be given up for a reason that names that one, without an attempt; when one
   * is cancelled it is too. Jobs of the same call may be named that stand before it.
   */
  readonly after?: readonly string[];
  /** A job of the same kind and key is the same job. */
  readonly idempotencyKey?: string;
  /** Milliseconds until it is due; default: due at once, even when the clock is set back later. */
  readonly delayMs?: number;
  /** Number of attempts that may begin, at least 1. */
  readonly maxAttempts: number;
  /** Milliseconds after which an attempt is ended. */
  readonly attemptTimeoutMs: number;
  /** Milliseconds, from now, after which no attempt begins and the job fails; default: none. */
  readonly timeoutMs?: number;
}

/** A job as it is kept. */
export interface JobRecord {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly state: JobState;
  readonly priority: number;
  readonly group: ResourceGroup | undefined;
  /** What it belongs to, from the environment down; empty = nothing. */
  readonly scope: string;
  /** Id of what it is about; empty = of nothing. */
  readonly subject: string;
  /** Empty = none. */
  readonly name: string;
  /** Empty = none. */
  readonly operationId: string;
  readonly index: number | undefined;
  /** Empty = none. */
  readonly workflowId: string;
  /** Number of jobs of its operation that may run at once; undefined = any. */
  readonly gate: number | undefined;
  /** Whether it waits for other jobs, which have not ended. */
  readonly isHeld: boolean;
  readonly idempotencyKey: string | undefined;
  /** Time at which it is due; 0 = at once. */
  readonly runAt: number;
  readonly deadlineAt: number | undefined;
  readonly maxAttempts: number;
  readonly attemptTimeoutMs: number;
  /** Attempts that began. */
  readonly attempts: number;
  /** Node that runs it; empty when none does. */
  readonly node: string;
  /** Fencing number: grows with every claim, so that a holder of an older one has lost the job. */
  readonly fence: number;
  /** End of the lease; 0 when no node runs it. */
  readonly leaseUntil: number;
  /** Whether cancellation of the running job was requested. */
  readonly isCancelRequested: boolean;
  /** The handler's latest progress message. */
  readonly progress: string;
  /** Reason why it, or its last attempt, failed; empty = none did. */
  readonly error: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A job as it is shown: all but its payload and its key, which may hold secrets. */
export interface JobEntry extends Omit<JobRecord, "payload" | "idempotencyKey"> {
  /** Its number in the queue, from 1, in the order of enqueueing. */
  readonly number: number;
}

/** The environment that a scope lies in; empty = none. */
export function environmentOf(scope: string): string {
  return scope.split("/", 1)[0] ?? "";
}

/**
 * The state of an attempt. `lost` = its node died or was not heard of. Attempts of released jobs
 * are deleted.
 */
export type AttemptOutcome = "running" | "succeeded" | "failed" | "cancelled" | "lost";

/** One attempt of a job. */
export interface JobAttempt {
  readonly jobId: string;
  /** From 1. */
  readonly number: number;
  readonly node: string;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly outcome: AttemptOutcome;
  readonly error: string;
}

/** The right to work on a job until the lease ends. */
export interface JobLease {
  readonly id: string;
  readonly fence: number;
}

/** A job that was leased to a node. */
export interface ClaimedJob {
  readonly job: JobRecord;
  readonly lease: JobLease;
  /**
   * Reason why the job must be given up: its attempts or its time are used up, or a job that it
   * waited for failed. No attempt began.
   * The claimer cleans up and then calls `fail`.
   */
  readonly exhausted?: string;
}

/** The jobs of a kind in a scope. */
export interface JobPlace {
  readonly kind: string;
  readonly scope: string;
}

/** A selection of jobs of a scope, and of those below it. */
export interface JobFilter extends JobPlace {
  /** Default: all. */
  readonly states?: readonly JobState[];
  /** Only those that were enqueued before this job. */
  readonly before?: string;
  readonly limit: number;
}

/** A selection of the queue's jobs, in whatever place. */
export interface JobSelection {
  /** Default: all. */
  readonly kinds?: readonly string[];
  /** Environments that they belong to, empty = none; default: all. */
  readonly environmentIds?: readonly string[];
  /** Default: all. */
  readonly states?: readonly JobState[];
  /** Of the queued ones only those that are due at a time, or those that are not; default: both. */
  readonly queued?: { readonly areDue: boolean; readonly at: number };
  /** Only those with smaller numbers. */
  readonly before?: number;
  /** Number of selected jobs that are left out, the newest ones; default 0. */
  readonly offset?: number;
  readonly limit: number;
}

/** Jobs of a kind and an environment that a node could claim now. */
export interface WaitingJobs {
  readonly kind: string;
  /** Empty = of none. */
  readonly environmentId: string;
  readonly jobs: number;
}

/** The jobs that have the slots of a group, and that get those left. */
export interface GroupStanding {
  readonly running: readonly QueuePosition[];
  /** Queued jobs that are due, in the order in which they are claimed. */
  readonly next: readonly QueuePosition[];
}

/** A job by its number, with what it belongs to. */
export type QueuePosition = Pick<JobEntry, "number" | "scope">;

/** The result of a heartbeat: the lease was extended, it was lost, or the job was asked to end. */
export type Heartbeat = "kept" | "lost" | "cancel";

/** The queue. */
export interface JobStore {
  /**
   * Stores a job; returns the existing one when kind and idempotency key are the same. Rejects when
   * it is to wait for a job that there is not.
   */
  enqueue(job: NewJob): Promise<JobRecord>;
  /** Stores jobs in their order, all or none, as `enqueue` does. */
  enqueueAll(jobs: readonly NewJob[]): Promise<JobRecord[]>;
  /**
   * Stores jobs of one place in their order, while fewer than `limit` jobs of it are queued or
   * running. Returns how many were stored, those that existed already among them.
   */
  enqueueWithin(place: JobPlace, limit: number, jobs: readonly NewJob[]): Promise<number>;
  /**
   * Leases the next due jobs of some kinds to a node, at most `limit`. Jobs of other nodes whose
   * lease ended are requeued first; those of the node itself are left alone. A group never has more
   * running jobs than slots, and an operation no more than a gate lets through, counted over all
   * nodes. What it costs grows with `limit` and the number of groups and gates that have due jobs,
   * not with the queue.
   */
  claim(options: {
    readonly node: string;
    readonly kinds: readonly string[];
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<ClaimedJob[]>;
  /** Extends a lease, and stores the handler's progress. */
  heartbeat(lease: JobLease, leaseMs: number, progress?: string): Promise<Heartbeat>;
  /** Marks a job as succeeded; false when the lease was lost, and nothing changed. */
  succeed(lease: JobLease): Promise<boolean>;
  /**
   * Marks an attempt as failed: the job is due again after `retryMs`; without it, or when no
   * attempt is left, the job has failed. False when the lease was lost.
   */
  fail(lease: JobLease, error: string, retryMs?: number): Promise<boolean>;
  /** Returns a job to the queue as if it had not been attempted. False when the lease was lost. */
  release(lease: JobLease): Promise<boolean>;
  /** Marks a job that was asked to end as cancelled. False when the lease was lost. */
  confirmCancel(lease: JobLease): Promise<boolean>;
  /** Requeues the jobs that a node was running before it was restarted. */
  abandon(node: string): Promise<void>;
  /**
   * Cancels a queued job, or asks a running one to end. Returns the job's new state, undefined when
   * there is no such job.
   */
  cancel(id: string): Promise<JobRecord | undefined>;
  /**
   * Gives a queued job another priority, which it keeps, also when an attempt fails. Returns the
   * job as it stands, unchanged when it was not queued; undefined when there is no such job.
   */
  setPriority(id: string, priority: number): Promise<JobRecord | undefined>;
  job(id: string): Promise<JobRecord | undefined>;
  /** A job by its id or its number, as it is shown. */
  entry(idOrNumber: string | number): Promise<JobEntry | undefined>;
  /**
   * Selected jobs, newest first. What it costs grows with `limit`, `offset` and the number of
   * places that have jobs, not with the queue; `queued` may cost a look at each queued job.
   */
  page(selection: JobSelection): Promise<JobEntry[]>;
  /** Jobs that wait for a slot and nothing else, at most `most` of each kind. */
  waiting(most: number): Promise<WaitingJobs[]>;
  /** Who has the slots of a group at a time, and who is next. */
  standing(group: ResourceGroup, at: number): Promise<GroupStanding>;
  /** The running jobs of an operation, oldest first, at most `limit`. */
  runningOf(operationId: string, limit: number): Promise<QueuePosition[]>;
  /** Jobs that a job waits for and that have not succeeded, at most `limit`. */
  awaited(id: string, limit: number): Promise<QueuePosition[]>;
  /** Selected jobs of a scope, newest first. */
  list(filter: JobFilter): Promise<JobRecord[]>;
  /**
   * Returns an ended job to the queue, due at once, for this many more attempts and without a
   * deadline, unless `limit` jobs of its kind and scope are queued or running: then it returns
   * `full`. Returns undefined when there is no such job, or it has not ended. What it waited for
   * counts as it stands then; those that it took along when it ended stay ended.
   */
  retry(id: string, moreAttempts: number, limit: number): Promise<JobRecord | "full" | undefined>;
  /** Attempts of a job, oldest first. */
  attempts(id: string): Promise<JobAttempt[]>;
  /**
   * Milliseconds until a node could claim a job of these kinds: a queued one that has a slot of its
   * group and of its gate, one whose time comes, or a running one of another node whose lease ends.
   * Undefined when there is none.
   */
  nextDueIn(node: string, kinds: readonly string[]): Promise<number | undefined>;
  /**
   * Gives jobs of a kind in a scope and below it other payloads, whatever their state: the first
   * `limit` after a number. `change` is called for each, and returns undefined for one that stays
   * as it is. Returns the number of the last one; undefined when there were none. An attempt that
   * runs keeps the payload that it began with.
   */
  amend(
    place: JobPlace,
    page: { readonly after: number; readonly limit: number },
    change: (payload: unknown) => unknown,
  ): Promise<number | undefined>;
  /**
   * Removes jobs that ended longer ago than this, with their attempts; returns their number, at
   * most `limit`.
   */
  purge(olderThanMs: number, limit: number): Promise<number>;
  /**
   * Removes the ended jobs of a place and state that were enqueued before the newest `keep` of
   * them, at most `limit`; returns their number.
   */
  trim(place: JobPlace & { readonly state: JobState }, keep: number, limit: number): Promise<number>;
  /**
   * Removes the jobs of a kind in a scope and below it, whatever their state, at most `limit`;
   * returns their number. Who runs one of them has lost its lease; what waits for one is cancelled.
   */
  forget(place: JobPlace, limit: number): Promise<number>;
}
