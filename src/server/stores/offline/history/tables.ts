/**
 * Tables of `offline.duckdb`. Observations stand in one long table for each environment, namespace,
 * form of value and kind of key, because moving rows into a thousand small tables takes many times
 * as long. A feature is a number in it.
 */

import type { ColumnType } from "../column-type.ts";
import type { Kind } from "./connection.ts";

/** Whether a row's key is an integer or text: the tag that it has elsewhere, see `storeKey`. */
export type KeyKind = "i" | "s";

/** What a table of observations holds. */
export interface HistoryTable {
  /** Its number, from 1: the name is `history_<number>`. */
  readonly number: number;
  readonly environmentId: string;
  readonly namespace: string;
  readonly type: ColumnType;
  readonly keys: KeyKind;
  /** Rows stored, of those stored since the last compaction, and those deleted since then. */
  rows: number;
  unordered: number;
  deleted: number;
}

/** The engine's type of a table's values. `json` is the text of `encodeStored`. */
export const VALUE_TYPES: Readonly<Record<ColumnType, string>> = {
  integer: "bigint",
  real: "double",
  boolean: "boolean",
  text: "varchar",
  blob: "blob",
  json: "varchar",
};

/** The engine's type of a table's keys. */
export const KEY_TYPES: Readonly<Record<KeyKind, string>> = { i: "bigint", s: "varchar" };

/** Kinds of the cells of values and of keys. */
export const VALUE_CELLS: Readonly<Record<ColumnType, Kind>> = {
  integer: "int64",
  real: "double",
  boolean: "bool",
  text: "text",
  blob: "bytes",
  json: "text",
};
export const KEY_CELLS: Readonly<Record<KeyKind, Kind>> = { i: "int64", s: "text" };

/** Kinds of the cells of a table of observations. */
export function observationCells({ type, keys }: Pick<HistoryTable, "type" | "keys">): Kind[] {
  return ["int64", KEY_CELLS[keys], VALUE_CELLS[type], "text", "double", "double", "double", "int64", "int64", "int64", "text"];
}

/** Version of these tables; a file with another one is refused. */
export const HISTORY_VERSION = 1;

/**
 * The tables beside those of observations. `fact` has the version, the owner's number of moves and
 * the last sequence that was moved, and the move that landing does not know of yet.
 */
export const HISTORY_SCHEMA = `
create table fact (name varchar not null, value varchar not null);
create table word (id bigint not null, text varchar not null);
create table feature (
  id bigint not null, environment varchar not null, namespace varchar not null, name varchar not null, internal_version bigint not null, type varchar not null
);
create table history (
  number bigint not null, environment varchar not null, namespace varchar not null, type varchar not null, keys varchar not null,
  rows bigint not null, unordered bigint not null, deleted bigint not null
);
`;

/** The name of a table of observations. */
export function nameOfTable({ number }: Pick<HistoryTable, "number">): string {
  return `history_${number}`;
}

/**
 * The statement that creates a table of observations. Times are epoch milliseconds. `known_at` is
 * null where it is `inserted_at`; `exact` is the text of `encodeStored` of a value that the column
 * cannot hold exactly, and `value` what comes close to it; `resolver` and `deployment` are words.
 */
export function createTableSql(table: Pick<HistoryTable, "type" | "keys">, name: string): string {
  return `create table ${name} (
    feature bigint not null, key ${KEY_TYPES[table.keys]} not null, value ${VALUE_TYPES[table.type]}, exact varchar,
    observed_at double not null, inserted_at double not null, known_at double, sequence bigint not null,
    resolver bigint not null, deployment bigint not null, operation varchar not null
  )`;
}

/** Text as SQL reads it, which ends a statement at a NUL. */
export function literal(text: string): string {
  return text
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(" || chr(0) || ");
}

/** A key of a row as SQL reads it. */
export function keyLiteral(key: number | bigint | string): string {
  return typeof key === "string" ? `(${literal(key)})` : `${key}::bigint`;
}

/** Characters of an integer that is a number exactly, whatever they are. */
const SAFE_DIGITS = 15;

/**
 * The key without its tag, as a table has it. Undefined when the text is not the key of a row.
 */
export function untagged(key: string): { readonly kind: KeyKind; readonly key: number | bigint | string } | undefined {
  const text = key.slice(2);
  if (key.startsWith("s:")) return { kind: "s", key: text };
  if (!key.startsWith("i:") || !/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return undefined;
  if (text.length <= SAFE_DIGITS) return { kind: "i", key: Number(text) };
  const number = BigInt(text);
  return BigInt.asIntN(64, number) === number ? { kind: "i", key: number } : undefined;
}
