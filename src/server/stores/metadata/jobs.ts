/**
 * The durable queue of jobs. Every method is one atomic step, and a write that was acknowledged
 * survives a power cut. Times are epoch milliseconds of the store's own clock, so that nodes whose
 * clocks differ agree on who holds a lease. The conformance suite in the tests runs against every
 * backend.
 */

/** Where a job stands. `queued` and `running` come to an end; the others are ends. */
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/** Jobs that share what there is little of. */
export interface ResourceGroup {
  readonly name: string;
  /** How many of the group's jobs run at once, at least 1. */
  readonly slots: number;
}

/** A job that is to be done. */
export interface NewJob {
  readonly id: string;
  /** Names the handler. */
  readonly kind: string;
  /** What the handler works on, JSON. */
  readonly payload: unknown;
  /** Higher ones run first; default 0. Of equal ones that are due, the one that came first. */
  readonly priority?: number;
  readonly group?: ResourceGroup;
  /** A job of the same kind and key is the same job. */
  readonly idempotencyKey?: string;
  /** Milliseconds until it is due; default: at once, also when the clock is set back meanwhile. */
  readonly delayMs?: number;
  /** How many attempts may begin, at least 1. */
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
  readonly idempotencyKey: string | undefined;
  /** When it is due; 0 = at once. */
  readonly runAt: number;
  readonly deadlineAt: number | undefined;
  readonly maxAttempts: number;
  readonly attemptTimeoutMs: number;
  /** Attempts that began. */
  readonly attempts: number;
  /** Node that runs it; empty when none does. */
  readonly node: string;
  /** Grows with every claim: who holds an older number lost the job. */
  readonly fence: number;
  /** End of the lease; 0 when nobody runs it. */
  readonly leaseUntil: number;
  /** Whether somebody asked a running job to end. */
  readonly isCancelRequested: boolean;
  /** What the handler said last. */
  readonly progress: string;
  /** Why it failed, or its last attempt did; empty otherwise. */
  readonly error: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * How an attempt ended. `lost` = its node died or was not heard of; `released` attempts are not
 * kept.
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

/** A job that was handed out. */
export interface ClaimedJob {
  readonly job: JobRecord;
  readonly lease: JobLease;
  /**
   * Why the job is to be given up rather than attempted: its attempts or its time are used up. No
   * attempt began. Who claimed it undoes what it has to, and then calls `fail`.
   */
  readonly exhausted?: string;
}

/**
 * What a heartbeat learns: the lease goes on, it was lost to somebody else, or the job is to end.
 */
export type Heartbeat = "kept" | "lost" | "cancel";

/** The queue. */
export interface JobStore {
  /**
   * Keeps a job; gives the one that is there already when kind and idempotency key are the same.
   */
  enqueue(job: NewJob): Promise<JobRecord>;
  /**
   * Leases the next due jobs of some kinds to a node, at most `limit`. Jobs of other nodes whose
   * lease ended are taken back first; what the node itself holds it knows. A group never has more
   * running jobs than slots, counted over all nodes.
   */
  claim(options: {
    readonly node: string;
    readonly kinds: readonly string[];
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<ClaimedJob[]>;
  /** Extends a lease, and keeps what the handler says. */
  heartbeat(lease: JobLease, leaseMs: number, progress?: string): Promise<Heartbeat>;
  /** Ends a job well; false when the lease was lost, and nothing changed. */
  succeed(lease: JobLease): Promise<boolean>;
  /**
   * Ends an attempt badly: the job is due again after `retryMs`, or failed for good without it or
   * when no attempt is left. False when the lease was lost.
   */
  fail(lease: JobLease, error: string, retryMs?: number): Promise<boolean>;
  /** Hands a job back as if it had not been attempted. False when the lease was lost. */
  release(lease: JobLease): Promise<boolean>;
  /** Ends a job that was asked to end. False when the lease was lost. */
  confirmCancel(lease: JobLease): Promise<boolean>;
  /** Takes back what a node held that died and is here again. */
  abandon(node: string): Promise<void>;
  /** Ends a queued job, or asks a running one to end; gives the job as it then is. */
  cancel(id: string): Promise<JobRecord | undefined>;
  job(id: string): Promise<JobRecord | undefined>;
  /** Attempts of a job, oldest first. */
  attempts(id: string): Promise<JobAttempt[]>;
  /**
   * Milliseconds until a node could claim a job of these kinds: one that is due and has a slot, or
   * another's whose lease ends. Undefined when there is none.
   */
  nextDueIn(node: string, kinds: readonly string[]): Promise<number | undefined>;
  /**
   * Removes jobs that ended longer ago than this, with their attempts; gives their number, at most
   * `limit`.
   */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
