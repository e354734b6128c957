/**
 * Tasks: scripts, modules and functions of deployments that run once. Every method is one atomic
 * step; times are epoch milliseconds. A task has one job, whose fencing number says who may still
 * write to it.
 */

import type { Json, JsonObject } from "../../../domain/json-value.ts";
import type { TaskTarget } from "../../../domain/task-target.ts";
import type { NewJob } from "./jobs.ts";

/** The state of a task; `succeeded`, `failed` and `cancelled` are final. */
export type StoredTaskState = "received" | "running" | "succeeded" | "failed" | "cancelled";

/** What was asked for. */
export interface TaskRequest {
  readonly target: TaskTarget;
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
  /** Whether the arguments were given as texts. */
  readonly texts: boolean;
  /** Empty = the live deployment when the task begins. */
  readonly deploymentId: string;
  readonly maxRetries: number;
  readonly profiling: boolean;
  /** Venv of the project file in which it runs; absent = the environment's own requirements. */
  readonly venv?: string;
  /** Resource group of the environment's configuration; absent = `default`. */
  readonly resourceGroup?: string;
}

/** A task to be stored. */
export interface NewTask {
  readonly id: string;
  readonly environmentId: string;
  /** The workflow that its job is a part of, with those that were asked for together. */
  readonly workflowId: string;
  readonly request: TaskRequest;
}

/** A task as it is stored. */
export interface TaskRecord extends NewTask {
  /** Deployment that it runs in; empty until it has begun, when none was named. */
  readonly deploymentId: string;
  /** Branch of that deployment; empty = the environment's own. */
  readonly branch: string;
  readonly state: StoredTaskState;
  /** The largest fencing number that wrote to it. */
  readonly fence: number;
  /** Attempts that began. */
  readonly attempts: number;
  /** Of the last attempt that ended; undefined = none did, or a signal ended it. */
  readonly exitCode: number | undefined;
  /** Why the last attempt failed; empty = none did. */
  readonly error: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** A stack of a profile: functions from the task inwards, and the times that it was seen. */
export interface TaskStackRecord {
  readonly frames: readonly string[];
  readonly samples: number;
}

/** What the last attempt of a task left that ended. */
export interface TaskOutput {
  /** What a function returned, as JSON; empty = nothing. */
  readonly result: string;
  /** What it spent its time on, by samples, most first. */
  readonly stacks: readonly TaskStackRecord[];
  /** Samples that are in no stack. */
  readonly dropped: number;
}

/** How a task stands after an attempt. */
export type TaskPatch = Partial<Pick<TaskRecord, "exitCode" | "error">> & {
  readonly state: Exclude<StoredTaskState, "running">;
  readonly output?: TaskOutput;
};

/** A selection of tasks. */
export interface TaskFilter {
  readonly environmentId: string;
  /** Default: all. */
  readonly workflowId?: string | undefined;
  /** Default: all. */
  readonly states?: readonly StoredTaskState[];
  /** Earliest creation, inclusive. */
  readonly since?: number | undefined;
  /** Latest creation, exclusive. */
  readonly until?: number | undefined;
  /** Only those that were stored before the task with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The tasks. */
export interface TaskStore {
  /**
   * Stores tasks of one environment and enqueues their jobs, all or none. `full` when the
   * environment would have more than `limit` tasks that have not ended.
   */
  create(tasks: readonly NewTask[], jobs: readonly NewJob[], limit: number): Promise<"stored" | "full">;
  /**
   * Marks a task as running in a deployment. Undefined when a later fencing number has written to
   * it, or it has ended.
   */
  begin(id: string, fence: number, attempt: Pick<TaskRecord, "attempts" | "branch" | "deploymentId">): Promise<TaskRecord | undefined>;
  /** Changes a task; false when a later fencing number has written to it, or it has ended. */
  update(id: string, fence: number, patch: TaskPatch): Promise<boolean>;
  /** Marks a task as cancelled, whoever runs it; false when it has ended, or there is none. */
  cancel(id: string): Promise<boolean>;
  task(id: string): Promise<TaskRecord | undefined>;
  /** Undefined before an attempt of it has ended. */
  output(id: string): Promise<TaskOutput | undefined>;
  /** Selected tasks, newest first. */
  list(filter: TaskFilter): Promise<TaskRecord[]>;
  /** Removes tasks that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
