/**
 * Reading of a SQLite database, a file or one in memory, on any thread: opening, binding, rows,
 * errors.
 */

import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";
import { encodeStored, type FeatureValue, normalizeInt } from "../../domain/value.ts";
import { ParameterError, SqlError, type SqlResult } from "./source.ts";
import { wordOffset } from "./statement-text.ts";

/** A parameter as SQLite binds it. */
export type Bound = string | number | bigint | Uint8Array | null;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Where a database is: the path of its file, or the bytes of one in memory. */
export type SqlitePlace = string | Uint8Array;

/**
 * Opens a database read-only; others may write its file meanwhile. Integers are read as bigints,
 * which `readRows` converts to numbers where they are safe.
 * @param busyTimeoutMs longest wait of a statement for another process's lock
 */
export function openReadOnly(place: SqlitePlace, busyTimeoutMs: number): Database {
  const options = { readonly: true, safeIntegers: true };
  const db = typeof place === "string" ? new Database(place, options) : Database.deserialize(place, options);
  db.run(`pragma busy_timeout = ${busyTimeoutMs}`);
  db.run("pragma query_only = on");
  db.run("pragma mmap_size = 1073741824");
  return db;
}

/**
 * A feature's value as a parameter: true is 1, lists and structs are JSON text. Throws
 * ParameterError for an integer beyond 64 bits and for NaN.
 * @param position of the parameter, from 0
 */
export function bindValue(value: FeatureValue, position: number): Bound {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0;
    case "bigint":
      if (value < INT64_MIN || value > INT64_MAX) throw new ParameterError(position, `is ${value}, which does not fit 64 bits`);
      return value;
    case "number":
      if (Number.isNaN(value)) throw new ParameterError(position, "is NaN, which SQLite would take for null");
      return value;
    case "string":
      return value;
    default:
      return value === null || value instanceof Uint8Array ? value : encodeStored(value);
  }
}

/** An identifier in quotes. */
export function quoteSqliteName(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** The placeholder of the n-th parameter, from 1; see `SqlSource.placeholder`. */
export function sqlitePlaceholder(position: number, type?: "float"): string {
  return type === "float" ? `cast(?${position} as real)` : `?${position}`;
}

/** Runs a statement. Integers that a number represents exactly become numbers. */
export function readRows(statement: Statement, parameters: readonly Bound[]): SqlResult {
  const rows = statement.values(...(parameters as SQLQueryBindings[])) as unknown[][];
  for (const row of rows) {
    for (let column = 0; column < row.length; column++) {
      const value = row[column];
      if (typeof value === "bigint") row[column] = normalizeInt(value);
    }
  }
  return { columns: statement.columnNames, rows };
}

/**
 * The SqlError for an error of SQLite, with the offset in the statement, in UTF-16 units, when it
 * names a token.
 */
export function sqliteError(error: unknown, statement: string): SqlError {
  if (error instanceof SqlError) return error;
  const { message, byteOffset } = error as { readonly message?: string; readonly byteOffset?: number };
  const text = message ?? String(error);
  if (typeof byteOffset !== "number" || byteOffset < 0) {
    const table = /^no such table: (?:main\.)?(.+)$/.exec(text)?.[1];
    return new SqlError(text, table === undefined ? undefined : wordOffset(statement, table));
  }
  return new SqlError(text, Buffer.from(statement).subarray(0, byteOffset).toString().length);
}
