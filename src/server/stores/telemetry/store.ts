/**
 * The telemetry store: what the server did, for people to look at. Records are handed over without
 * waiting and written by a thread of their own; when they come faster than they can be written,
 * those that find no room are dropped and counted. Nothing here is needed to answer a query.
 */

/**
 * How a query's bodies are written: the JSON of the query API, or the contract's messages in
 * binary.
 */
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
  /** Why there is no response. */
  readonly error?: string;
  readonly encoding: BodyEncoding;
  readonly request: Body;
  /** Absent when the query was refused or the server failed. */
  readonly response?: Body;
  /**
   * Where each value of the response came from: a line each, `+` when the online store served it,
   * then the FQN of the resolver that computed it.
   */
  readonly origins: string;
}

/** A row of the list of queries. */
export type QueryLogSummary = Omit<QueryLogEntry, "error" | "encoding" | "request" | "response" | "origins">;

/** A line logged by a deployment: its build, or user code. */
export interface LogEntry {
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly timestampMs: number;
  readonly level: "debug" | "info" | "warning" | "error";
  readonly logger: string;
  readonly resolver: string;
  readonly queryId: string;
  readonly text: string;
}

/** Kinds of work that a span can be. */
export type SpanKind = "gateway" | "plan" | "op" | "worker" | "sql" | "store";

/** A piece of work of a traced query. */
export interface SpanRecord {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** The span that it is a part of; empty for a first one whose caller sent none. */
  readonly parentSpanId: string;
  readonly kind: SpanKind;
  readonly name: string;
  /** Epoch milliseconds with a fraction. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Message of the error; empty = none. */
  readonly error: string;
  /** Facts by name. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly queryId: string;
  readonly environmentId: string;
  readonly deploymentId: string;
}

/** Choice of spans: those of a trace, which can have more than one query, or those of a query. */
export type SpanFilter = { readonly traceId: string } | { readonly queryId: string };

/** Record of a stage that a query left; its rows are in an object. */
export interface StageRecord {
  readonly queryId: string;
  /** Its place among the query's stages, from 0. */
  readonly stage: number;
  readonly environmentId: string;
  /** Epoch milliseconds at which the query arrived. */
  readonly startedAt: number;
  /** Kind of the step: an op's, or `stored`. */
  readonly kind: string;
  /** Provider of the values; empty = a join. */
  readonly provider: string;
  /** The path whose rows they are. */
  readonly path: string;
  readonly rows: number;
  readonly columns: readonly string[];
  /** Why the rows are not kept; empty = they are. */
  readonly omitted: string;
  /** Digest of the object with the rows; empty = not kept. */
  readonly sha256: string;
  /** Of the object, in bytes. */
  readonly size: number;
}

/** Bounds of a record's time, epoch milliseconds: that of a query's start, or of a line. */
export interface RecordedBounds {
  /** Inclusive; default: the beginning. */
  readonly from?: number;
  /** Exclusive; default: the end. */
  readonly before?: number;
}

/**
 * Choice of queries: those of an environment or of one of its deployments within the bounds, at
 * most the newest `limit`.
 */
export interface QueryLogFilter extends RecordedBounds {
  readonly environmentId: string;
  readonly deploymentId?: string;
  readonly limit: number;
}

/**
 * Choice of lines: those of a deployment or a query within the bounds, at most the newest `limit`.
 */
export interface LogFilter extends RecordedBounds {
  readonly deploymentId?: string;
  readonly queryId?: string;
  readonly limit: number;
}

/** Queries whose stages are to go, with the objects that hold the rows. */
export interface ExpiredStages {
  readonly queryIds: readonly string[];
  /** Digests. */
  readonly objects: readonly string[];
}

/** The store. */
export interface TelemetryStore {
  /**
   * Takes a query; never waits, never throws. One that failed is kept when others are dropped
   * already, up to a limit of its own.
   */
  recordQuery(entry: QueryLogEntry): void;
  /** Takes a log line; never waits, never throws. Errors are kept as failed queries are. */
  recordLog(entry: LogEntry): void;
  /** Takes the spans of a query, all or none; never waits, never throws. */
  recordSpans(spans: readonly SpanRecord[]): void;
  /** Whether a query recorded now will be kept: a link to its page is given only then. */
  hasRoom(): boolean;
  /** A query by its id, also one that was recorded just now. */
  query(queryId: string): Promise<QueryLogEntry | undefined>;
  /** Queries, newest first. */
  queries(filter: QueryLogFilter): Promise<QueryLogSummary[]>;
  /** Log lines, oldest first. */
  logs(filter: LogFilter): Promise<LogEntry[]>;
  /** Spans by their start, also those that were recorded just now. */
  spans(filter: SpanFilter): Promise<SpanRecord[]>;
  /**
   * Keeps what is known of a query's stages. Resolves when it is written: before the objects are,
   * so that none is forgotten.
   */
  keepStages(stages: readonly StageRecord[]): Promise<void>;
  /** The stages of a query, in order; none of one that is too old. */
  stages(queryId: string): Promise<StageRecord[]>;
  /**
   * The queries whose stages are too old, or for whose objects there is no room beside those of
   * newer ones. They stay known until `forgetStages`: who owns the objects deletes those first, so
   * that none is left behind.
   */
  expiredStages(): Promise<ExpiredStages>;
  /** Forgets the stages of queries. */
  forgetStages(queryIds: readonly string[]): Promise<void>;
  /**
   * Records that were dropped since the start: too many came at once, or they could not be written.
   */
  dropped(): number;
  /** Writes and reads a log line. Rejects when that fails. */
  probe(): Promise<void>;
  /** Resolves when what was recorded before is written, or dropped. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
