/**
 * Conversion between values as landing stores them, as `offline.duckdb` does, and values in memory.
 */

import { decodeStored, type FeatureValue, normalizeInt } from "../../../../domain/value.ts";
import { fromColumn, type SqlValue } from "../column.ts";
import type { ColumnType } from "../column-type.ts";
import type { Cell } from "./connection.ts";

/** A value as a table of observations has it, in its columns `value` and `exact`. */
export type HistoryValue = readonly [value: Cell, exact: string | null];

/** The value in a table of observations, of one as SQLite returns it. */
export function toHistory(type: ColumnType, stored: SqlValue): HistoryValue {
  if (stored === null) return [null, null];
  if (stored instanceof Uint8Array) {
    if (type === "blob") return [stored, null];
    const value = fromColumn(type, stored);
    return type === "real" ? [value as number, null] : escapedValue(value, new TextDecoder().decode(stored));
  }
  switch (type) {
    case "integer":
      return [BigInt(stored), null];
    case "real":
      return [Number(stored), null];
    case "boolean":
      return [Number(stored) === 1, null];
    default:
      return [String(stored), null];
  }
}

/** Text or an integer that SQLite cannot hold exactly; the engine holds some of them. */
function escapedValue(value: FeatureValue, exact: string): HistoryValue {
  if (typeof value === "string") return value.isWellFormed() ? [value, null] : [value.toWellFormed(), exact];
  const isClose = typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 63;
  return [isClose ? BigInt(value) : null, exact];
}

/** The value in memory. */
export function fromHistory(type: ColumnType, value: Cell, exact: Cell): FeatureValue {
  if (typeof exact === "string") return decodeStored(exact);
  if (value === null) return null;
  switch (type) {
    case "integer":
      return typeof value === "bigint" ? normalizeInt(value) : value;
    case "json":
      return decodeStored(value as string);
    default:
      return value;
  }
}
