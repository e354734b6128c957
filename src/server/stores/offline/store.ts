/**
 * The offline store: every value that was observed, with the time it was observed at and the time it was stored, so that a feature's value can be told as of
 * any time. A value is never replaced; a row of a feature has as many observations as were made. The conformance suite in the tests runs against every
 * backend. Times are epoch milliseconds, with a fraction where there is one. Keys are type-tagged, see `storeKey`.
 */

import type { FeatureValue } from "../../../domain/value.ts";
import type { ColumnType } from "./column-type.ts";

/** A version of a feature: what has a table of its own. A feature whose type changes gets another id and the next internal version. */
export interface FeatureTable {
  /** The feature's id in the metadata store. */
  readonly featureId: number;
  readonly environmentId: string;
  readonly namespace: string;
  /** The feature's name within its namespace. */
  readonly name: string;
  /** From 1. */
  readonly internalVersion: number;
  readonly type: ColumnType;
}

/** Observations of one feature, in columns of the same length. */
export interface OfflineAppend {
  readonly table: FeatureTable;
  readonly deploymentId: string;
  /** FQN of the resolver that computed the values; empty = none did. */
  readonly resolver: string;
  /** What wrote them, in lower-case words: `query`, `upload`. */
  readonly op: string;
  readonly keys: readonly string[];
  readonly values: readonly FeatureValue[];
  readonly observedAt: readonly number[];
}

/** An append that was not stored, while others of the same call were. */
export interface AppendRefusal {
  /** Its place in the call. */
  readonly index: number;
  readonly reason: string;
}

/** Bounds of observation time: from (inclusive) and before (exclusive). */
export interface ObservedBounds {
  readonly observedFrom?: number;
  readonly observedBefore?: number;
}

/** Bounds of the time of storing, from (inclusive) and before (exclusive): what was known then. */
export interface InsertedBounds {
  readonly insertedFrom?: number;
  readonly insertedBefore?: number;
}

/** Which rows, each at which time. */
export interface Spine {
  readonly keys: readonly string[];
  readonly times: readonly number[];
}

/** A feature to be sampled. */
export interface SampledFeature {
  readonly featureId: number;
  /** An observation older than this at the row's time counts as none; default: none is too old. */
  readonly ttlMs?: number;
}

/** One feature's values along a spine. */
export interface SampledColumn {
  readonly featureId: number;
  /** Null where nothing was observed, and where null was. */
  readonly values: readonly FeatureValue[];
  /** NaN where nothing was observed. */
  readonly observedAt: Float64Array;
  /** NaN where nothing was observed. */
  readonly insertedAt: Float64Array;
}

/** One observation. */
export interface Observation {
  readonly key: string;
  readonly observedAt: number;
  /** Its place in the order of storing, unique in the store. */
  readonly sequence: number;
  readonly insertedAt: number;
  readonly value: FeatureValue;
  readonly resolver: string;
  readonly deploymentId: string;
  readonly op: string;
}

/** Where a page ended. */
export interface ScanPosition {
  readonly key: string;
  readonly observedAt: number;
  readonly sequence: number;
}

/** A row's newest values. */
export interface LatestTuple {
  readonly key: string;
  /** The time as of which they hold together: that of the newest among them. */
  readonly observedAt: number;
  /** In the order of the features asked for. */
  readonly values: readonly FeatureValue[];
}

/** What a read-only statement gave. */
export interface OfflineRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (null | number | bigint | string | Uint8Array)[])[];
  /** Whether there were more rows than the limit. */
  readonly truncated: boolean;
}

/** The store. Every method rejects with `OfflineStoreError` when the store is out of order. */
export interface OfflineStore {
  /**
   * Stores observations in one commit, and creates tables that are missing. When it resolves they survive a power cut, but for those named in the answer: an
   * append whose table or values do not fit is refused whole. When it rejects nothing was stored.
   */
  append(appends: readonly OfflineAppend[]): Promise<readonly AppendRefusal[]>;
  /**
   * For each feature, for each row of the spine: the newest observation at or before the row's time, of equally new ones the one stored last. Observations
   * outside of the bounds do not count; neither does a newest one that is older than the feature's ttl. A feature without a table was never observed.
   */
  sampleAsOf(spine: Spine, features: readonly SampledFeature[], bounds?: InsertedBounds): Promise<SampledColumn[]>;
  /**
   * Keys of a namespace for which any feature was observed within the bounds, in order. With a limit, which of them is decided by a hash of the key: the same
   * ones each time.
   */
  scanKeys(environmentId: string, namespace: string, bounds?: ObservedBounds, limit?: number): Promise<string[]>;
  /** A feature's observations by key, time and order of storing, at most `limit` after a position. */
  scanFeature(
    featureId: number,
    options: ObservedBounds & InsertedBounds & { readonly after?: ScanPosition; readonly limit: number },
  ): Promise<Observation[]>;
  /** The newest values of each row for which all the features were observed, by key, at most `limit` after a key. */
  latestTuples(featureIds: readonly number[], options: { readonly after?: string; readonly limit: number }): Promise<LatestTuple[]>;
  /** Name of a feature's table; with `historical`, of the tables of all its internal versions in order. Empty when there is none. */
  tableName(featureId: number, historical?: boolean): Promise<string[]>;
  /** Creates the table of a feature's version; nothing happens when it exists. Rejects when the id stands for another feature. */
  createVersion(table: FeatureTable): Promise<void>;
  /** Removes all observations of rows; gives how many. Durable when it resolves. */
  deleteKeys(featureIds: readonly number[], keys: readonly string[]): Promise<number>;
  /** Removes a version with all its observations. Durable when it resolves; the next append to it starts anew. */
  dropVersion(featureId: number): Promise<void>;
  /** Runs one `select` on the tables. */
  query(statement: string, options?: { readonly limit?: number }): Promise<OfflineRows>;
  /** Looks at every page and every observation. Rejects when something is damaged. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The store is out of order, or a call is wrong.
 * - `damaged`: the file is; the message names it and says what to do.
 * - `unusable`: the file cannot be opened: it is newer, another program's, or unreadable.
 * - `refused`: the call asks for something that cannot be.
 * - `failed`: anything else, for example a full disk.
 */
export type OfflineErrorCode = "damaged" | "unusable" | "refused" | "failed";

/** See `OfflineErrorCode`. */
export class OfflineStoreError extends Error {
  override readonly name = "OfflineStoreError";
  constructor(
    readonly code: OfflineErrorCode,
    message: string,
  ) {
    super(message);
  }
}
