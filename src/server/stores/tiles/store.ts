/**
 * The tile store: states of kept aggregates, by series, group and bucket, and how far each stream
 * was folded into them. A series is one aggregation of the rows of a class by some columns, with
 * one length of buckets; its id comes from the metadata store and is never used for another. Both
 * are in one store, so that a message's effect and the offset behind it are written in one step.
 */

/** A bucket of a group: rows whose time is in `[bucket, bucket + 1)` times the series' length. */
export interface TileKey {
  readonly seriesId: number;
  /** Type-tagged values of the group's columns, see `groupKey`. */
  readonly group: string;
  /** Number of the bucket, counted from the series' origin; negative before it. */
  readonly bucket: number;
}

/** A tile: the encoded state of its bucket's rows. */
export interface Tile extends TileKey {
  readonly state: Uint8Array;
}

/** Tiles of one group to be read, oldest first. */
export interface TileRead {
  readonly seriesId: number;
  readonly group: string;
  /** First bucket, inclusive. */
  readonly from: number;
  /** Bucket after the last. */
  readonly until: number;
}

/** A tile of a range that was found. */
export type FoundTile = Pick<Tile, "bucket" | "state">;

/** The tiles of each read. */
export type FoundTiles = readonly (readonly FoundTile[])[];

/**
 * Buckets of a series whose tiles, of all groups, are what is given: others of them are removed.
 */
export interface TileReplacement {
  readonly seriesId: number;
  readonly from: number;
  readonly until: number;
  readonly tiles: readonly Tile[];
}

/** Merges a state into another; both as they are stored. Pure. */
export type MergeStates = (seriesId: number, stored: Uint8Array, added: Uint8Array) => Uint8Array;

/** A partition of a stream. */
export interface StreamPartition {
  /** Id of the stream in its environment. */
  readonly streamId: string;
  readonly partition: number;
}

/** How far a partition was read. */
export interface StreamPosition extends StreamPartition {
  /** Offset of the next message. */
  readonly offset: bigint;
  /** Latest time of a message before it, microseconds since 1970; undefined = none had one. */
  readonly watermark: number | undefined;
}

/** A step of a partition. */
export interface StreamStep extends StreamPosition {
  /** The offset from which the step was read; undefined = nothing was read of it before. */
  readonly expected: bigint | undefined;
}

/** What is written in one step. */
export interface TileCommit {
  /** States that are merged into the stored tiles, or become them. */
  readonly deltas: readonly Tile[];
  /** Partitions that move on with them. */
  readonly steps: readonly StreamStep[];
  /** Leaves deltas out; default: all are written. */
  readonly guard?: TileGuard;
}

/** What says of deltas, by tiles of their series as they are in the step, whether they count. */
export interface TileGuard {
  /** The tiles that say so. */
  read(seriesId: number): TileRead;
  /** Whether a delta is written. Pure. */
  admits(delta: TileKey, found: readonly FoundTile[]): boolean;
}

/** What a tile store holds of a series. */
export interface SeriesMeasures {
  readonly tiles: number;
  readonly groups: number;
  readonly bytes: number;
}

/** The store. A scope is `main` or a branch's name; scopes do not see each other. */
export interface TileStore {
  /**
   * Tiles of several groups, each list by bucket. A store in this process answers at once; callers
   * handle both.
   */
  read(scope: string, reads: readonly TileRead[]): FoundTiles | Promise<FoundTiles>;
  /**
   * Writes all of a commit, or nothing: false when a partition is no longer where its step was read
   * from, because another reader was there before or somebody moved it. What it resolves with
   * outlives this process.
   */
  commit(scope: string, commit: TileCommit, merge: MergeStates): Promise<boolean>;
  /** Replaces buckets of series, each in one step. Doing it again changes nothing. */
  replace(scope: string, replacements: readonly TileReplacement[]): Promise<void>;
  /** Where partitions of a stream are. */
  positions(scope: string, streamId: string): Promise<readonly StreamPosition[]>;
  /**
   * Moves partitions, whatever their position; undefined = as if nothing was read of it. Tiles stay
   * as they are.
   */
  seek(scope: string, moves: readonly (StreamPartition & { readonly offset: bigint | undefined })[]): Promise<void>;
  /** Forgets the positions of streams. */
  forgetStreams(scope: string, streamIds: readonly string[]): Promise<void>;
  /** Removes the tiles of groups of series; resolves with their number. */
  deleteGroups(scope: string, groups: readonly Pick<TileKey, "seriesId" | "group">[]): Promise<number>;
  /**
   * Removes buckets of a series before one, in all scopes and in short steps; resolves with their
   * number. Ends early with the signal.
   */
  prune(seriesId: number, before: number, signal?: AbortSignal): Promise<number>;
  /** Removes all tiles of series in all scopes, in short steps; resolves with their number. */
  dropSeries(seriesIds: readonly number[], signal?: AbortSignal): Promise<number>;
  /** Removes everything stored in a scope. */
  dropScope(scope: string): Promise<void>;
  /** What is stored of each series, in all scopes. */
  measure(): Promise<ReadonlyMap<number, SeriesMeasures>>;
  /** Writes and reads a probe. Throws when that fails. */
  probe(): void | Promise<void>;
  close(): void | Promise<void>;
}
