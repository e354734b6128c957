/** Conversion between values and the columns of the offline store. */

import { type DataType, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { decodeStored, encodeStored, type FeatureValue, normalizeInt } from "../../../domain/value.ts";
import type { ColumnType } from "./column-type.ts";

/** A value as SQLite binds it, and returns it with every integer as a bigint. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** The type of the column for values of a type. */
export function columnTypeOf(type: DataType): ColumnType {
  switch (type.kind.case) {
    case "primitive":
      return primitiveColumn(type.kind.value);
    case "enum":
      return primitiveColumn(type.kind.value.base);
    default:
      return "json";
  }
}

function primitiveColumn(type: PrimitiveType): ColumnType {
  switch (type) {
    case PrimitiveType.INT64:
    case PrimitiveType.TIMEDELTA:
      return "integer";
    case PrimitiveType.FLOAT64:
      return "real";
    case PrimitiveType.BOOL:
      return "boolean";
    case PrimitiveType.STRING:
    case PrimitiveType.DATE:
    case PrimitiveType.DATETIME:
    case PrimitiveType.DECIMAL:
      return "text";
    case PrimitiveType.BYTES:
      return "blob";
    default:
      return "json";
  }
}

/**
 * The stored form of a value. A value that the column's own form cannot represent exactly (NaN, -0,
 * text with a NUL or a lone surrogate) becomes a blob of its `encodeStored` text.
 * @throws TypeError when the value is not of the column's type
 */
export function toColumn(type: ColumnType, value: FeatureValue): SqlValue {
  if (value === null) return null;
  switch (type) {
    case "integer":
      if (typeof value === "bigint") return value;
      if (typeof value === "number") return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : escaped(value);
      break;
    case "real":
      if (typeof value === "number") return Number.isNaN(value) || Object.is(value, -0) ? escaped(value) : value;
      break;
    case "boolean":
      if (typeof value === "boolean") return value ? 1 : 0;
      break;
    case "text":
      if (typeof value === "string") return isPlain(value) ? value : escaped(value);
      break;
    case "blob":
      if (value instanceof Uint8Array) return value;
      break;
    case "json":
      return encodeStored(value);
  }
  throw new TypeError(`a ${typeof value} does not fit a column of type ${type}`);
}

/** The value of a stored form: the inverse of `toColumn`. */
export function fromColumn(type: ColumnType, stored: SqlValue): FeatureValue {
  if (stored === null) return null;
  if (stored instanceof Uint8Array) return type === "blob" ? stored : decodeStored(new TextDecoder().decode(stored));
  switch (type) {
    case "integer":
      return typeof stored === "bigint" ? normalizeInt(stored) : stored;
    case "real":
      return Number(stored);
    case "boolean":
      return Number(stored) === 1;
    case "json":
      return decodeStored(String(stored));
    default:
      return stored as FeatureValue;
  }
}

/** The numeric fields of an observation as stored. */
export type ObservationNumbers = readonly [
  observedAt: number | bigint,
  sequence: number | bigint,
  insertedAt: number | bigint,
  resolver: number | bigint,
  deployment: number | bigint,
  knownAt: number | bigint | null,
];

/**
 * The checksum of an observation as stored: SQLite has none of its own, so a flipped bit in a value
 * would go unnoticed.
 */
export function checksum(
  key: string,
  op: string,
  [observedAt, sequence, insertedAt, resolver, deployment, knownAt]: ObservationNumbers,
  value: SqlValue,
): number {
  const content =
    value === null
      ? "n"
      : typeof value === "string"
        ? `s${value}`
        : value instanceof Uint8Array
          ? `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1")}`
          : `i${value}`;
  const numbers = `${observedAt},${sequence},${insertedAt},${resolver},${deployment}${knownAt === null ? "" : `,${knownAt}`}`;
  return Bun.hash.crc32(`${key}\0${op}\0${numbers}\0${content}`);
}

function escaped(value: FeatureValue): Uint8Array {
  return new TextEncoder().encode(encodeStored(value));
}

function isPlain(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}
