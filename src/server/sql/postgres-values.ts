/** Values of PostgreSQL. Types that the driver would truncate are selected as text. */

import { jsonOf, normalizeInt } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import type { SqlType } from "./source.ts";

const OID = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  json: 114,
  float4: 700,
  float8: 701,
  money: 790,
  inet: 869,
  char: 1042,
  varchar: 1043,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  timetz: 1266,
  numeric: 1700,
  uuid: 2950,
  jsonb: 3802,
} as const;

const ARRAY_OID = {
  json: 199,
  bytea: 1001,
  int4: 1007,
  text: 1009,
  char: 1014,
  int8: 1016,
  float4: 1021,
  timestamp: 1115,
  date: 1182,
  timestamptz: 1185,
  interval: 1187,
  jsonb: 3807,
} as const;

const AS_TEXT: ReadonlySet<number> = new Set([OID.date, OID.timestamp, OID.timestamptz, OID.json, OID.jsonb]);
const AS_TEXT_ARRAY: ReadonlySet<number> = new Set([
  ARRAY_OID.date,
  ARRAY_OID.timestamp,
  ARRAY_OID.timestamptz,
  ARRAY_OID.json,
  ARRAY_OID.jsonb,
]);
const INSTANT = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(?:\+00)?$/;

const TYPES: ReadonlyMap<number, SqlType> = new Map<number, SqlType>([
  ...Object.entries(OID).map(([name, oid]) => [oid, { name }] as const),
  ...Object.entries(ARRAY_OID).map(([name, oid]) => [oid, { name: `${name}[]` }] as const),
  [OID.uuid, { name: "uuid", kind: "uuid" }],
  [OID.interval, { name: "interval", kind: "duration" }],
  [ARRAY_OID.interval, { name: "interval[]", kind: "duration" }],
]);

/** A built-in type; undefined for types of extensions and users. */
export function sqlType(oid: number): SqlType | undefined {
  return TYPES.get(oid);
}

/**
 * The cast with which a column has to be selected so that no value loses precision (empty = none),
 * and the type that it then has.
 */
export function exactForm(type: number): { readonly cast: string; readonly type: number } {
  if (AS_TEXT.has(type)) return { cast: "::text", type: OID.text };
  if (AS_TEXT_ARRAY.has(type)) return { cast: "::text[]", type: ARRAY_OID.text };
  return { cast: "", type };
}

const COMPARABLE: ReadonlyMap<number, ColumnType> = new Map([
  [OID.bool, "bool"],
  [OID.int8, "int"],
  [OID.int2, "int"],
  [OID.int4, "int"],
  [OID.text, "text"],
  [OID.varchar, "text"],
  [OID.float4, "float"],
  [OID.float8, "float"],
  [OID.numeric, "decimal"],
  [OID.date, "date"],
  [OID.timestamp, "timestamp"],
  [OID.timestamptz, "timestamptz"],
]);

/** The type for comparisons; undefined when it cannot be compared. */
export function columnType(oid: number): ColumnType | undefined {
  return COMPARABLE.get(oid);
}

/**
 * The conversion of a column's values from the driver's form to that of `SqlResult`; undefined when
 * they are the same.
 */
export function valueReader(type: number): ((value: unknown) => unknown) | undefined {
  switch (type) {
    case OID.int8:
      return (value) => (typeof value === "bigint" ? normalizeInt(value) : value);
    case OID.float4:
      return (value) => (typeof value === "number" ? Math.fround(value) : value);
    case OID.bytea:
      return (value) => (value instanceof Uint8Array ? Uint8Array.from(value) : value);
    case OID.timestamp:
    case OID.timestamptz:
      return (value) => (typeof value === "string" ? instantText(value) : value);
    case OID.char:
      return (value) => (typeof value === "string" ? value.replace(/ +$/, "") : value);
    case OID.json:
    case OID.jsonb:
      return (value) => (typeof value === "string" ? jsonOf(value) : value);
    case ARRAY_OID.char:
      return elements(OID.char);
    case ARRAY_OID.json:
    case ARRAY_OID.jsonb:
      return elements(OID.json);
    case ARRAY_OID.int8:
      return elements(OID.int8);
    case ARRAY_OID.int4:
      return (value) => (value instanceof Int32Array ? Array.from(value) : value);
    case ARRAY_OID.float4:
      return (value) => (value instanceof Float32Array ? Array.from(value) : elements(OID.float4)(value));
    case ARRAY_OID.bytea:
      return elements(OID.bytea);
    case ARRAY_OID.timestamp:
    case ARRAY_OID.timestamptz:
      return elements(OID.timestamptz);
    default:
      return undefined;
  }
}

function elements(type: number): (value: unknown) => unknown {
  const read = valueReader(type) ?? ((value: unknown) => value);
  const readAll = (value: unknown): unknown => (Array.isArray(value) ? value.map(readAll) : read(value));
  return readAll;
}

/**
 * The canonical text of `2024-05-01 12:00:00.5+00`; a value without one (`infinity`, years BC)
 * stays as it is.
 */
function instantText(text: string): string {
  const [, date, time, fraction = ""] = INSTANT.exec(text) ?? [];
  return date === undefined ? text : `${date}T${time}.${fraction.padEnd(6, "0")}Z`;
}
