/**
 * Values of a translated function as Python has them: an int is a bigint and a float a number, so
 * that they cannot be confused.
 */

import { type DataType, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { microsOf, textOfMicros } from "../../../domain/expressions/instant.ts";
import { type FeatureValue, normalizeInt } from "../../../domain/value.ts";

/** A datetime in UTC, in microseconds since 1970. */
export class Instant {
  constructor(readonly micros: bigint) {}
}

/** A timedelta in microseconds. */
export class Delta {
  constructor(readonly micros: bigint) {}
}

/** None, bool, int, float, str, datetime or timedelta. */
export type PythonValue = null | boolean | bigint | number | string | Instant | Delta;

/**
 * Thrown when Python has to compute a row: it would raise, or the evaluator cannot be sure of the
 * same result.
 */
export class Unsure extends Error {
  override readonly name = "Unsure";
}

const UNSURE = new Unsure("Python decides");

/** Leaves the row to Python. */
export function unsure(): never {
  throw UNSURE;
}

/**
 * Conversions of a type: `read` from a feature's value to that of a Python parameter, `write` from
 * a result to the feature's value. Both throw Unsure.
 */
export interface PythonType {
  readonly read: (value: FeatureValue) => PythonValue;
  readonly write: (value: PythonValue) => FeatureValue;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

function writeInt(value: PythonValue): FeatureValue {
  return typeof value === "bigint" && value >= INT64_MIN && value <= INT64_MAX ? normalizeInt(value) : unsure();
}

const TYPES: { readonly [type in PrimitiveType]?: PythonType } = {
  [PrimitiveType.INT64]: {
    read: (value) => (typeof value === "number" || typeof value === "bigint" ? BigInt(value) : unsure()),
    write: writeInt,
  },
  [PrimitiveType.FLOAT64]: {
    read: (value) => (typeof value === "number" ? value : unsure()),
    write: (value) => (typeof value === "number" ? value : writeInt(value)),
  },
  [PrimitiveType.STRING]: {
    read: (value) => (typeof value === "string" && value.isWellFormed() ? value : unsure()),
    write: (value) => (typeof value === "string" ? value : unsure()),
  },
  [PrimitiveType.BOOL]: {
    read: (value) => (typeof value === "boolean" ? value : unsure()),
    write: (value) => (typeof value === "boolean" ? value : unsure()),
  },
  [PrimitiveType.DATETIME]: {
    read: (value) => (typeof value === "string" ? new Instant(microsOf(value)) : unsure()),
    write: (value) => (value instanceof Instant ? textOfMicros(value.micros) : unsure()),
  },
};

/** The conversions of a type; null stays null. Undefined for types that are not supported. */
export function pythonType(type: DataType): PythonType | undefined {
  const known = type.kind.case === "primitive" ? TYPES[type.kind.value] : undefined;
  return (
    known && {
      read: (value) => (value === null ? null : known.read(value)),
      write: (value) => (value === null ? null : known.write(value)),
    }
  );
}
