/**
 * Ids of series of tiles: one per environment and definition, so that a deployment with the same
 * definition goes on with the tiles of the one before. An id is never used again.
 */

/** A series of an environment. */
export interface SeriesRecord {
  readonly id: number;
  readonly environmentId: string;
  /** Digest of its definition. */
  readonly definition: string;
  /** When something last used it, epoch milliseconds. */
  readonly usedAt: number;
}

/** The series. Every method is one atomic step. */
export interface SeriesStore {
  /**
   * The ids of definitions, in their order, each of which is new if it was not known. They count as
   * used now.
   */
  identify(environmentId: string, definitions: readonly string[]): Promise<readonly number[]>;
  /** The series of an environment, or of all, by id. */
  list(environmentId?: string): Promise<SeriesRecord[]>;
  /**
   * Forgets those of the series that nothing has used since a time; resolves with their ids.
   */
  forget(ids: readonly number[], unusedSince: number): Promise<readonly number[]>;
}
