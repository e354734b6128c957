/**
 * The offline store: every value that was observed, with the time it was observed at and the time
 * it was stored, so that a feature's value can be told as of any time. A value is never replaced; a
 * row of a feature has as many observations as were made. The conformance suite in the tests runs
 * against every backend. Times are epoch milliseconds, with a fraction where there is one. Keys are
 * type-tagged, see `storeKey`.
 */

import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";

/**
 * A version of a feature: what observations belong to. A feature whose type changes gets another id
 * and the next internal version.
 */
export interface FeatureVersion {
  /** The feature's id in the metadata store. */
  readonly featureId: number;
  readonly environmentId: string;
  readonly namespace: string;
  /** The feature's name within its namespace. */
  readonly name: string;
  /** From 1. */
  readonly internalVersion: number;
  readonly dtype: DataType;
}

/** Observations of one feature, in columns of the same length. */
export interface Observations {
  readonly version: FeatureVersion;
  readonly deploymentId: string;
  /** FQN of the resolver that computed the values; empty = none did. */
  readonly resolver: string;
  /** Their writer, in lower-case words: `query`, `upload`. */
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

/** Rows, each at a time; both lists have the same length. */
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

/** Place at which a page ended. */
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

/** Choice of a feature's observations, at most `limit` of them. */
export interface ScanOptions extends ObservedBounds, InsertedBounds {
  /** End of the page before; default: the beginning. */
  readonly after?: ScanPosition;
  readonly limit: number;
}

/** The store. Every method rejects with `OfflineStoreError` when the store is out of order. */
export interface OfflineStore {
  /**
   * Stores observations in one commit; the first ones of a version make a place for it. When it
   * resolves they survive a power cut, but for those named in the answer: observations whose
   * version or values do not fit are refused whole. When it rejects nothing was stored.
   */
  append(observations: readonly Observations[]): Promise<readonly AppendRefusal[]>;
  /**
   * For each feature, for each row of the spine: the newest observation at or before the row's
   * time, of equally new ones the one stored last. Observations outside of the bounds do not count;
   * neither does a newest one that is older than the feature's ttl. A feature of which nothing is
   * stored was never observed.
   */
  sample(spine: Spine, features: readonly SampledFeature[], bounds?: InsertedBounds): Promise<SampledColumn[]>;
  /**
   * Keys of a namespace for which any feature was observed within the bounds, in order. With a
   * limit, which of them is decided by a hash of the key: the same ones each time.
   */
  scanKeys(environmentId: string, namespace: string, bounds?: ObservedBounds, limit?: number): Promise<string[]>;
  /** A feature's observations within the bounds by key, time and order of storing, page by page. */
  scan(featureId: number, options: ScanOptions): Promise<Observation[]>;
  /**
   * The newest values of each row for which all the features were observed, by key, at most `limit`
   * after a key.
   */
  latest(featureIds: readonly number[], options: { readonly after?: string; readonly limit: number }): Promise<LatestTuple[]>;
  /** Removes all observations of rows; gives how many. Durable when it resolves. */
  deleteKeys(featureIds: readonly number[], keys: readonly string[]): Promise<number>;
  /**
   * Removes a version with all its observations. Durable when it resolves; the next append to it
   * starts anew.
   */
  dropVersion(featureId: number): Promise<void>;
  /** Waits for what was asked, then lets go of the files. */
  close(): Promise<void>;
}

/** Result of a read-only statement. */
export interface OfflineRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (null | number | bigint | string | Uint8Array)[])[];
  /** Whether there were more rows than the limit. */
  readonly truncated: boolean;
}

/** An offline store whose tables people can read by SQL, in the dialect of the engine behind it. */
export interface SqlReadable {
  /**
   * Names of a feature's tables or views, for statements: that of its version, or with `historical`
   * those of all its internal versions in order. Empty when nothing was stored yet.
   */
  tableNames(featureId: number, historical?: boolean): Promise<string[]>;
  /**
   * Runs one `select`; rejects with `refused` for any other statement. At most `limit` rows,
   * default 10,000.
   */
  query(statement: string, options?: { readonly limit?: number }): Promise<OfflineRows>;
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
