/**
 * The table engine: typed tables in Parquet files, written, described, read and asked by SQL. It
 * runs in processes of its own, so that neither a crash nor its memory is the server's. Paths are
 * absolute, of files on this machine; a file appears under its name when it is whole and synced.
 */

import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";

/** A column of a table. Every column may have nulls. */
export interface TableColumn {
  readonly name: string;
  readonly dtype: DataType;
}

/** Rows of a table, in columns that have one value for each of them. */
export interface TableChunk {
  readonly rows: number;
  /** In the order of the table's columns. */
  readonly columns: readonly (readonly FeatureValue[])[];
}

/** A table's file as it was written. */
export interface WrittenTable {
  readonly rows: number;
  readonly bytes: number;
}

/** A table that is being written. */
export interface TableWriter {
  /** Appends rows; resolves when more may follow. Rejects with TableError. */
  append(chunk: TableChunk): Promise<void>;
  /** Completes the file. */
  finish(): Promise<WrittenTable>;
  /** Ends without a file. */
  abandon(): Promise<void>;
}

/** A form in which tables come and go. */
export type TableFormat = "parquet" | "csv" | "json";

/** What a file holds. */
export interface TableDescription {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
}

/** The statistics of a column. */
export interface ColumnProfile {
  readonly name: string;
  readonly nulls: number;
  /** Number of different values, estimated. */
  readonly distinct: number;
  /** The smallest and the largest value as text; undefined where none are ordered. */
  readonly min: string | undefined;
  readonly max: string | undefined;
  /** Of numbers. */
  readonly mean: number | undefined;
}

/** A column that is computed of others, by an expression of this program's and of no caller's. */
export interface DerivedColumn extends TableColumn {
  /** SQL, of the names of the file's columns. */
  readonly sql: string;
}

/** A table made of another. */
export interface Derivation {
  readonly columns: readonly DerivedColumn[];
  /** SQL of the rows that stay; default: all. */
  readonly where?: string;
  /** Rows before the first one that counts; default: none. */
  readonly offset?: number;
  /** Most rows that count, before `where`; default: all. */
  readonly limit?: number;
}

/** A table that a statement may name. */
export interface TableSource {
  /** Parts of its name, from the catalog down. */
  readonly name: readonly string[];
  /** Parquet files that make it up, in order. Without one it has no rows. */
  readonly paths: readonly string[];
  readonly columns: readonly TableColumn[];
}

/** A table that a statement names. */
export interface NamedTable {
  /** Parts of its name as they are written, from the catalog down. */
  readonly name: readonly string[];
  /** Line of the statement, from 1; undefined when it is not known. */
  readonly line: number | undefined;
}

/** A statement about rows that are given with each call. */
export interface AskedStatement {
  /** One select. */
  readonly statement: string;
  /** Name of the only table that it may name. */
  readonly table: string;
  readonly columns: readonly TableColumn[];
  /** Columns that it gives, in any order; their types are those of its own, or wider. */
  readonly answer: readonly TableColumn[];
}

/** Why a statement cannot be asked. */
export interface StatementFault {
  readonly problem: string;
  /** Where in the statement, in UTF-16 units; undefined = that is not known. */
  readonly offset: number | undefined;
}

/** What a statement may use. */
export interface SelectLimits {
  readonly timeoutMs: number;
  /** Most rows of the answer; there were more when `truncated` says so. */
  readonly rows: number;
  /** Most bytes of the answer's file. */
  readonly bytes: number;
}

/** The answer to a statement, as a Parquet file. */
export interface SelectedTable extends WrittenTable {
  readonly columns: readonly TableColumn[];
  readonly truncated: boolean;
}

/** The engine. Every method rejects with TableError. */
export interface TableEngine {
  /** Begins a Parquet file. */
  write(path: string, columns: readonly TableColumn[]): Promise<TableWriter>;
  /** Describes a file of a caller; `damaged` when it is not whole, or of another format. */
  describe(path: string, format?: TableFormat): Promise<TableDescription>;
  /**
   * Reads a file in chunks, in its order: the columns that are asked for, as their types there or,
   * for CSV and JSON, as the types that are given.
   */
  read(
    path: string,
    options?: {
      readonly format?: TableFormat;
      readonly columns?: readonly TableColumn[];
      readonly offset?: number;
      readonly limit?: number;
      /** Default 10,000. */
      readonly chunkRows?: number;
      readonly signal?: AbortSignal;
    },
  ): AsyncIterable<TableChunk>;
  /** The statistics of a Parquet table's columns. */
  profile(paths: readonly string[]): Promise<readonly ColumnProfile[]>;
  /** Writes a Parquet table in another format, rows of several files one after another. */
  convert(paths: readonly string[], target: string, format: TableFormat): Promise<WrittenTable>;
  /** Writes a Parquet table that is made of another, its rows in their order. */
  derive(path: string, target: string, derivation: Derivation): Promise<WrittenTable>;
  /**
   * Answers one `select` of a person, in a process of its own that reads these tables and nothing
   * else, writes nothing but the answer, and ends at the limits. `refused` says what is wrong with
   * the statement, and where.
   * @param sources the tables, or a function that gives those that the statement names, as it
   * spells them; what it rejects with, `select` rejects with
   */
  select(
    statement: string,
    sources: readonly TableSource[] | ((named: readonly NamedTable[]) => Promise<readonly TableSource[]>),
    target: string,
    options: { readonly limits: SelectLimits; readonly signal: AbortSignal },
  ): Promise<SelectedTable>;
  /**
   * Answers a statement of a project about rows, its columns in the order that was asked for. It
   * runs in a process that has no other rows, reads no files, writes nothing, and ends at the
   * limits. `refused` is about the statement or a value, `exhausted` about a limit.
   */
  ask(
    asked: AskedStatement,
    given: TableChunk,
    options: { readonly limits: SelectLimits; readonly signal: AbortSignal | undefined },
  ): Promise<TableChunk>;
  /** What is wrong with such a statement; undefined = nothing is. */
  examine(asked: AskedStatement): Promise<StatementFault | undefined>;
  /** Ends its processes. */
  close(): Promise<void>;
}

/**
 * The kind of a failure.
 * - `unavailable`: the engine cannot run on this machine; the message says what is missing.
 * - `refused`: the call's arguments, or a person's statement.
 * - `damaged`: the file.
 * - `exhausted`: a limit of time, memory, rows or bytes.
 * - `failed`: anything else, for example a full disk.
 */
export type TableErrorCode = "unavailable" | "refused" | "damaged" | "exhausted" | "failed";

/** A failed call of the table engine. */
export class TableError extends Error {
  override readonly name = "TableError";
  constructor(
    readonly code: TableErrorCode,
    message: string,
  ) {
    super(message);
  }
}
