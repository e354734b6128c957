/**
 * The offline store: every observed value, with its times of observation and of storing, so that a
 * feature's value is known as of any time. Observations are never replaced. The conformance suite
 * in the tests runs against every backend. Times are epoch milliseconds, with a fraction where
 * there is one. Keys are type-tagged, see `storeKey`.
 */

import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";

/**
 * A version of a feature, to which observations belong. A feature whose type changes gets a new id
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
  /** FQN of the resolver that computed the values; empty = none. */
  readonly resolver: string;
  /** Kind of their writer, in lower-case words: `query`, `upload`. */
  readonly op: string;
  readonly keys: readonly string[];
  readonly values: readonly FeatureValue[];
  readonly observedAt: readonly number[];
  /**
   * When each was known to the outside world, which may be long before it is stored: of values that
   * are loaded afterwards. Default: when they are stored.
   */
  readonly knownAt?: readonly number[];
}

/** An append that was refused, while others of the same call were stored. */
export interface AppendRefusal {
  /** Its index in the call. */
  readonly index: number;
  readonly reason: string;
}

/** Bounds of observation time: from (inclusive) and before (exclusive), epoch milliseconds. */
export interface ObservedBounds {
  readonly observedFrom?: number;
  readonly observedBefore?: number;
}

/** Bounds of the time of storing: from (inclusive) and before (exclusive), epoch milliseconds. */
export interface InsertedBounds {
  readonly insertedFrom?: number;
  readonly insertedBefore?: number;
}

/** Which observations count for a sample. */
export interface SampleBounds extends InsertedBounds {
  /**
   * Only those that were known by the row's time. Without it, one that was learned later counts as
   * soon as it was true: what a model is trained on may then differ from what it would have seen.
   */
  readonly asKnown?: boolean;
}

/**
 * Keys of rows and a time for each, for point-in-time sampling; both lists have the same length.
 */
export interface Spine {
  readonly keys: readonly string[];
  readonly times: readonly number[];
}

/** A feature to be sampled. */
export interface SampledFeature {
  readonly featureId: number;
  /** Age at the row's time above which an observation does not count; default: unlimited. */
  readonly ttlMs?: number;
}

/** One feature's values along a spine. */
export interface SampledColumn {
  readonly featureId: number;
  /** Null where nothing or null was observed. */
  readonly values: readonly FeatureValue[];
  /** NaN where nothing was observed. */
  readonly observedAt: Float64Array;
  /** NaN where nothing was observed. */
  readonly insertedAt: Float64Array;
  /**
   * Number of rows that have another value with `asKnown` than without: their newest observation
   * became known after their time. The same number with and without it.
   */
  readonly changedIfAsKnown: number;
}

/** One observation. */
export interface Observation {
  readonly key: string;
  readonly observedAt: number;
  /** Its position in the order of storing, unique in the store. */
  readonly sequence: number;
  readonly insertedAt: number;
  /** When it was known to the outside world: `insertedAt`, unless its writer said otherwise. */
  readonly knownAt: number;
  readonly value: FeatureValue;
  readonly resolver: string;
  readonly deploymentId: string;
  readonly op: string;
}

/** Position of a page's last observation. */
export interface ScanPosition {
  readonly key: string;
  readonly observedAt: number;
  readonly sequence: number;
}

/** A row's newest values. */
export interface LatestTuple {
  readonly key: string;
  /** The time of the newest of the values. */
  readonly observedAt: number;
  /** In the order of the requested features. */
  readonly values: readonly FeatureValue[];
}

/** Selection of a feature's observations, at most `limit` of them. */
export interface ScanOptions extends ObservedBounds, InsertedBounds {
  /** End of the previous page; default: the beginning. */
  readonly after?: ScanPosition;
  readonly limit: number;
}

/** What an offline store holds. */
export interface OfflineMeasures {
  /** Bytes that it takes. */
  readonly bytes: number;
  /**
   * Bytes of the history of each environment, by its id; empty for a store that cannot tell them.
   */
  readonly environments: ReadonlyMap<string, number>;
}

/** Milliseconds of an hour of the history. */
export const HOUR_MS = 3_600_000;
/** Bytes that an observation counts for beside its key and value. */
export const BYTES_BESIDE = 48;

/** Observations of an hour, and an estimate of the bytes that they take. */
export interface HourOfHistory {
  /** Its beginning, epoch milliseconds. */
  readonly from: number;
  readonly bytes: number;
}

