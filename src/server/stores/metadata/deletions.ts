/**
 * Deletions of stored values: what was to be removed, and which nodes have done so. Every node
 * removes it from its own stores, and keeps what was observed before out of them as long as the
 * deletion is in force. Times are epoch milliseconds.
 */

/** What is removed of one namespace. */
export interface DeletedRows {
  readonly namespace: string;
  /**
   * Fully qualified names of the features and relations whose values are removed; absent from
   * records of versions that kept none.
   */
  readonly features?: readonly string[];
  /** Type-tagged keys of the rows, see `storeKey`. */
  readonly keys: readonly string[];
  /** Ids of the features and relations whose values of these rows are removed. */
  readonly featureIds: readonly number[];
  /** Ids of relations whose stored rows may be among these rows: they are removed for every key. */
  readonly relationIds: readonly number[];
}

/** A version of a feature that began when one before it was ended. */
export interface BegunVersion {
  readonly id: number;
  readonly fqn: string;
  readonly internalVersion: number;
  /** Canonical text of its type. */
  readonly dtype: string;
}

/** Versions of features that came out of use together. */
export interface EndedVersions {
  /** Ids of the versions: none of their values is served or stored any more. */
  readonly ended: readonly number[];
  /** Ids of versions whose history is removed; empty = it stays, out of the reach of queries. */
  readonly dropped: readonly number[];
  readonly begun: readonly BegunVersion[];
}

/** What a node removed. */
export interface RemovedCounts {
  /** Values and relations of the rows in the online store. */
  readonly online: number;
  /** Observations in the offline store. */
  readonly offline: number;
  /** Queries in the query log that held a key. */
  readonly queries: number;
  /** Values in deliveries to webhooks; absent from records of versions that removed none. */
  readonly told?: number;
}

/** A deletion. */
export interface DeletionRecord {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own values. */
  readonly branch: string;
  readonly rows: readonly DeletedRows[];
  /** The versions that it ended; null = it is about rows. */
  readonly versions: EndedVersions | null;
  /** When it was asked for: values observed until then are removed, and refused from then on. */
  readonly createdAt: number;
  /** Time from which on it is forgotten. */
  readonly expiresAt: number;
  /** What each node removed, by the ids of those that are done. */
  readonly removed: Readonly<Record<string, RemovedCounts>>;
}

/** Deletions. */
export interface DeletionStore {
  /**
   * Adds a deletion, unless the keys and versions of all that are there would then be more than
   * `mostKeys`; `full` then.
   */
  create(deletion: DeletionRecord, mostKeys: number): Promise<"created" | "full">;
  /** The ids of all deletions, the oldest first. */
  ids(): Promise<string[]>;
  /** A deletion by its id. */
  get(id: string): Promise<DeletionRecord | undefined>;
  /** Notes that a node is done with a deletion, and what it removed. */
  settle(id: string, node: string, removed: RemovedCounts): Promise<void>;
  /** Removes deletions that expired by then; returns their number. */
  purge(now: number): Promise<number>;
}
