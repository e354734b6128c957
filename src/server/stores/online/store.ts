/** The online store: the newest value per feature and row, for serving. */

import type { FeatureValue } from "../../../domain/value.ts";

/** A stored value. Times are epoch milliseconds. */
export interface StoredValue {
  readonly value: FeatureValue;
  readonly observedAt: number;
  /** FQN of the resolver that computed it. */
  readonly resolver: string;
}

/** The rows of a has-many relation of one row, as they were found at a time. */
export interface StoredRows {
  /** Their number. */
  readonly rows: number;
  /** Values by the feature's id, each as long as `rows`. */
  readonly columns: ReadonlyMap<number, readonly FeatureValue[]>;
  readonly observedAt: number;
  /** FQN of the resolver that gave them. */
  readonly resolver: string;
}

/** Features of rows of one class that are asked for. */
export interface ValuesRead {
  readonly namespace: string;
  /** Type-tagged keys, see `storeKey`. */
  readonly keys: readonly string[];
  /** Ids of the metadata store (one per FQN and internal version). */
  readonly featureIds: readonly number[];
  /** Values observed later are hidden; default: none is. */
  readonly asOf?: number;
}

/** A has-many relation of rows of one class that is asked for. */
export interface RowsRead {
  readonly namespace: string;
  readonly keys: readonly string[];
  /** The relation's id in the metadata store; relations and features share one sequence of ids. */
  readonly relationId: number;
  /** Rows found later are hidden; default: none are. */
  readonly asOf?: number;
}

/** Reads of one call. */
export interface OnlineReads {
  readonly values: readonly ValuesRead[];
  readonly rows: readonly RowsRead[];
}

/** For each key, for each feature of a read: the stored value, or undefined. */
export type FoundValues = readonly (readonly (StoredValue | undefined)[])[];

/** For each key of a read: the stored rows, or undefined. */
export type FoundRows = readonly (StoredRows | undefined)[];

/** Answer to `OnlineReads`, in the same order. */
export interface OnlineFound {
  readonly values: readonly FoundValues[];
  readonly rows: readonly FoundRows[];
}

/** Row that a write is for, and the end of its time. */
interface WrittenRow {
  readonly namespace: string;
  /** Type-tagged key of the row, see `storeKey`. */
  readonly key: string;
  /** Epoch milliseconds from which on the store may forget it; default: never. */
  readonly expiresAt?: number;
}

/** A value to be stored. */
export interface ValueWrite extends WrittenRow, StoredValue {
  readonly featureId: number;
}

/** Rows of a relation to be stored; `key` is that of the row whose rows they are. */
export interface RowsWrite extends WrittenRow, StoredRows {
  readonly relationId: number;
}

/** Writes of one call. */
export interface OnlineWrites {
  readonly values: readonly ValueWrite[];
  readonly rows: readonly RowsWrite[];
}

/** The key of a row: its primary key with the type in front, so that 1 and "1" stay apart. */
export function storeKey(primaryKey: FeatureValue): string {
  return typeof primaryKey === "string" ? `s:${primaryKey}` : `i:${String(primaryKey)}`;
}

/**
 * The store. A scope is `main` or a branch's name; scopes do not see each other.
 *
 * Acknowledgement: `put` queues, and says nothing about storage. Reads through the same store
 * see what it queued at once; those of other nodes see it once it is written. A process that is
 * killed loses what is queued, and each such value is computed again when it is asked for. `flush`
 * is the acknowledgement, and `close` writes all that is queued.
 */
export interface OnlineStore {
  /**
   * Reads all that a step of a plan needs, in one call. A store in this process answers at once, so
   * that a cached read costs no turn of the event loop; callers handle both. Throws, or rejects,
   * when the store cannot be read.
   */
  read(scope: string, reads: OnlineReads): OnlineFound | Promise<OnlineFound>;
  /**
   * Queues values and rows; callers never wait for the network or a remote disk. A write that is
   * older than what is stored changes nothing; of equally old ones the last stays. What is stored
   * with a time ahead of the clock gives way to any other: the clock was ahead when it was stored.
   * All rows of a relation are replaced together: one that is not among the new ones is gone. The
   * queue is bounded: while it is full a store in this process writes before it returns, and what
   * it cannot write is dropped and counted, as everything is that finds no room.
   */
  put(scope: string, writes: OnlineWrites): void;
  /**
   * Resolves when all that was put before is stored, or was replaced by something newer: it then
   * outlives this process, is seen by every node, and is lost only if the machine or disk that
   * stores it fails. Rejects when a part of it could not be written, which may yet be.
   */
  flush(): Promise<void>;
  /** Values and relations that were dropped since the start. */
  dropped(): number;
  /** Forgets a scope. */
  dropScope(scope: string): void | Promise<void>;
  /**
   * Forgets what has expired by the store's clock, in short steps between which queries are served;
   * gives how many values and relations that were. A later put of the same value stays. Ends early
   * when the signal is aborted.
   */
  sweep(signal?: AbortSignal): Promise<number>;
  /** Writes and reads a probe. Throws when that fails. */
  probe(): void | Promise<void>;
  /** Writes what is queued, and lets go of files and connections. */
  close(): void | Promise<void>;
}
