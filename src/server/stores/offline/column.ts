/** The form in which values lie in the columns of the offline store. */

import { type DataType, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { decodeStored, encodeStored, type FeatureValue, normalizeInt } from "../../../domain/value.ts";
import type { ColumnType } from "./column-type.ts";

/** A value that SQLite takes and, with every integer a bigint, gives. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** The column that holds values of a type. */
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
 * The stored form of a value. One that the column's own form would not keep exactly (NaN, -0, text
 * with a NUL or half a surrogate pair) is a blob of its `encodeStored` text.
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

/** Reads what `toColumn` made. */
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

/**
 * A checksum of an observation as it lies in the file: SQLite has none of its own, so a byte that
 * flipped in a value would be served as if it were right.
 * @param numbers everything about the observation that is a number, in a fixed order
 */
export function checksum(key: string, op: string, numbers: readonly (number | bigint)[], value: SqlValue): number {
  const content =
    value === null
      ? "n"
      : typeof value === "string"
        ? `s${value}`
        : value instanceof Uint8Array
          ? `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1")}`
          : `i${value}`;
  return Bun.hash.crc32(`${key}\0${op}\0${numbers.join(",")}\0${content}`);
}

function escaped(value: FeatureValue): Uint8Array {
  return new TextEncoder().encode(encodeStored(value));
}

function isPlain(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}
