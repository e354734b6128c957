/**
 * The telemetry store: what the server did, for people to look at. Records are handed over without waiting and written in batches; when they come faster
 * than they can be written, the oldest are dropped and counted. Nothing here is needed to answer a query.
 */

import type { QueryRequest, QueryResponse } from "../../../../gen/svc/v1/query_pb.ts";

/** An online query that ran. Times are epoch milliseconds. */
export interface QueryLogEntry {
  readonly queryId: string;
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: QueryRequest;
  /** Absent when the query was refused or the server failed. */
  readonly response?: QueryResponse;
  /** Why there is no response. */
  readonly error?: string;
}

/** A row of the list of queries. */
export interface QueryLogSummary {
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
}

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

/** The store. */
export interface TelemetryStore {
  /** Takes a query, or a way to put its entry together when there is time to write it; never waits, never throws. */
  recordQuery(entry: QueryLogEntry | (() => QueryLogEntry)): void;
  /** Takes a log line; never waits, never throws. */
  recordLog(entry: LogEntry): void;
  /** A query by its id; what waits is written first. */
  query(queryId: string): Promise<QueryLogEntry | undefined>;
  /** Queries of an environment, newest first. */
  queries(filter: { readonly environmentId: string; readonly deploymentId?: string; readonly limit: number }): Promise<QueryLogSummary[]>;
  /** Log lines of a deployment or a query, oldest first, at most the newest `limit`. */
  logs(filter: { readonly deploymentId?: string; readonly queryId?: string; readonly limit: number }): Promise<LogEntry[]>;
  /** Records that were dropped because too many came at once, since the start. */
  dropped(): number;
  /** Writes and reads a log line. Rejects when that fails. */
  probe(): Promise<void>;
  /** Writes what waits. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
