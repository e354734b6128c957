/**
 * The telemetry store: logged queries, spans and stages, for people to read. Records are
 * handed over without waiting and written by a separate thread; when they come faster than they can
 * be written, the excess is dropped and counted. No answer to a query depends on it.
 */

import type { Search } from "../../../domain/search/tree.ts";

/** The kind of an operation that an error is of. */
export type ErrorOperation = "query" | "bulk_query" | "run" | "offline_query" | "sink" | "function";

/** An exception that user code raised. */
export interface RecordedException {
  readonly kind: string;
  readonly message: string;
  readonly stacktrace: string;
  readonly file: string;
  readonly line: number;
}

/** An error of an operation; equal ones of one are one. Texts that do not apply are empty. */
export interface ErrorRecord {
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly operationId: string;
  readonly operationKind: ErrorOperation;
  readonly queryName: string;
  /** Name of the code. */
  readonly code: string;
  /** At most 2,000 characters. */
  readonly message: string;
  readonly feature: string;
  readonly resolver: string;
  readonly exception?: RecordedException | undefined;
  /** How often the operation had it. */
  readonly count: number;
  /** Further errors of the operation that are not kept, with the last of its errors that are. */
  readonly omitted: number;
}

/** The error of a run or an offline query, of which rows failed or which failed as a whole. */
export interface JobError
  extends Pick<ErrorRecord, "environmentId" | "deploymentId" | "branch" | "operationId" | "operationKind" | "message"> {
  readonly resolver: string;
  readonly queryName: string;
  /** Rows that failed; 0 = it failed as a whole. */
  readonly failedRows: number;
}

/** Takes errors of runs and offline queries; never waits, never throws. */
export type JobErrorRecorder = (error: JobError) => void;

/** An error with its place in the order of arrival, from 1. */
export interface StoredError extends ErrorRecord {
  readonly seq: number;
}

/** Selection of errors of an environment. Times are epoch milliseconds. */
export interface ErrorSearch extends RecordedBounds {
  readonly environmentId: string;
  /** By the fields of `domain/query-errors.ts`. */
  readonly search: Search;
}

/** Errors that differ only in the values that they name. */
export interface ErrorGroup {
  /** As `domain/error-pattern.ts` has it. */
  readonly pattern: string;
  readonly code: string;
  readonly count: number;
  /** Number of operations that had one. */
  readonly operations: number;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** At most 20. */
  readonly resolvers: readonly string[];
  readonly features: readonly string[];
  /** The last of them. */
  readonly sample: ErrorRecord;
}

/** Encoding of a query's bodies: the JSON of the query API, or the contract's binary messages. */
export type BodyEncoding = "json" | "proto";

/** A request or a response as it was sent: text for `json`, bytes for `proto`. */
export type Body = string | Uint8Array;

/** The kind of a query; empty for those of versions that did not say. */
export type QueryRunKind = "online" | "bulk" | "";

/** What is known of a query beside its bodies. Texts that do not apply are empty. */
export interface QueryFacts {
  readonly kind: QueryRunKind;
  /** Version of the named query, as it was resolved. */
  readonly queryVersion: string;
  /** Whether its name is that of a named query of the deployment, and not only a label. */
  readonly isNamed: boolean;
  /** The same for queries of one shape; empty when it was refused. */
  readonly planHash: string;
  /** Namespace of its rows. */
  readonly rootNamespace: string;
  /** Primary key of its row, where it has one row. */
  readonly primaryKey: string;
  /** The same of a class whose keys are not to be read: a hash of it is kept, to be found by. */
  readonly secretKey?: string | undefined;
  /** Id of the client that asked. */
  readonly agentId: string;
  /** Names of its errors' codes, each once, separated by blanks. */
  readonly errorCodes: string;
  /** Share of its values that the online store served, 0 to 1; null = it has none. */
  readonly hitShare: number | null;
  /** Rows that were asked for; 0 when it was refused. */
  readonly rows: number;
  /** Its trace, where that is kept. */
  readonly traceId: string;
}

