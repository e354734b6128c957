/**
 * Messages as the fields of a dataclass, read without Python. A message is a JSON object; what JSON
 * says is taken at its word, as `svc/_codec/message.py` does, and members that the type does not
 * know are left out.
 */

import type { FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { compileCoercer, describeValue, type FeatureValue, parseExactJson, TypeMismatch, typeName } from "../../domain/value.ts";

/** Reads a message. Throws TypeMismatch, or SyntaxError when it is no JSON. */
export type FieldReader = (text: string) => ReadonlyMap<string, FeatureValue>;

/** The reader of messages with some fields. */
export function fieldReader({ className, features }: FeatureSet): FieldReader {
  const fields = features.flatMap(({ name, kind }) => {
    if (kind.case !== "scalar" || !kind.value.dtype) return [];
    const { dtype, defaultValue, nullable } = kind.value;
    return [{ name, nullable, read: jsonReader(dtype), fallback: defaultValue && fromProtoValue(defaultValue) }];
  });
  return (text) => {
    const message = parseExactJson(text);
    if (message === null || typeof message !== "object" || Array.isArray(message))
      throw new TypeMismatch(`an object with the fields of ${className}`, describeValue(message));
    const given = message as Readonly<Record<string, unknown>>;
    const values = new Map<string, FeatureValue>();
    for (const { name, nullable, read, fallback } of fields) {
      if (!Object.hasOwn(given, name)) {
        if (fallback === undefined) throw new TypeMismatch(`the field ${className}.${name}`, "nothing");
        values.set(name, fallback);
      } else values.set(name, readAt(`${className}.${name}`, read, given[name], nullable));
    }
    return values;
  };
}

type JsonReader = (value: unknown) => FeatureValue;

function readAt(place: string, read: JsonReader, value: unknown, nullable: boolean): FeatureValue {
  if (value === null && nullable) return null;
  try {
    return read(value);
  } catch (error) {
    throw error instanceof TypeMismatch ? new TypeMismatch(error.wanted, error.given, error.at || place) : error;
  }
}

/** The reader of a value of JSON as a type. */
function jsonReader(dtype: DataType): JsonReader {
  const refuse = (value: unknown): never => {
    throw new TypeMismatch(typeName(dtype), describeValue(value));
  };
  switch (dtype.kind.case) {
    case "list": {
      const { element, elementNullable } = dtype.kind.value;
      const read = jsonReader(element as DataType);
      const finish = compileCoercer(dtype, "strict");
      return (value) => (Array.isArray(value) ? finish(value.map((item) => readAt("", read, item, elementNullable))) : refuse(value));
    }
    case "struct": {
      const { name, fields } = dtype.kind.value;
      const readers = fields.map((field) => ({ ...field, read: jsonReader(field.dtype as DataType) }));
      return (value) => {
        if (value === null || typeof value !== "object" || Array.isArray(value)) return refuse(value);
        const given = value as Readonly<Record<string, unknown>>;
        return Object.fromEntries(
          readers.map((field) => [
            field.name,
            readAt(`${name}.${field.name}`, field.read, Object.hasOwn(given, field.name) ? given[field.name] : null, field.nullable),
          ]),
        );
      };
    }
    case "primitive":
      return primitiveReader(dtype.kind.value, compileCoercer(dtype, "strict"), refuse);
    default:
      return compileCoercer(dtype, "strict");
  }
}

function primitiveReader(type: PrimitiveType, strict: JsonReader, refuse: (value: unknown) => never): JsonReader {
  switch (type) {
    case PrimitiveType.BYTES:
      return (value) => (typeof value === "string" ? strict({ $bytes: value }) : refuse(value));
    case PrimitiveType.TIMEDELTA:
      return (value) => (typeof value === "number" ? strict({ $micros: Math.round(value * 1_000_000) }) : refuse(value));
    case PrimitiveType.FLOAT64:
      return (value) => (typeof value === "number" || typeof value === "bigint" ? strict(value) : refuse(value));
    default:
      return strict;
  }
}
