/** Values of a result's columns as values of features. */

import { type DataType, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { type Coercer, describeValue, primitiveOf, TypeMismatch } from "../../../domain/value.ts";
import { durationSeconds } from "../../sql/duration-text.ts";
import type { SqlType } from "../../sql/source.ts";
import type { ScalarInfo } from "../graph/index-types.ts";

/** Digits of an integer in a column of decimals. */
const WHOLE = /^([+-]?\d+)\.0*$/;
/** Types whose values are shown in quotes. */
const TEXTS: ReadonlySet<string> = new Set(["text", "char", "varchar"]);
const MAX_SHOWN = 60;

/**
 * The coercion of a column's values to a feature's type: the lenient one, and whole decimals to
 * integers, text to its bytes in UTF-8, and durations to the database's own text. Throws
 * TypeMismatch in the words of the database.
 * @param type undefined = it is not known
 */
export function columnCoercer(feature: ScalarInfo, type: SqlType | undefined): Coercer {
  const { lenient } = feature;
  const adapt = adapterOf(feature.dtype, type);
  if (!type) return adapt ? (value) => lenient(adapt(value)) : lenient;
  return (value) => {
    const adapted = adapt ? adapt(value) : value;
    try {
      return lenient(adapted);
    } catch (error) {
      if (!(error instanceof TypeMismatch) || error.at !== "" || error.given !== describeValue(adapted)) throw error;
      throw new TypeMismatch(error.wanted, describeTyped(value, type));
    }
  };
}

type Adapter = (value: unknown) => unknown;

function adapterOf(dtype: DataType, type: SqlType | undefined): Adapter | undefined {
  const base = primitiveOf(dtype);
  if (type?.kind === "duration") return base === PrimitiveType.STRING ? undefined : durationAdapter(dtype);
  if (base === PrimitiveType.INT64) return (value) => (typeof value === "string" ? value.replace(WHOLE, "$1") : value);
  if (base === PrimitiveType.BYTES) return (value) => (typeof value === "string" ? new TextEncoder().encode(value) : value);
  return undefined;
}

/**
 * Conversion of durations to seconds, which the other types accept; those without a fixed length
 * stay text.
 */
function durationAdapter(dtype: DataType): Adapter {
  const element = dtype.kind.case === "list" ? dtype.kind.value.element : dtype;
  const isText = element !== undefined && primitiveOf(element) === PrimitiveType.STRING;
  const adapt: Adapter = (value) => {
    if (Array.isArray(value)) return value.map(adapt);
    return typeof value === "string" && !isText ? (durationSeconds(value) ?? value) : value;
  };
  return adapt;
}

/** A value with its type in the database: `numeric 1.50`. */
function describeTyped(value: unknown, { name }: SqlType): string {
  if (value instanceof Uint8Array) return `${name} of length ${value.length}`;
  if (typeof value === "string") {
    const shown = value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN - 3)}...` : value;
    return `${name} ${TEXTS.has(name) ? JSON.stringify(shown) : shown}`;
  }
  return typeof value === "object" ? `${name}, ${describeValue(value)}` : `${name} ${value}`;
}
