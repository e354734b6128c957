/**
 * Offline queries, and the shards that their rows are computed in. Every method is one atomic step;
 * times are epoch milliseconds. Who works on a query is said by the fencing number of the job.
 */

import type { NewJob } from "./jobs.ts";

/** The state of a query; `completed`, `failed` and `canceled` are final. */
export type OfflineQueryState = "queued" | "working" | "completed" | "failed" | "canceled";

/** What began a query. */
export type OfflineQueryKind = "manual" | "scheduled_query";

/** The form of a file with rows. */
export type OfflineRowsFormat = "parquet" | "csv" | "json";

/** Where the rows of a query come from. */
export type OfflineRows =
  /** An object with the columns and times that came with the call. */
  | { readonly from: "inline"; readonly key: string }
  /** An object with a file; the name of the column of times may be empty. */
  | {
      readonly from: "file";
      readonly key: string;
      readonly sha256: string;
      readonly format: OfflineRowsFormat;
      readonly timeColumn: string;
    }
  /** A `select`. */
  | { readonly from: "sql"; readonly statement: string; readonly timeColumn: string }
  /** Keys of the class of the outputs that are known; null = no bound, 0 = all. */
  | { readonly from: "keys"; readonly lowerBound: number | null; readonly upperBound: number | null; readonly maxSamples: number };

/** What was asked for, checked. */
export interface OfflineQueryRequest {
  readonly rows: OfflineRows;
  /**
   * The time of all rows, microseconds since 1970 as text; empty = each has its own, or the
   * creation's.
   */
  readonly time: string;
  /** Outputs as they were asked for; empty = those of the named query. */
  readonly outputs: readonly string[];
  readonly requiredOutputs: readonly string[];
  /** What resolvers compute: everything, or these features; the rest is sampled. */
  readonly recompute: "all" | readonly string[];
  readonly asKnown: boolean;
  readonly includeObservedAt: boolean;
  readonly numShards: number;
  readonly storeOnline: boolean;
  readonly storeOffline: boolean;
  readonly tags: readonly string[];
  /** 0 = all rows are kept. */
  readonly sampleFraction: number;
  /** 0 = rows are not divided. */
  readonly testFraction: number;
  readonly splitBy: "key" | "time";
  readonly plannerOptions: Readonly<Record<string, string>>;
  /** The deployment as it was asked for, by id or tag; empty = the live one. */
  readonly deployment: string;
  /** In whose workers all resolvers are called; absent = each in those of its own. */
  readonly resourceGroup?: string;
}

/** A query to be stored. */
export interface NewOfflineQuery {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  /** Fixed when the query is begun. */
  readonly deploymentId: string;
  readonly kind: OfflineQueryKind;
  /** Empty = none. */
  readonly queryName: string;
  readonly queryNameVersion: string;
  /** Id of the client that began it; empty = the platform itself. */
  readonly agentId: string;
  /** Name of the dataset; empty = one without a name. */
  readonly datasetName: string;
  /** FQNs from the root. */
  readonly outputs: readonly string[];
  readonly request: OfflineQueryRequest;
  /** Id of the query whose request it has; empty = none. */
  readonly retryOf: string;
}

/** A query as it is stored. */
export interface OfflineQueryRecord extends NewOfflineQuery {
  readonly state: OfflineQueryState;
  /** Also the time of rows that were given none. */
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Rows of the spine; undefined = not known yet. */
  readonly totalRows: number | undefined;
  /** From this time on rows are of the test part, epoch milliseconds; undefined = not by time. */
  readonly splitAt: number | undefined;
  /** Empty until the spine is known. */
  readonly datasetId: string;
  readonly revisionId: string;
  /** Why it failed; empty = it did not. */
  readonly error: string;
  /** Whether nothing is left to be removed of a query that ended without a revision. */
  readonly isTidy: boolean;
}

/** A query with how far its shards have got. */
export interface OfflineQueryStanding extends OfflineQueryRecord, ShardCounts {}

/** What became of rows. */
export interface ShardCounts {
  /** Rows of the spine that were worked off. */
  readonly doneRows: number;
  /** Rows of the answer. */
  readonly rows: number;
  /** Rows of which an output failed. */
  readonly failedRows: number;
  /** Sampled values that were stored only after their row's time. */
  readonly lateValues: number;
  /** The first error of a row; empty = none. */
  readonly rowError: string;
}

/** A part of a query's rows. */
export interface OfflineShard extends ShardCounts {
  readonly queryId: string;
  /** From 0. */
  readonly shard: number;
  /** Position of its first row in the spine, from 0. */
  readonly fromRow: number;
  /** Number of its rows in the spine. */
  readonly spineRows: number;
  readonly isDone: boolean;
}

/** What is known of a query once its rows are. */
export interface OfflineSpine {
  readonly totalRows: number;
  readonly splitAt: number | undefined;
  readonly datasetId: string;
  readonly revisionId: string;
  readonly shards: readonly Pick<OfflineShard, "fromRow" | "spineRows">[];
}

/** A selection of queries; what is absent selects all. */
export interface OfflineQueryFilter {
  readonly environmentId: string;
  /** Part of the id. */
  readonly id?: string | undefined;
  readonly branch?: string | undefined;
  readonly agentId?: string | undefined;
  readonly state?: OfflineQueryState | undefined;
  readonly kind?: string | undefined;
  readonly queryName?: string | undefined;
  readonly queryNameVersion?: string | undefined;
  /** Earliest creation, inclusive. */
  readonly since?: number | undefined;
  /** Only those that were stored before the query with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The queries. */
export interface OfflineQueryStore {
  /**
   * Stores a query and enqueues its jobs. `full` when the environment has `limit` queries that have
   * not ended; then nothing is stored.
   */
  create(query: NewOfflineQuery, jobs: readonly NewJob[], limit: number): Promise<OfflineQueryStanding | "full">;
  /** Marks a query as working. Undefined when it has ended, or there is none. */
  begin(id: string): Promise<OfflineQueryRecord | undefined>;
  /**
   * Keeps what is known of a query's rows; false when it has ended. What was kept before stays, so
   * that shards never change.
   */
  plan(id: string, spine: OfflineSpine): Promise<boolean>;
  /** A shard; undefined when the query has none of that number. */
  shard(id: string, shard: number): Promise<OfflineShard | undefined>;
  /**
   * Says how far a shard has got. False when the query has ended, or a later fencing number has
   * written to the shard.
   */
  report(id: string, shard: number, fence: number, counts: ShardCounts & { readonly isDone: boolean }): Promise<boolean>;
  /**
   * Ends a query; false when it has ended before. One whose revision is complete, so that others
   * can read it, is completed, whatever would end it otherwise: false too.
   */
  end(id: string, state: "completed" | "failed" | "canceled", error?: string): Promise<boolean>;
  /** Notes that nothing is left to be removed of a query. */
  tidied(id: string): Promise<void>;
  /** Queries that ended without a revision, of which files may be left, oldest first. */
  untidy(limit: number): Promise<OfflineQueryRecord[]>;
  query(id: string): Promise<OfflineQueryStanding | undefined>;
  /** Selected queries, newest first. */
  list(filter: OfflineQueryFilter): Promise<OfflineQueryStanding[]>;
  /** Of these objects with rows those that a query still needs: one that has not ended long ago. */
  inputsInUse(keys: readonly string[], endedAfter: number): Promise<string[]>;
  /**
   * Removes tidy queries that ended longer ago than this, at most `limit`; returns their number.
   */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
