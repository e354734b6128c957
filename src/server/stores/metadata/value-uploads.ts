/**
 * Uploads of values from files. Every method is one atomic step; times are epoch milliseconds. An
 * upload's id is that of its job, whose fencing number says who may still write to it.
 */

import type { NewJob } from "./jobs.ts";

/** The state of an upload; `succeeded` and `failed` are final. */
export type ValueUploadState = "received" | "running" | "succeeded" | "failed";

/** What was asked for. */
export interface ValueUploadRequest {
  /** Empty = the environment's own values. */
  readonly branch: string;
  /** The deployment whose features it has. */
  readonly deploymentId: string;
  readonly format: "parquet" | "csv" | "json";
  readonly isDryRun: boolean;
  /** Empty = `__ts__`, or a class's feature time, if it is there. */
  readonly timeColumn: string;
  /** The time of all rows; null = a column's, or that of the upload. */
  readonly time: number | null;
  /** Empty = there is none. */
  readonly knownAtColumn: string;
  /** When all rows were known; null = when they are stored. */
  readonly knownAt: number | null;
  readonly target: "both" | "online" | "offline";
  /** When it was asked for: the time of rows without another; absent = when it was made. */
  readonly askedAt?: number;
}

/** A reason why an upload was refused. */
export interface ValueUploadProblem {
  /** From 1; 0 = it is not about a row. */
  readonly row: number;
  /** Empty = it is not about a column. */
  readonly column: string;
  readonly message: string;
}

/** An upload to be stored. */
export interface NewValueUpload {
  readonly id: string;
  readonly environmentId: string;
  /** The object that holds the file, and its SHA-256. */
  readonly object: string;
  readonly sha256: string;
  readonly request: ValueUploadRequest;
}

/** How far an upload has got. */
export interface ValueUploadProgress {
  /** Number of rows that were looked at. */
  readonly rowsChecked: number;
  /** Number of rows of the file; null = they are not all looked at yet. */
  readonly rows: number | null;
  /** Number of rows that are stored; the next attempt goes on after them. */
  readonly rowsWritten: number;
  readonly onlineValues: number;
  readonly offlineValues: number;
  readonly deletedValues: number;
}

/** An upload as it is stored. */
export interface ValueUploadRecord extends NewValueUpload, ValueUploadProgress {
  readonly state: ValueUploadState;
  /** The largest fencing number that wrote to it. */
  readonly fence: number;
  readonly createdAt: number;
  readonly endedAt: number | undefined;
  readonly problems: readonly ValueUploadProblem[];
  /** Why it failed; empty = it did not. */
  readonly error: string;
}

/** A change of an upload. */
export type ValueUploadPatch = Partial<ValueUploadProgress & Pick<ValueUploadRecord, "error" | "problems">> & {
  readonly state?: "succeeded" | "failed";
};

/** The uploads. */
export interface ValueUploadStore {
  /**
   * Stores an upload and enqueues its job, whose id is the upload's. `full` when the environment
   * has `limit` uploads that have not ended.
   */
  create(upload: NewValueUpload, job: NewJob, limit: number): Promise<ValueUploadRecord | "full">;
  /**
   * Marks an upload as running. Undefined when a later fencing number has written to it, or it has
   * ended.
   */
  begin(id: string, fence: number): Promise<ValueUploadRecord | undefined>;
  /** Changes an upload; false when a later fencing number has written to it, or it has ended. */
  update(id: string, fence: number, patch: ValueUploadPatch): Promise<boolean>;
  get(id: string): Promise<ValueUploadRecord | undefined>;
  /** The objects of uploads that have not ended. */
  objectsInUse(): Promise<ReadonlySet<string>>;
  /** Removes uploads that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
