/** Types of features for the columns that a file or a statement has. */

import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { SqlType } from "./duckdb/sql-type.ts";

const PRIMITIVES: Readonly<Record<string, PrimitiveType>> = {
  BOOLEAN: PrimitiveType.BOOL,
  TINYINT: PrimitiveType.INT64,
  SMALLINT: PrimitiveType.INT64,
  INTEGER: PrimitiveType.INT64,
  BIGINT: PrimitiveType.INT64,
  UTINYINT: PrimitiveType.INT64,
  USMALLINT: PrimitiveType.INT64,
  UINTEGER: PrimitiveType.INT64,
  UBIGINT: PrimitiveType.INT64,
  HUGEINT: PrimitiveType.INT64,
  UHUGEINT: PrimitiveType.INT64,
  DECIMAL: PrimitiveType.DECIMAL,
  FLOAT: PrimitiveType.FLOAT64,
  DOUBLE: PrimitiveType.FLOAT64,
  BLOB: PrimitiveType.BYTES,
  DATE: PrimitiveType.DATE,
  TIMESTAMP: PrimitiveType.DATETIME,
  TIMESTAMP_S: PrimitiveType.DATETIME,
  TIMESTAMP_MS: PrimitiveType.DATETIME,
  TIMESTAMP_NS: PrimitiveType.DATETIME,
  TIMESTAMP_TZ: PrimitiveType.DATETIME,
  JSON: PrimitiveType.JSON,
};

/** Types with parts that are neither a list nor a struct; they are read as JSON. */
const JSON_ONLY: ReadonlySet<string> = new Set(["MAP", "UNION", "VARIANT"]);

/** Whether a column of this type is read as JSON, because a part of it has no type of its own. */
export function isReadAsJson(type: SqlType): boolean {
  if ("list" in type) return isReadAsJson(type.list);
  if ("fields" in type) return type.fields.length === 0 || type.fields.some((field) => isReadAsJson(field.type));
  return JSON_ONLY.has(type.name);
}

/** The type of a column's values. Types that features do not have are text. */
export function inferredType(type: SqlType): DataType {
  return isReadAsJson(type) ? primitive(PrimitiveType.JSON) : partType(type);
}

function partType(type: SqlType): DataType {
  if ("list" in type)
    return create(DataTypeSchema, { kind: { case: "list", value: { element: partType(type.list), elementNullable: true, set: false } } });
  if ("fields" in type) {
    const fields = type.fields.map((field) => ({ name: field.name, dtype: partType(field.type), nullable: true }));
    return create(DataTypeSchema, { kind: { case: "struct", value: { name: "struct", fields } } });
  }
  return primitive(PRIMITIVES[type.name] ?? PrimitiveType.STRING);
}

/** The type without parts. */
export function primitive(value: PrimitiveType): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value } });
}
