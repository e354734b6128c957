/**
 * The log store: lines of resolvers, builds and the server, and requests of the gateway, for people
 * to search. Records are handed over without waiting and written by a separate thread; when they
 * come faster than they can be written, the excess is dropped and counted. No answer to a query
 * depends on it.
 */

import type { LogComponent, LogLevel } from "../../../domain/logs.ts";
import type { Search } from "../../../domain/search/tree.ts";

/** The kind of a record: what something said, or a request that the gateway answered. */
export type LogKind = "line" | "request";

/** Attributes of a record by name. */
export type LogAttributes = Readonly<Record<string, string | number>>;

/** A record. Texts that do not apply are empty. */
export interface LogRecord {
  /** Microseconds since 1970. */
  readonly at: number;
  readonly level: LogLevel;
  readonly component: LogComponent;
  /** Empty = it is about the whole server. */
  readonly environmentId: string;
  readonly deploymentId: string;
  readonly branch: string;
  readonly resolver: string;
  readonly queryName: string;
  readonly resourceGroup: string;
  readonly podName: string;
  readonly app: string;
  /** Name of the Python logger; `stdout` or `stderr` for what was printed. */
  readonly logger: string;
  /** Id of the query, run or offline query; of a build, its deployment. */
  readonly operationId: string;
  readonly correlationId: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Of a request, its path. At most 8,192 characters are kept, and what was cut is said. */
  readonly message: string;
  /** At most 32 are kept. */
  readonly attributes: LogAttributes;
}

/** A record as it is handed over: what is not named is empty. */
export type NewRecord = Pick<LogRecord, "at" | "level" | "component" | "message"> & Partial<LogRecord>;

/** A record with its place in the order of arrival, from 1. */
export interface StoredRecord extends LogRecord {
  readonly seq: number;
}

/** Which records somebody may see, and wants to. */
export interface LogFilter {
  readonly kind: LogKind;
  /** Environments whose records are meant; `""` = those about the whole server. */
  readonly environmentIds: readonly string[];
  /** By the fields of `domain/logs.ts`. */
  readonly search: Search;
  /** Earliest time, inclusive, and latest, exclusive; microseconds. Default: unbounded. */
  readonly from?: number;
  readonly before?: number;
}

/** A page, newest first by arrival. */
export interface LogPage {
  readonly records: readonly StoredRecord[];
  /** The next page has records with a lower `seq` than this; undefined = there are none. */
  readonly next: number | undefined;
}

/** Records that followed others, oldest first. */
export interface LogTail {
  readonly records: readonly StoredRecord[];
  /** Everything up to this `seq` was looked at. */
  readonly last: number;
}

/** Number of records of one level in a window. */
export interface LogCount {
  /** Begin of the window, microseconds. */
  readonly start: number;
  readonly level: LogLevel;
  readonly count: number;
}

/** Rows' keys and queries, whose lines are to be forgotten. */
export interface ForgottenLines {
  readonly environmentId: string;
  readonly branch: string;
  /** Texts of keys: lines that have one as a word are forgotten. */
  readonly keys: readonly string[];
  /** Microseconds; lines that were written later stay. */
  readonly until: number;
}

/** What the store holds, and what waits for it. */
export interface LogFigures {
  readonly schemaVersion: number;
  /** Bytes in use, and those above which the oldest records are removed. */
  readonly bytes: number;
  readonly maxBytes: number;
  readonly defaultMaxBytes: number;
  /** Age above which records are removed, milliseconds, and that where none was set. */
  readonly maxAgeMs: number;
  readonly defaultMaxAgeMs: number;
  /** Records that were removed since the start because of age or size. */
  readonly removedRecords: number;
  readonly pendingRecords: number;
}

/** Bounds of what the store keeps; undefined = the default. */
export interface LogLimits {
  readonly maxBytes: number | undefined;
  /** Milliseconds. */
  readonly maxAgeMs: number | undefined;
}

/** The store. Whatever was recorded before a read is found by it. */
export interface LogStore {
  /** Hands a record over; never waits, never throws. Errors have more room than others. */
  record(record: NewRecord): void;
  /**
   * A page of at most `limit` records. It may have fewer, or none, and still be followed by
   * another: one call looks through a bounded number of records.
   * @param beforeSeq `next` of the page before; undefined = from the newest
   */
  search(filter: LogFilter, limit: number, beforeSeq?: number): Promise<LogPage>;
  /** At most `limit` records that came after one, oldest first. */
  after(filter: LogFilter, seq: number, limit: number): Promise<LogTail>;
  /** The place of the newest record of a kind, whoever may see it; 0 = there is none. */
  newest(kind: LogKind): Promise<number>;
  /**
   * Counts by windows that begin at multiples of `windowMs`, oldest first; windows without records
   * are left out. Rejects when the signal is aborted.
   */
  aggregate(filter: LogFilter, windowMs: number, signal?: AbortSignal): Promise<LogCount[]>;
  /** Calls a function after records of a kind were written; returns one that ends that. */
  onWritten(listener: (kinds: ReadonlySet<LogKind>) => void): () => void;
  /** Removes the records of an environment. */
  forgetEnvironment(environmentId: string): Promise<void>;
  /** Removes the records of operations. */
  forgetOperations(operationIds: readonly string[]): Promise<void>;
  /** Removes lines in which a key is found. Ends early when the signal is aborted. */
  forgetKeys(what: ForgottenLines, signal?: AbortSignal): Promise<number>;
  /** Records that were dropped since the start. */
  dropped(): number;
  figures(): Promise<LogFigures>;
  /** Sets the bounds beyond which the oldest records are removed. */
  limit(limits: LogLimits): Promise<void>;
  /** Writes and reads a record. Rejects when that fails. */
  probe(): Promise<void>;
  /** Resolves when everything recorded so far is written or dropped. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