/** An online query that ran. Times are epoch milliseconds. */
export interface QueryLogEntry extends QueryFacts {
  readonly queryId: string;
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly queryName: string;
  readonly correlationId: string;
  /** Errors in the response, or those with which the query was refused. */
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
export interface QueryLogSummary extends Omit<QueryLogEntry, "error" | "encoding" | "request" | "response" | "origins" | "secretKey"> {
  /** Id of what it has in common with others; empty when it was refused. */
  readonly metaId: string;
  /** Whether it was refused, or the server failed. */
  readonly isRefused: boolean;
}

/** An entry with its place in the order of arrival, from 1. */
export interface StoredQuery extends QueryLogSummary {
  readonly seq: number;
}

/** Selection of queries of an environment. Times are epoch milliseconds. */
export interface QuerySearch extends RecordedBounds {
  readonly environmentId: string;
  /** By the fields of `domain/query-runs.ts`. */
  readonly search: Search;
  /** Text of the primary key of the query's row, also of those that cannot be read. */
  readonly primaryKey?: string | undefined;
}

/**
 * A page, newest first by arrival. It may have fewer records than were asked for, or none, and
 * still be followed by another: one call looks through a bounded number of records.
 */
export interface NewestPage<R> {
  readonly records: readonly R[];
  /** The next page has records with a lower `seq` than this; undefined = there are none. */
  readonly next: number | undefined;
}

/**
 * What queries have in common: those of a name and version, or those of one shape without a name.
 */
export interface MetaQuery {
  readonly id: string;
  /** Empty for a shape. */
  readonly name: string;
  readonly version: string;
  /** Whether the name was that of a named query of a deployment. */
  readonly isNamed: boolean;
  /** Hash of the latest plan. */
  readonly planHash: string;
  readonly rootNamespace: string;
  /** Outputs of that plan, by their paths; empty when it is no longer known. */
  readonly outputs: readonly string[];
  /** First and last time that one arrived, epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Number of queries since `firstAt`, and of those with errors. */
  readonly runs: number;
  readonly failed: number;
}

/** Latencies of the latest queries of a meta query, milliseconds. */
export interface MetaLatencies {
  /** Number of queries that they are of; the log may hold fewer than there were. */
  readonly runs: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Selection of meta queries. */
export interface MetaQueryFilter {
  readonly environmentId: string;
  /** Only those with a name, only those that are no named query, or all. */
  readonly which: "all" | "named" | "ad_hoc";
  /** A part of the name, in any case; empty = any. */
  readonly namePart: string;
  /** The exact name; empty = any. */
  readonly name: string;
  /** Those that were observed at or after this time, and before that one, epoch milliseconds. */
  readonly from?: number | undefined;
  readonly before?: number | undefined;
}

/** Place in a list of meta queries. */
export interface MetaQueryPlace {
  readonly lastAt: number;
  readonly id: string;
}

/** A plan as it was when a query of its shape was first seen. */
export interface PlanRecord {
  readonly hash: string;
  readonly environmentId: string;
  readonly deploymentId: string;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly rootNamespace: string;
  /** Paths of its outputs. */
  readonly outputs: readonly string[];
  /** `DescribedPlan` as JSON, which contains no values; at most 256 KiB. */
  readonly plan: string;
}

/** Kind of work that a span measures; `app`: that of an application, which sent it. */
export type SpanKind = "gateway" | "plan" | "op" | "worker" | "sql" | "store" | "app" | "delivery" | "job";

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

/** A trace as far as it is kept. Times are epoch milliseconds. */
export interface TraceSummary {
  readonly traceId: string;
  /** Name and service of its first span. */
  readonly rootSpan: string;
  readonly service: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly spanCount: number;
  /** Spans with an error. */
  readonly errorCount: number;
  /** The query of its first span, and its name. */
  readonly queryId: string;
  readonly queryName: string;
}

/** Selection of traces and spans of an environment by what is known of a span; empty = any. */
export interface SpanSearch extends RecordedBounds {
  readonly environmentId: string;
  readonly service: string;
  /** Name of the span; `*` stands for anything. */
  readonly name: string;
}

/** Place in a list of traces. */
export interface TracePlace {
  readonly startedAt: number;
  readonly traceId: string;
}

/** Traces, the latest start first; there may be fewer than were asked for before a next page. */
export interface TracePage {
  readonly traces: readonly TraceSummary[];
  /** The next page has those behind this place; undefined = there are none. */
  readonly next: TracePlace | undefined;
}

/** A span with its place in the order of arrival, from 1. */
export interface StoredSpan extends SpanRecord {
  readonly seq: number;
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
  /** Bytes in use, and those above which the oldest records but spans are removed. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** That bound where none was set. */
  readonly defaultMaxBytes: number;
  /** Age above which records but spans are removed, milliseconds, and that where none was set. */
  readonly maxAgeMs: number;
  readonly defaultMaxAgeMs: number;
  /** Number of queries that were removed since the start, because of age or size. */
  readonly removedQueries: number;
  /** About the bytes of spans, which are among `bytes`, and those above which the oldest go. */
  readonly spanBytes: number;
  readonly maxSpanBytes: number;
  readonly defaultMaxSpanBytes: number;
  /** Age above which spans are removed, milliseconds, and that where none was set. */
  readonly maxSpanAgeMs: number;
  readonly defaultMaxSpanAgeMs: number;
  /** Records that wait to be written, and their approximate bytes. */
  readonly pendingRecords: number;
  readonly pendingBytes: number;
}

/** Bounds of what the store keeps; undefined = the default. */
export interface TelemetryLimits {
  readonly maxBytes: number | undefined;
  /** Milliseconds. */
  readonly maxAgeMs: number | undefined;
  /** Bounds of spans; absent = the default. */
  readonly maxSpanBytes?: number | undefined;
  readonly maxSpanAgeMs?: number | undefined;
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
  /** Records errors; never waits, never throws. */
  recordErrors(errors: readonly ErrorRecord[]): void;
  /** A page of at most `limit` errors; `beforeSeq`: `next` of the page before. */
  searchErrors(filter: ErrorSearch, limit: number, beforeSeq?: number): Promise<NewestPage<StoredError>>;
  /** Groups of the newest 200,000 errors of all environments, the largest first. */
  groupErrors(filter: ErrorSearch, limit: number, offset: number): Promise<ErrorGroup[]>;
  /** A page of at most `limit` queries; `beforeSeq`: `next` of the page before. */
  searchQueries(filter: QuerySearch, limit: number, beforeSeq?: number): Promise<NewestPage<StoredQuery>>;
  /** Records a plan, unless one of its hash is known; never waits, never throws. */
  recordPlan(plan: PlanRecord): void;
  /** A plan by its hash. */
  plan(environmentId: string, hash: string): Promise<PlanRecord | undefined>;
  /** Meta queries, the last observed first, at most `limit` of those behind a place. */
  metaQueries(filter: MetaQueryFilter, limit: number, after?: MetaQueryPlace): Promise<MetaQuery[]>;
  /** A meta query with its latencies. */
  metaQuery(environmentId: string, id: string): Promise<{ readonly query: MetaQuery; readonly latencies: MetaLatencies } | undefined>;
  /** A page of at most `limit` traces behind a place. */
  traces(filter: SpanSearch, limit: number, after?: TracePlace): Promise<TracePage>;
  /** A trace of an environment. */
  trace(environmentId: string, traceId: string): Promise<TraceSummary | undefined>;
  /** The trace of the first span of an operation, such as a run; undefined when none is kept. */
  traceIdOf(environmentId: string, operationId: string): Promise<string | undefined>;
  /** A page of at most `limit` spans; `beforeSeq`: `next` of the page before. */
  searchSpans(filter: SpanSearch, limit: number, beforeSeq?: number): Promise<NewestPage<StoredSpan>>;
  /** Spans of an id, which only several traces can share. */
  spansById(environmentId: string, spanId: string): Promise<SpanRecord[]>;
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
   * Removes queries in whose request or answer a key is found, with their spans and errors, and
   * lets their stages expire; other errors that name a key go too. Resolves with the number of
   * queries. Other calls are answered in between. Ends early when
   * the signal is aborted.
   * @param before called with the ids of queries before those are removed: what fails there is done
   * again with the next call
   */
  forgetKeys(keys: LoggedKeys, signal?: AbortSignal, before?: (queryIds: readonly string[]) => Promise<void>): Promise<number>;
  /**
   * Number of records dropped since the start: too many came at once, or they could not be written.
   */
  dropped(): number;
  /** Those of them that were spans; the others are queries. */
  droppedSpans(): number;
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
