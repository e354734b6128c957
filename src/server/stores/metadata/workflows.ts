/**
 * Workflows: jobs with one purpose, in operations that run one after the other. A workflow begins
 * in the step that stores its first job (`NewJob.begins`), and its status follows those of its jobs
 * in the steps that change them. Every method is one atomic step; times are epoch milliseconds.
 */

import type { JobState } from "./jobs.ts";

/** The cause of a workflow: somebody asked, the schedule of a resolver, or that of a query. */
export type WorkflowKind = "manual" | "cron" | "scheduled_query";

/**
 * The status of a workflow: `queued` until one of its jobs began, `working` until all have ended;
 * then `failed` when one failed, else `canceled` when one was cancelled, else `completed`.
 */
export type WorkflowStatus = "queued" | "working" | "completed" | "failed" | "canceled";

/** An operation of a workflow: jobs that do parts of one thing. */
export interface WorkflowOperation {
  /** Id, which its jobs name. */
  readonly id: string;
  /** What it is called, such as `sample`. */
  readonly name: string;
  /** Kind of its jobs. */
  readonly kind: string;
  /** Number of its jobs when the workflow began. */
  readonly jobs: number;
  /** Ids of operations whose jobs must have succeeded before its own. */
  readonly after: readonly string[];
}

/** A workflow to be begun. */
export interface NewWorkflow {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = not known yet. */
  readonly deploymentId: string;
  readonly kind: WorkflowKind;
  /** What it is about, such as the FQN of a resolver. */
  readonly subject: string;
  /** In an order in which each stands after those that it waits for. */
  readonly operations: readonly WorkflowOperation[];
}

/** A workflow as it is stored. */
export interface WorkflowRecord extends NewWorkflow {
  readonly status: WorkflowStatus;
  readonly createdAt: number;
  /** When its first job began. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** A selection of workflows. */
export interface WorkflowFilter {
  readonly environmentId: string;
  readonly deploymentId?: string | undefined;
  readonly kind?: WorkflowKind | undefined;
  readonly status?: WorkflowStatus | undefined;
  /** A part of the id. */
  readonly idPart?: string | undefined;
  /** Only those that began before the workflow with this id. */
  readonly before?: string | undefined;
  /** Number of selected workflows that are left out, the newest ones; default 0. */
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** How many jobs of an operation are in a state. */
export interface OperationCount {
  readonly operationId: string;
  readonly kind: string;
  readonly state: JobState;
  readonly jobs: number;
}

/** The workflows. */
export interface WorkflowStore {
  workflow(id: string): Promise<WorkflowRecord | undefined>;
  /** Selected workflows, newest first. */
  list(filter: WorkflowFilter): Promise<WorkflowRecord[]>;
  /** The jobs of a workflow that are still kept, by operation, in the order of their coming. */
  counts(id: string): Promise<OperationCount[]>;
  /** Removes workflows that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
