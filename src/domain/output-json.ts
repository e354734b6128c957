/** Outputs of a query as JSON: their values, all of one kind of JSON, and their types. */

import { type DataType, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, type JsonForm, plainLength, primitiveOf, toPlainJson, VECTOR_PRECISIONS } from "./value.ts";

/** An output whose values are to be written. */
export interface JsonOutput {
  readonly type: DataType;
  /** Whether its values are lists of whole rows of a has-many relation. */
  readonly isTable: boolean;
}

/**
 * The values of an output as plain JSON. Where one of them is an integer beyond 2^53, or a length
 * of time that is no exact number, all of them are text there: the values themselves, the items of
 * their lists, or one field of their structs. Rows of a relation whose structs are lists keep the
 * names of their columns: `{"columns": ["id", "price"], "values": [[1, 2], [9.5, 3]]}`.
 */
export function outputToJson(values: readonly FeatureValue[], { type, isTable }: JsonOutput, form: JsonForm = {}): unknown[] {
  const texts = new Set<DataType>();
  for (const value of values) findTexts(value, type, form, texts);
  const whole = { ...form, texts };
  if (isTable && form.structsAsLists) return values.map((value) => value && tableToJson(value, type, whole));
  return values.map((value) => toPlainJson(value, type, whole));
}

/**
 * Adds to `texts` the types within `type` that have a value here which a JSON number cannot hold.
 */
function findTexts(value: FeatureValue, type: DataType, form: JsonForm, texts: Set<DataType>): void {
  const { kind } = type;
  if (typeof value === "bigint" && primitiveOf(type) === PrimitiveType.INT64) {
    if (!form.largeNumbers) texts.add(type);
  } else if (typeof value === "bigint" || typeof value === "number") {
    if (primitiveOf(type) === PrimitiveType.TIMEDELTA && typeof plainLength(value) === "string") texts.add(type);
  } else if (kind.case === "list" && kind.value.element && Array.isArray(value)) {
    for (const item of value) findTexts(item, kind.value.element, form, texts);
  } else if (kind.case === "struct" && value !== null) {
    const given = value as Readonly<Record<string, FeatureValue>>;
    for (const { name, dtype } of kind.value.fields) if (dtype) findTexts(given[name] ?? null, dtype, form, texts);
  }
}

function tableToJson(value: FeatureValue, type: DataType, form: JsonForm): unknown {
  const rows = value as readonly Readonly<Record<string, FeatureValue>>[];
  const element = type.kind.case === "list" ? type.kind.value.element : undefined;
  const fields = element?.kind.case === "struct" ? element.kind.value.fields : [];
  return {
    columns: fields.map(({ name }) => name),
    values: fields.map(({ name, dtype }) => rows.map((row) => toPlainJson(row[name] ?? null, dtype, form))),
  };
}

const PRIMITIVES: Readonly<Record<PrimitiveType, string>> = {
  [PrimitiveType.UNSPECIFIED]: "unknown",
  [PrimitiveType.INT64]: "int64",
  [PrimitiveType.FLOAT64]: "float64",
  [PrimitiveType.STRING]: "string",
  [PrimitiveType.BOOL]: "bool",
  [PrimitiveType.BYTES]: "bytes",
  [PrimitiveType.DATE]: "date",
  [PrimitiveType.DATETIME]: "timestamp",
  [PrimitiveType.TIMEDELTA]: "duration",
  [PrimitiveType.DECIMAL]: "decimal",
  [PrimitiveType.JSON]: "json",
};

/** A type as JSON, as `QueryMeta.types` in `query.proto` defines it. */
export function typeToJson(type: DataType | undefined): unknown {
  switch (type?.kind.case) {
    case "list": {
      const { vector } = type.kind.value;
      if (vector) return { type: "vector", precision: VECTOR_PRECISIONS[vector.precision], size: vector.size || null };
      return { type: type.kind.value.set ? "set" : "list", items: typeToJson(type.kind.value.element) };
    }
    case "struct":
      return { type: "struct", fields: type.kind.value.fields.map(({ name, dtype }) => ({ name, type: typeToJson(dtype) })) };
    default:
      return PRIMITIVES[type ? primitiveOf(type) : PrimitiveType.UNSPECIFIED];
  }
}
