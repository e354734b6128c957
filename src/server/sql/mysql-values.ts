/** Values of MySQL and MariaDB, by the type codes of their protocol. */

import { jsonOf, normalizeInt } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import type { SqlType } from "./source.ts";

const TYPE = {
  tinyint: 1,
  smallint: 2,
  int: 3,
  float: 4,
  double: 5,
  timestamp: 7,
  bigint: 8,
  mediumint: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  bit: 16,
  json: 245,
  decimal: 246,
  tinyblob: 249,
  mediumblob: 250,
  longblob: 251,
  blob: 252,
  varchar: 253,
  char: 254,
} as const;
/** The type codes of text; the server chooses one by length. */
const TEXTS: ReadonlySet<number> = new Set([TYPE.varchar, TYPE.char, TYPE.tinyblob, TYPE.mediumblob, TYPE.longblob, TYPE.blob]);
/**
 * Length of a column of instants with milliseconds; a longer one has microseconds, which the
 * driver's dates cannot represent.
 */
const MILLISECOND_LENGTH = "2024-05-01 12:00:00.000".length;
const INSTANT = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?$/;
/** Flag and length by which MariaDB's UUIDs differ from `char(36)`. */
const UNSIGNED_FLAG = 32;
const UUID_LENGTH = 36 * 4;

/** A column as the server describes it. */
export interface MysqlColumn {
  readonly name: string;
  readonly type: number;
  readonly length?: number;
  readonly flags?: number;
}

/** Whether a column has to be selected as text so that no value loses precision. */
export function needsText({ type, length = 0 }: MysqlColumn): boolean {
  return type === TYPE.json || ((type === TYPE.timestamp || type === TYPE.datetime) && length > MILLISECOND_LENGTH);
}

/** Whether a type is one of a column that was cast to text. */
export function isText(type: number): boolean {
  return TEXTS.has(type);
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TYPE).map(([name, code]) => [code, name]));

/** A column's type; undefined for text and blobs, which differ only in their values. */
export function sqlType({ type, length, flags = 0 }: MysqlColumn): SqlType | undefined {
  if (type === TYPE.time) return { name: "time", kind: "duration" };
  if (type === TYPE.char && length === UUID_LENGTH && (flags & UNSIGNED_FLAG) !== 0) return { name: "uuid", kind: "uuid" };
  const name = NAMES.get(type);
  return name === undefined || TEXTS.has(type) ? undefined : { name };
}

const COMPARABLE: ReadonlyMap<number, ColumnType> = new Map([
  [TYPE.tinyint, "int"],
  [TYPE.smallint, "int"],
  [TYPE.int, "int"],
  [TYPE.bigint, "int"],
  [TYPE.mediumint, "int"],
  [TYPE.double, "float"],
  [TYPE.decimal, "decimal"],
  [TYPE.date, "date"],
  [TYPE.datetime, "timestamp"],
  [TYPE.timestamp, "timestamptz"],
  [TYPE.varchar, "text"],
  [TYPE.char, "text"],
  [TYPE.blob, "text"],
]);

/** The type for comparisons; undefined when it cannot be compared. */
export function columnType(code: number): ColumnType | undefined {
  return COMPARABLE.get(code);
}

/** The conversion of a column's values from the driver's form to that of `SqlResult`. */
export function valueReader({ type }: MysqlColumn): (value: unknown) => unknown {
  switch (type) {
    case TYPE.bigint:
      return (value) => (typeof value === "bigint" ? normalizeInt(value) : value);
    case TYPE.float:
      return (value) => (typeof value === "number" ? Math.fround(value) : value);
    case TYPE.date:
      return (value) => (value instanceof Date ? dateText(value) : value);
    case TYPE.timestamp:
    case TYPE.datetime:
      return (value) => (value instanceof Date ? instantOf(value) : typeof value === "string" ? instantText(value) : value);
    case TYPE.json:
      return (value) => (typeof value === "string" ? jsonOf(value) : value);
    case TYPE.char:
      return (value) => (typeof value === "string" ? value.replace(/ +$/, "") : ownBytes(value));
    default:
      return ownBytes;
  }
}

function ownBytes(value: unknown): unknown {
  return value instanceof Uint8Array ? Uint8Array.from(value) : value;
}

/** The text of a date. MySQL's zero date, which no calendar has, keeps MySQL's form. */
function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? "0000-00-00" : date.toISOString().slice(0, 10);
}

function instantOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? "0000-00-00 00:00:00" : `${date.toISOString().slice(0, 23)}000Z`;
}

function instantText(text: string): string {
  const [, date, time, fraction = ""] = INSTANT.exec(text) ?? [];
  return date === undefined || date.startsWith("0000") ? text : `${date}T${time}.${fraction.padEnd(6, "0")}Z`;
}
