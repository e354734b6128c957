/** The online store: the newest value per feature and row, for serving. */

import type { FeatureValue } from "../../../domain/value.ts";

/** A stored value. Times are epoch milliseconds. */
export interface StoredValue {
  readonly value: FeatureValue;
  readonly observedAt: number;
  /** FQN of the resolver that computed it. */
  readonly resolver: string;
}

/** The rows of a has-many relation of one row, as found at a time. */
export interface StoredRows {
  /** Their number. */
  readonly rows: number;
  /** Values by the feature's id, each as long as `rows`. */
  readonly columns: ReadonlyMap<number, readonly FeatureValue[]>;
  readonly observedAt: number;
  /** FQN of the resolver that returned them. */
  readonly resolver: string;
}

/** Features to be read, of rows of one class. */
export interface ValuesRead {
  readonly namespace: string;
  /** Type-tagged keys, see `storeKey`. */
  readonly keys: readonly string[];
  /** Ids of the metadata store (one per FQN and internal version). */
  readonly featureIds: readonly number[];
  /** Values observed later are hidden; default: none are. */
  readonly asOf?: number;
}

/** A has-many relation to be read, of rows of one class. */
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

/** Results of `OnlineReads`, in the same order. */
export interface OnlineFound {
  readonly values: readonly FoundValues[];
  readonly rows: readonly FoundRows[];
}

/** The row of a write, and the write's expiry. */
interface WrittenRow {
  readonly namespace: string;
  /** Type-tagged key of the row, see `storeKey`. */
  readonly key: string;
  /** Epoch milliseconds from which on the store may remove it; default: never. */
  readonly expiresAt?: number;
}

/** A feature whose stored vectors are visited. */
export interface VectorsRead {
  readonly namespace: string;
  readonly featureId: number;
}

/** A stored list of numbers. Times are epoch milliseconds. */
export interface StoredVector {
  /** Type-tagged key of the row, see `storeKey`. */
  readonly key: string;
  /** Its elements, see `packed-list.ts`. */
  readonly packed: Uint8Array;
  readonly observedAt: number;
  /** Undefined = it never expires. */
  readonly expiresAt?: number;
}

/** A value to be stored. */
export interface ValueWrite extends WrittenRow, StoredValue {
  readonly featureId: number;
}

/**
 * In place of a resolver: the value takes the older one of its row out, and who reads it finds
 * nothing. It is a write like others, so that it never takes out a newer one.
 */
export const EVICTED = "-";

/** Rows of a relation to be stored; `key` is the parent row's. */
export interface RowsWrite extends WrittenRow, StoredRows {
  readonly relationId: number;
}

/** Writes of one call. */
export interface OnlineWrites {
  readonly values: readonly ValueWrite[];
  readonly rows: readonly RowsWrite[];
}

/** What an online store holds. */
export interface OnlineMeasures {
  /** Stored values and relations of all scopes. */
  readonly items: number;
  /** Bytes that they take, indexes and free room among them. */
  readonly bytes: number;
}

/** What an online store holds of features and relations. */
export interface FeatureMeasures extends Pick<OnlineMeasures, "bytes"> {
  /**
   * Bytes of what is stored in all scopes, by the feature's or relation's id: of the texts of keys,
   * values and resolvers, and 8 for each number. Pages and free room are not among them.
   */
  readonly features: ReadonlyMap<number, number>;
}

/** Values and relations of rows that are to be removed. */
export interface DeletedCells {
  readonly namespace: string;
  /** Type-tagged keys, see `storeKey`. */
  readonly keys: readonly string[];
  readonly featureIds: readonly number[];
  /** Epoch milliseconds; what was observed and stored later stays. */
  readonly until: number;
}

/**
 * The type-tagged key of a row: its primary key behind a tag for the type, so that 1 and "1"
 * differ.
 */
export function storeKey(primaryKey: FeatureValue): string {
  return typeof primaryKey === "string" ? `s:${primaryKey}` : `i:${String(primaryKey)}`;
}

