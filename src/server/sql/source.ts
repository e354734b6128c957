/** Databases that SQL resolvers read: what the executor and the validator see of a source. */

import type { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";

/** The type of a column. */
export interface SqlType {
  /** As the database calls it. */
  readonly name: string;
  /**
   * What its values are that their text does not show: a UUID, which may be spelt in several ways,
   * or a length of time.
   */
  readonly kind?: "uuid" | "length";
}

/**
 * Rows of a statement. Values are as the driver gives them: number, bigint (only beyond 2^53),
 * string, boolean, Uint8Array, null, arrays of these, and what JSON columns hold, with its integers
 * exact. Instants are canonical text `YYYY-MM-DDTHH:MM:SS.ffffffZ` where the database has them as a
 * type, dates `YYYY-MM-DD`, decimals their digits, lengths of time the database's own text,
 * `char(n)` is without the blanks that fill it up. SQLite has no type for JSON, so that a text with
 * JSON is a text.
 */
export interface SqlResult {
  readonly columns: readonly string[];
  /**
   * By column; undefined where the type has no name that is known, or every value its own type, as
   * in SQLite.
   */
  readonly types?: readonly (SqlType | undefined)[];
  readonly rows: readonly (readonly unknown[])[];
}

/**
 * What a refusal is about: the statement or the connection, values that the statement met while it
 * ran, or one that was bound.
 */
export type SqlFault = "statement" | "data" | "parameter";

/** The database refused a statement, or cannot be reached. */
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

/** A parameter has a value that the database has none for. */
export class ParameterError extends SqlError {
  constructor(
    /** From 0. */
    readonly position: number,
    /** What is wrong, to be read after the parameter's name. */
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
   * parameter as a floating-point number also when it is whole, so that `5.0 / 2` does not become a
   * division of integers.
   */
  placeholder(position: number, type?: "float"): string;
  /** Runs a read-only statement. Throws SqlError; rejects with the signal's reason when aborted. */
  query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult>;
  /** Prepares a statement without running it and names its columns. Throws SqlError. */
  describe(statement: string): Promise<readonly string[]>;
  /**
   * What is known of the types of a statement's columns, by name; those that are not named cannot
   * be compared. Throws SqlError.
   */
  columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>>;
  /** Runs a trivial statement. Throws SqlError that says what failed. */
  test(): Promise<void>;
  close(): Promise<void>;
}

/** The sources of an environment. */
export interface SqlSources {
  /**
   * The source of that name, or the only one of that kind (`postgresql`). Throws SqlError that
   * lists what there is. Connects on first use.
   */
  get(name: string): SqlSource;
  /** Names and kinds, for finding 154. */
  list(): readonly { readonly name: string; readonly kind: SourceKind }[];
  close(): Promise<void>;
}
