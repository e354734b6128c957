/** Values of MySQL and MariaDB, by the type codes of their protocol. */

import { normalizeInt } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";

const TYPE = {
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  timestamp: 7,
  bigint: 8,
  medium: 9,
  date: 10,
  time: 11,
  datetime: 12,
  decimal: 246,
  blob: 252,
  varString: 253,
  string: 254,
} as const;
/** Length of a column of instants with milliseconds; a longer one has microseconds, which the driver's dates cannot hold. */
const MILLISECOND_LENGTH = "2024-05-01 12:00:00.000".length;
const INSTANT = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?$/;
const TIME = /^(-?)(\d+):(\d{2}):(\d{2}(?:\.\d+)?)$/;

/** A column as the server describes it. */
export interface MysqlColumn {
  readonly name: string;
  readonly type: number;
  readonly length?: number;
}

/** Whether a column has to be asked for as text so that nothing is lost. */
export function needsText({ type, length = 0 }: MysqlColumn): boolean {
  return (type === TYPE.timestamp || type === TYPE.datetime) && length > MILLISECOND_LENGTH;
}

const COMPARABLE: ReadonlyMap<number, ColumnType> = new Map([
  [TYPE.tiny, "int"],
  [TYPE.short, "int"],
  [TYPE.long, "int"],
  [TYPE.bigint, "int"],
  [TYPE.medium, "int"],
  [TYPE.double, "float"],
  [TYPE.decimal, "decimal"],
  [TYPE.date, "date"],
  [TYPE.datetime, "timestamp"],
  [TYPE.timestamp, "timestamptz"],
  [TYPE.varString, "text"],
  [TYPE.string, "text"],
  [TYPE.blob, "text"],
]);

/** A type as comparisons know it. */
export function columnType(code: number): ColumnType | undefined {
  return COMPARABLE.get(code);
}

/** The type code of a column that is cast to text. */
export const TEXT_TYPE = TYPE.varString;

/** Takes a column's values from the driver's form to ours; undefined when they are the same. */
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
    case TYPE.time:
      return (value) => (typeof value === "string" ? timeSeconds(value) : value);
    default:
      return (value) => (value instanceof Uint8Array ? Uint8Array.from(value) : value);
  }
}

/** The zero date, which MySQL may hold and no calendar has, stays as MySQL spells it. */
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

function timeSeconds(text: string): number | string {
  const [, sign, hours, minutes, seconds] = TIME.exec(text) ?? [];
  if (hours === undefined) return text;
  const micros = (Number(hours) * 3_600 + Number(minutes) * 60) * 1_000_000 + Math.round(Number(seconds) * 1_000_000);
  return (sign === "-" ? -micros : micros) / 1_000_000;
}