/** The primary key of a key of `storeKey`. */
export function primaryKeyOf(key: string): FeatureValue {
  const text = key.slice(2);
  if (key.startsWith("s:")) return text;
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

/**
 * The store. A scope is `main` or a branch's name; scopes do not see each other.
 *
 * Acknowledgement: `put` queues, and guarantees no storage. Reads through the same store see queued
 * values at once; other nodes see them once they are written. A process that is killed loses the
 * queue; lost values are computed again when they are requested. `flush` is the acknowledgement,
 * and `close` writes the queue.
 */
export interface OnlineStore {
  /**
   * Reads everything that a step of a plan needs, in one call. A store in this process answers at
   * once, so that a cached read costs no turn of the event loop; callers handle both. Throws, or
   * rejects, when the store cannot be read.
   */
  read(scope: string, reads: OnlineReads): OnlineFound | Promise<OnlineFound>;
  /**
   * Queues values and rows; callers never wait for the network or a remote disk. A write that is
   * older than the stored value changes nothing; of equally old ones the last one stays. A stored
   * value with a time ahead of the clock is replaced by any other: the clock was ahead when it was
   * stored. All rows of a relation are replaced together. The queue is bounded: while it is full, a
   * store in this process writes before it returns; values that cannot be written, or find no room,
   * are dropped and counted.
   */
  put(scope: string, writes: OnlineWrites): void;
  /**
   * Resolves when everything put before is stored, or was replaced by newer values: it then
   * outlives this process, is visible to every node, and is lost only if the machine or disk that
   * stores it fails. Rejects when a part of it could not be written; that part may still be written
   * later.
   */
  flush(): Promise<void>;
  /** Number of values and relations dropped since the start. */
  dropped(): number;
  /** What is stored, queued writes left out. */
  measure(): OnlineMeasures | Promise<OnlineMeasures>;
  /**
   * What is stored of each feature and relation, counted in short steps between which queries are
   * served. Ends early when the signal is aborted.
   */
  measureFeatures(signal?: AbortSignal): Promise<FeatureMeasures>;
  /**
   * Visits the values of a feature that are lists of numbers, queued ones and expired ones among
   * them, in short steps between which queries are served. What is put meanwhile may be missing; a
   * value that is queued and stored is visited in both states. Ends early when the signal is
   * aborted.
   */
  eachVector(scope: string, read: VectorsRead, visit: (vectors: readonly StoredVector[]) => void, signal?: AbortSignal): Promise<void>;
  /** Number of values and relations that wait to be written. */
  pending(): number;
  /**
   * Writes nothing of the queue until `resume`; reads through the same store see queued values.
   * While the queue is full, and when the store is closed, its values are dropped and counted.
   */
  suspend(): void;
  /** Writes the queue again. */
  resume(): void;
  /** Removes everything stored in a scope. */
  dropScope(scope: string): void | Promise<void>;
  /**
   * Removes the values and relations of these ids in all scopes, those that wait to be written too,
   * in short steps between which queries are served. Resolves with the number that was stored. Ends
   * early when the signal is aborted.
   */
  dropFeatures(featureIds: readonly number[], signal?: AbortSignal): Promise<number>;
  /**
   * Removes the values and relations of rows that were observed or stored until a time, epoch
   * milliseconds, those that wait to be written too, in short steps between which queries are
   * served. Resolves with their number. Ends early when the signal is aborted.
   */
  deleteKeys(scope: string, rows: DeletedCells, signal?: AbortSignal): Promise<number>;
  /**
   * Removes expired values and relations, by the store's clock, in short steps between which
   * queries are served; returns their number. A value that was put again meanwhile stays. Ends
   * early when the signal is aborted.
   */
  sweep(signal?: AbortSignal): Promise<number>;
  /** Writes and reads a probe. Throws when that fails. */
  probe(): void | Promise<void>;
  /** Writes the queue unless that is suspended, and closes files and connections. */
  close(): void | Promise<void>;
}