/** The store. Every method rejects with `OfflineStoreError` when it fails. */
export interface OfflineStore {
  /**
   * Stores observations in one commit; a version's table is created with its first ones. When it
   * resolves, they survive a power cut, except the refused appends that it returns: an append whose
   * version or values do not fit is refused whole. When it rejects, nothing was stored.
   */
  append(observations: readonly Observations[]): Promise<readonly AppendRefusal[]>;
  /**
   * For each feature, for each row of the spine: the newest observation at or before the row's
   * time, of equally new ones the one stored last. Observations outside of the bounds do not count,
   * with `asKnown` nor do those that became known after the row's time; there is no value when the
   * newest one that counts is older than the feature's ttl. A feature without stored observations
   * has no values.
   */
  sample(spine: Spine, features: readonly SampledFeature[], bounds?: SampleBounds): Promise<SampledColumn[]>;
  /**
   * Keys of a namespace for which any feature was observed within the bounds, in order. With a
   * limit, a hash of the keys selects them: always the same ones.
   */
  scanKeys(environmentId: string, namespace: string, bounds?: ObservedBounds, limit?: number): Promise<string[]>;
  /**
   * A page of a feature's observations within the bounds, ordered by key, time and order of
   * storing.
   */
  scan(featureId: number, options: ScanOptions): Promise<Observation[]>;
  /**
   * The newest values of each row for which all the features were observed, ordered by key: at most
   * `limit` rows after a key.
   */
  latest(featureIds: readonly number[], options: { readonly after?: string; readonly limit: number }): Promise<LatestTuple[]>;
  /** What is stored. */
  measure(): Promise<OfflineMeasures>;
  /** Resolves when the store answers, however much waits to be put in order. */
  probe(): Promise<void>;
  /**
   * Removes the observations of rows that were observed or stored until a time, epoch milliseconds;
   * default: all. Returns their number. Durable when it resolves.
   */
  deleteKeys(featureIds: readonly number[], keys: readonly string[], until?: number): Promise<number>;
  /**
   * The hours in which something of an environment was observed, in order, with what its
   * observations take: their keys and values, and a constant for the rest. Space that deleted ones
   * have not given back does not count.
   */
  hours(environmentId: string): Promise<HourOfHistory[]>;
  /**
   * Removes an environment's observations of all versions that were observed before a time, epoch
   * milliseconds; returns their number. Durable when it resolves.
   */
  trim(environmentId: string, observedBefore: number): Promise<number>;
  /**
   * Removes a version with all its observations. Durable when it resolves; the next append creates
   * it again.
   */
  dropVersion(featureId: number): Promise<void>;
  /** Waits for pending calls, then closes the files. */
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
   * those of all internal versions in order. Empty when nothing is stored yet.
   */
  tableNames(featureId: number, historical?: boolean): Promise<string[]>;
  /**
   * Runs one `select`; rejects with `refused` for any other statement. At most `limit` rows,
   * default 10,000.
   */
  query(statement: string, options?: { readonly limit?: number }): Promise<OfflineRows>;
}

/** A spine in a Parquet file. */
export interface SpineFile {
  /** Absolute path. */
  readonly path: string;
  /**
   * Its column of keys, as the namespace has them, without the tag of `storeKey`: integers, or
   * text. A row without a key has no values.
   */
  readonly key: string;
  /**
   * Its column of times: a timestamp, where one without a zone is UTC, or a number of epoch
   * milliseconds. A row without a time has no values.
   */
  readonly time: string;
}

/** A feature to be sampled into a column of a file. */
export interface TableFeature extends SampledFeature {
  /** The type of the column, which is the feature's. */
  readonly dtype: DataType;
  /** Its name in the target. */
  readonly column: string;
  /** Name of a column with the times of its observations; default: there is none. */
  readonly observedAtColumn?: string;
  /** The spine's column of its keys, where that is not the spine's `key`. */
  readonly key?: string;
}

/** A sample of a spine in a file. */
export interface TableSampling {
  readonly spine: SpineFile;
  readonly features: readonly TableFeature[];
  readonly bounds?: SampleBounds;
  /** Columns of the spine that come first in the target, as they are; default: none. */
  readonly keep?: readonly string[];
  /** Absolute path of the Parquet file to be written. */
  readonly target: string;
}

/** What a sample into a file came to. */
export interface TableSampled {
  /** Rows of the spine, and of the target in the same order. */
  readonly rows: number;
  /** As in `SampledColumn`, by the features' columns. */
  readonly changedIfAsKnown: Readonly<Record<string, number>>;
}

/** Bounds of exported observations. */
export type HistoryBounds = ObservedBounds & InsertedBounds;

/**
 * An offline store that samples and exports by files, for more rows than memory holds. A target
 * appears under its name when it is whole and synced; its time columns are timestamps in UTC.
 * Every method rejects with `OfflineStoreError`.
 */
export interface TableSampleable {
  /** What `sample` says, from a file to a file. */
  sampleTable(sampling: TableSampling, signal?: AbortSignal): Promise<TableSampled>;
  /**
   * Writes a feature's observations within the bounds, in the order of `scan`: `key`, `value`,
   * `observed_at`, `inserted_at`, `known_at`, `sequence`, `resolver`, `deployment`, `operation`.
   * Resolver and deployment are null where there is none. Of more than `mostRows` nothing is
   * written, and their number returned.
   */
  exportHistory(
    feature: { readonly featureId: number; readonly dtype: DataType },
    target: string,
    bounds?: HistoryBounds & { readonly mostRows?: number },
    signal?: AbortSignal,
  ): Promise<{ readonly rows: number }>;
  /**
   * Writes what `scanKeys` says as a column `key`, without the keys' tags; `refused` when integers
   * and text are mixed. Which ones a limit selects may differ from `scanKeys`.
   */
  exportKeys(
    namespace: { readonly environmentId: string; readonly namespace: string },
    target: string,
    bounds?: ObservedBounds,
    limit?: number,
    signal?: AbortSignal,
  ): Promise<{ readonly rows: number }>;
}

/** The store's sampling by files; undefined when it has none. */
export function tableSampling(store: OfflineStore & Partial<TableSampleable>): TableSampleable | undefined {
  const { sampleTable, exportHistory, exportKeys } = store;
  return sampleTable && exportHistory && exportKeys ? { sampleTable, exportHistory, exportKeys } : undefined;
}

/**
 * The kind of a failure.
 * - `damaged`: the file is damaged; the message names it and says what to do.
 * - `unusable`: the file cannot be opened: its schema is newer, it is another program's, or
 *   unreadable.
 * - `refused`: the call's arguments are not valid.
 * - `failed`: anything else, for example a full disk.
 */
export type OfflineErrorCode = "damaged" | "unusable" | "refused" | "failed";

/** A failed call of the offline store. */
export class OfflineStoreError extends Error {
  override readonly name = "OfflineStoreError";
  constructor(
    readonly code: OfflineErrorCode,
    message: string,
  ) {
    super(message);
  }
}
