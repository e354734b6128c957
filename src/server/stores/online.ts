/** The online store: the newest value per feature and row, for serving. */

import type { FeatureValue } from "../../domain/value.ts";

/** A stored value. Times are epoch milliseconds. */
export interface StoredValue {
  readonly value: FeatureValue;
  readonly observedAt: number;
  /** FQN of the resolver that computed it. */
  readonly resolver: string;
}

/** A value to be stored. */
export interface OnlineWrite {
  readonly namespace: string;
  /** Type-tagged key, see `storeKey`. */
  readonly key: string;
  /** The feature's id in the metadata store (one per FQN and internal version). */
  readonly featureId: number;
  readonly value: FeatureValue;
  readonly observedAt: number;
  readonly resolver: string;
}

/** The rows of a has-many relation of one row, as they were found at a time. */
export interface StoredRows {
  /** How many there were. */
  readonly rows: number;
  /** Values by the feature's id, each as long as `rows`. */
  readonly columns: ReadonlyMap<number, readonly FeatureValue[]>;
  readonly observedAt: number;
  /** FQN of the resolver that gave them. */
  readonly resolver: string;
}

/** Rows to be stored. */
export interface RelationWrite extends StoredRows {
  /** Of the row whose rows they are. */
  readonly namespace: string;
  /** Type-tagged key of that row. */
  readonly key: string;
  /** The relation's id in the metadata store; relations and features share one sequence of ids. */
  readonly relationId: number;
}

/** The key of a row: its primary key with the type in front, so that 1 and "1" stay apart. */
export function storeKey(primaryKey: FeatureValue): string {
  return typeof primaryKey === "string" ? `s:${primaryKey}` : `i:${String(primaryKey)}`;
}

/**
 * The store. A scope is `main` or a branch's name; scopes do not see each other. Local backends answer synchronously, so that a cached read
 * costs no turn of the event loop; callers handle both.
 */
export interface OnlineStore {
  /** For each key, for each feature: the stored value or undefined. Values observed after `asOf` are hidden. */
  getMany(
    scope: string,
    namespace: string,
    keys: readonly string[],
    featureIds: readonly number[],
    asOf?: number,
  ): (StoredValue | undefined)[][] | Promise<(StoredValue | undefined)[][]>;
  /**
   * Stores values; one that is older than what is stored changes nothing, of equally old ones the last stays. A stored
   * value whose time lies ahead of the clock gives way to any other: the clock was ahead when it was stored. Reads see them at once. A backend
   * may write them out a little later: what a killed process had not written is lost, and computed again when it is asked for.
   */
  putMany(scope: string, writes: readonly OnlineWrite[]): void | Promise<void>;
  /** For each key: the stored rows of a relation or undefined. Rows found after `asOf` are hidden. */
  getRelation(
    scope: string,
    namespace: string,
    keys: readonly string[],
    relationId: number,
    asOf?: number,
  ): (StoredRows | undefined)[] | Promise<(StoredRows | undefined)[]>;
  /** Stores rows as `putMany` does values. All rows of a relation are replaced at once: what is not among the new ones is gone. */
  putRelation(scope: string, writes: readonly RelationWrite[]): void | Promise<void>;
  /** Forgets a scope. */
  dropScope(scope: string): void | Promise<void>;
  /** Forgets a feature, or a relation, in every scope. */
  dropFeature(featureId: number): void | Promise<void>;
  /** Writes and reads a probe. Throws when that fails. */
  probe(): void | Promise<void>;
  close(): void | Promise<void>;
}
