/**
 * The telemetry store: logged queries, spans and stages, for people to read. Records are
 * handed over without waiting and written by a separate thread; when they come faster than they can
 * be written, the excess is dropped and counted. No answer to a query depends on it.
 */

/** Encoding of a query's bodies: the JSON of the query API, or the contract's binary messages. */
export type BodyEncoding = "json" | "proto";

/** A request or a response as it was sent: text for `json`, bytes for `proto`. */
export type Body = string | Uint8Array;

/** An online query that ran. Times are epoch milliseconds. */
export interface QueryLogEntry {
  readonly queryId: string;
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly queryName: string;
  readonly correlationId: string;
  /** Errors in the response, or 1 when the query was refused. */
  readonly errorCount: number;
  /** Reason why there is no response. */
  readonly error?: string;
  readonly encoding: BodyEncoding;
  readonly request: Body;
  /** Absent when the query was refused or the server failed. */
  readonly response?: Body;
  /**
   * Origins of the response's values, a line for each: `+` when the online store served it, then
   * the FQN of the resolver that computed it.
   */
  readonly origins: string;
}

/** An entry of a list of queries. */
export type QueryLogSummary = Omit<QueryLogEntry, "error" | "encoding" | "request" | "response" | "origins">;

/** Kind of work that a span measures; `app`: that of an application, which sent it. */
export type SpanKind = "gateway" | "plan" | "op" | "worker" | "sql" | "store" | "app";

/** A piece of work of a traced query. */
export interface SpanRecord {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** The parent span; empty for a root whose caller sent none. */
  readonly parentSpanId: string;
  readonly kind: SpanKind;
  readonly name: string;
  /** Epoch milliseconds with a fraction. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Message of the error; empty = none. */
  readonly error: string;
  /** Attributes by name. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly queryId: string;
  readonly environmentId: string;
  readonly deploymentId: string;
}

/** Selection of spans: those of a trace, which may have several queries, or those of a query. */
export type SpanFilter = { readonly traceId: string } | { readonly queryId: string };

/** Record of a stage of a query; its rows are in an object. */
export interface StageRecord {
  readonly queryId: string;
  /** Its position among the query's stages, from 0. */
  readonly stage: number;
  readonly environmentId: string;
  /** Epoch milliseconds at which the query arrived. */
  readonly startedAt: number;
  /** Kind of the step: an op's, or `stored`. */
  readonly kind: string;
  /** Provider of the values; empty = a join. */
  readonly provider: string;
  /** The relation path of its rows. */
  readonly path: string;
  readonly rows: number;
  readonly columns: readonly string[];
  /** Reason why the rows are not stored; empty = they are. */
  readonly omitted: string;
  /** SHA-256 of the object with the rows; empty = not stored. */
  readonly sha256: string;
  /** Size of the object in bytes. */
  readonly size: number;
}

/** Bounds of a query's start, in epoch milliseconds. */
export interface RecordedBounds {
  /** Inclusive; default: unbounded. */
  readonly from?: number;
  /** Exclusive; default: unbounded. */
  readonly before?: number;
}

/**
 * Selection of queries: those of an environment or of one of its deployments within the bounds, at
 * most the newest `limit`.
 */
export interface QueryLogFilter extends RecordedBounds {
  readonly environmentId: string;
  readonly deploymentId?: string;
  readonly limit: number;
}

/** Queries whose stages have expired, with the objects that hold the rows. */
export interface ExpiredStages {
  readonly queryIds: readonly string[];
  /** SHA-256 digests. */
  readonly objects: readonly string[];
}

/** Keys of rows whose queries are to be forgotten. */
export interface LoggedKeys {
  readonly environmentId: string;
  readonly branch: string;
  /** Texts of the keys. */
  readonly keys: readonly string[];
  /** Epoch milliseconds; queries that started later stay. */
  readonly until: number;
}

/** What the store holds, and what waits for it. */
export interface TelemetryFigures {
  /** Number of its schema. */
  readonly schemaVersion: number;
  /** Bytes in use, and those above which the oldest records are removed. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** That bound where none was set. */
  readonly defaultMaxBytes: number;
  /** Age above which records are removed, milliseconds, and that where none was set. */
  readonly maxAgeMs: number;
  readonly defaultMaxAgeMs: number;
  /** Number of queries that were removed since the start, because of age or size. */
  readonly removedQueries: number;
  /** Records that wait to be written, and their approximate bytes. */
  readonly pendingRecords: number;
  readonly pendingBytes: number;
}

/** Bounds of what the store keeps; undefined = the default. */
export interface TelemetryLimits {
  readonly maxBytes: number | undefined;
  /** Milliseconds. */
  readonly maxAgeMs: number | undefined;
}

/** A move of the schema; equal versions when there was nothing to do. */
export interface SchemaMove {
  readonly from: number;
  readonly to: number;
}

/** The store. */
export interface TelemetryStore {
  /** Records a query; never waits, never throws. Failed queries have a higher bound than others. */
  recordQuery(entry: QueryLogEntry): void;
  /** Records the spans of a query, all or none; never waits, never throws. */
  recordSpans(spans: readonly SpanRecord[]): void;
  /** Whether a query recorded now will be stored; only then is a link to its page returned. */
  hasRoom(): boolean;
  /** A query by its id, including one that was just recorded. */
  query(queryId: string): Promise<QueryLogEntry | undefined>;
  /** Queries, newest first. */
  queries(filter: QueryLogFilter): Promise<QueryLogSummary[]>;
  /** Spans ordered by start, including those that were just recorded. */
  spans(filter: SpanFilter): Promise<SpanRecord[]>;
  /**
   * Stores the records of a query's stages. To be awaited before the objects are put, so that every
   * object has a record.
   */
  keepStages(stages: readonly StageRecord[]): Promise<void>;
  /** The stages of a query, in order; none of one that is too old. */
  stages(queryId: string): Promise<StageRecord[]>;
  /**
   * The queries whose stages are too old, or whose objects exceed the size limit together with
   * those of newer ones. Their records stay until `forgetStages`: the owner of the objects deletes
   * those first, so that none is left behind.
   */
  expiredStages(): Promise<ExpiredStages>;
  /** Removes the records of queries' stages. */
  forgetStages(queryIds: readonly string[]): Promise<void>;
  /**
   * Removes the queries and spans of an environment, and lets its stages expire. Bodies
   * that are packed together with those of another environment can no longer be read, and go when
   * those do.
   */
  forgetEnvironment(environmentId: string): Promise<void>;
  /**
   * Removes queries in whose request or answer a key is found, with their spans, and lets their
   * stages expire; resolves with their number. Other calls are answered in between. Ends early when
   * the signal is aborted.
   * @param before called with the ids of queries before those are removed: what fails there is done
   * again with the next call
   */
  forgetKeys(keys: LoggedKeys, signal?: AbortSignal, before?: (queryIds: readonly string[]) => Promise<void>): Promise<number>;
  /**
   * Number of records dropped since the start: too many came at once, or they could not be written.
   */
  dropped(): number;
  /** What the store holds now. */
  figures(): Promise<TelemetryFigures>;
  /** Sets the bounds beyond which the oldest records are removed. */
  limit(limits: TelemetryLimits): Promise<void>;
  /**
   * Brings the schema to the newest. The first call after a start also reports the move that
   * opening the store made.
   */
  migrate(): Promise<SchemaMove>;
  /** Writes and reads a record. Rejects when that fails. */
  probe(): Promise<void>;
  /** Resolves when everything recorded so far is written or dropped. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
