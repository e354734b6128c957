/**
 * Databases that SQL resolvers read: the interface of sources for the executor and the validator.
 */

import type { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";

/** The type of a column. */
export interface SqlType {
  /** The database's name for it. */
  readonly name: string;
  /**
   * The meaning of its values where their text does not show it: a UUID, which has several text
   * forms, or a duration.
   */
  readonly kind?: "uuid" | "duration";
}

/**
 * Rows of a statement. Values are numbers, bigints (only beyond 2^53), strings, booleans,
 * Uint8Arrays, null, arrays of these, and the content of JSON columns, with exact integers.
 * Instants are canonical text `YYYY-MM-DDTHH:MM:SS.ffffffZ` where the database has a type for them,
 * dates `YYYY-MM-DD`, decimals their digits, durations the database's own text; `char(n)` has no
 * padding. SQLite has no JSON type: there JSON stays text.
 */
export interface SqlResult {
  readonly columns: readonly string[];
  /**
   * Types by column; undefined for a type that is not known. Absent when each value has its own
   * type, as in SQLite.
   */
  readonly types?: readonly (SqlType | undefined)[];
  readonly rows: readonly (readonly unknown[])[];
}

/**
 * The cause of a refusal: the statement or the connection, data that the statement read, or a bound
 * parameter.
 */
export type SqlFault = "statement" | "data" | "parameter";

/** The error for a statement that the database refused, or a database that cannot be reached. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  constructor(
    message: string,
    /** Offset in the statement, UTF-16 units, when the database gave one. */
    readonly offset?: number,
    readonly fault: SqlFault = "statement",
  ) {
    super(message);
  }
}

/** The error for a parameter whose value the database cannot represent. */
export class ParameterError extends SqlError {
  constructor(
    /** From 0. */
    readonly position: number,
    /** The problem, as a phrase that follows the parameter's name. */
    readonly problem: string,
  ) {
    super(`parameter ${position + 1} ${problem}`, undefined, "parameter");
  }
}

/** A connected source. */
export interface SqlSource {
  readonly name: string;
  readonly kind: SourceKind;
  /** Quotes an identifier. */
  quote(identifier: string): string;
  /**
   * The placeholder of the n-th parameter, 1-based (`$1`, `?`). With `float` the database takes the
   * parameter as a floating-point number even when it is whole, so that `5.0 / 2` is not a division
   * of integers.
   */
  placeholder(position: number, type?: "float"): string;
  /**
   * Runs a read-only statement. Throws SqlError; rejects with the signal's reason when aborted.
   * @param traceparent of the span that the statement is; a database server sees it in a comment
   */
  query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal, traceparent?: string): Promise<SqlResult>;
  /** The names of a statement's columns; the statement is prepared, not run. Throws SqlError. */
  describe(statement: string): Promise<readonly string[]>;
  /**
   * The types of a statement's columns, by name; columns that are absent cannot be compared. Throws
   * SqlError.
   */
  columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>>;
  /** Runs a trivial statement. Throws SqlError when that fails. */
  test(): Promise<void>;
  close(): Promise<void>;
}

/** The sources of an environment. */
export interface SqlSources {
  /**
   * The source with a name, or the only one of a kind (`postgresql`). It connects on first use.
   * Throws SqlError that lists the sources when there is none.
   */
  get(name: string): SqlSource;
  /** Names and kinds, for finding 154. */
  list(): readonly { readonly name: string; readonly kind: SourceKind }[];
  close(): Promise<void>;
}
