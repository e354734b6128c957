/** The statements by which files are read and written. */

import { type DataType, PrimitiveType, VectorPrecision } from "../../../gen/svc/v1/value_pb.ts";
import { primitiveOf } from "../../domain/value.ts";
import { quoteName, quoteText, type SqlType, shapeSql } from "./duckdb/sql-type.ts";
import type { TableColumn, TableFormat } from "./engine.ts";
import { isReadAsJson } from "./inferred-type.ts";
import { shapeOf } from "./shape.ts";

/** Rows of a row group of Parquet, unless they are long. */
export const ROW_GROUP_ROWS = 122_880;

/** Key of a file's metadata that tells the columns' types, as JSON. */
export const TYPES_KEY = "svc.columns";

/** The relation of one file, with the types of its own. */
export function fileRelation(path: string, format: TableFormat): string {
  const file = quoteText(path);
  if (format === "parquet") return `read_parquet(${file}, hive_partitioning = false)`;
  if (format === "csv") return `read_csv(${file}, header = true, sample_size = -1, allow_quoted_nulls = false, hive_partitioning = false)`;
  return `read_json(${file}, sample_size = -1, maximum_object_size = 67108864, hive_partitioning = false)`;
}

/** The relation of a text file whose columns have these types. */
export function typedRelation(path: string, format: Exclude<TableFormat, "parquet">, columns: readonly TableColumn[]): string {
  const types = columns.map(({ name, dtype }) => `${quoteText(name)}: ${quoteText(parsedSql(dtype, format))}`).join(", ");
  const file = quoteText(path);
  if (format === "csv")
    return `read_csv(${file}, header = true, allow_quoted_nulls = false, types = {${types}}, hive_partitioning = false)`;
  return `read_json(${file}, columns = {${types}}, maximum_object_size = 67108864, hive_partitioning = false)`;
}

/** The type as which a text file's column is parsed. */
function parsedSql(dtype: DataType, format: TableFormat): string {
  const { kind } = dtype;
  const primitive = primitiveOf(dtype);
  if (primitive === PrimitiveType.JSON) return format === "json" ? "JSON" : "VARCHAR";
  if (primitive === PrimitiveType.FLOAT64 && format === "json") return "JSON";
  if (primitive === PrimitiveType.BYTES || (format === "csv" && (kind.case === "list" || kind.case === "struct"))) return "VARCHAR";
  return shapeSql(shapeOf(dtype));
}

/** The expression of a text file's column as values of its type. */
export function parsedExpression({ name, dtype }: TableColumn, format: TableFormat): string {
  const column = quoteName(name);
  if (primitiveOf(dtype) === PrimitiveType.BYTES) return `from_base64(${column})`;
  if (primitiveOf(dtype) === PrimitiveType.FLOAT64 && format === "json")
    return `CAST(CASE WHEN json_type(${column}) = 'OBJECT' THEN json_extract_string(${column}, '$."$float"') ELSE CAST(${column} AS VARCHAR) END AS DOUBLE)`;
  if (format === "csv" && (dtype.kind.case === "list" || dtype.kind.case === "struct"))
    return `CAST(CAST(${column} AS JSON) AS ${shapeSql(shapeOf(dtype))})`;
  return `CAST(${column} AS ${shapeSql(shapeOf(dtype))})`;
}

/** The expression of a column, of a type that a file has, in the shape of a type. */
export function shapedExpression(name: string, from: SqlType, dtype: DataType): string {
  const column = quoteName(name);
  if (isReadAsJson(from)) return `CAST(to_json(${column}) AS VARCHAR)`;
  return `CAST(${column} AS ${shapeSql(shapeOf(dtype))})`;
}

/**
 * The SQL type of a column in a file. Decimals are `DECIMAL(38, 9)` where that loses no digit of
 * the column, else text.
 */
export function fileSql(dtype: DataType, isWide: boolean): string {
  const { kind } = dtype;
  if (kind.case === "list" && kind.value.vector && kind.value.vector.precision !== VectorPrecision.F64) return "FLOAT[]";
  if (kind.case === "list") return `${fileSql(kind.value.element as DataType, isWide)}[]`;
  if (kind.case === "struct")
    return `STRUCT(${kind.value.fields.map((field) => `${quoteName(field.name)} ${fileSql(field.dtype as DataType, isWide)}`).join(", ")})`;
  if (primitiveOf(dtype) === PrimitiveType.DECIMAL) return isWide ? "VARCHAR" : "DECIMAL(38, 9)";
  if (primitiveOf(dtype) === PrimitiveType.JSON) return "JSON";
  return shapeSql(shapeOf(dtype));
}

/** The statement that writes a query's rows as Parquet, with the types that they have. */
export function copyToParquet(query: string, path: string, types: string, groupRows = ROW_GROUP_ROWS): string {
  const stated = `KV_METADATA {${quoteText(TYPES_KEY)}: ${quoteText(types)}}`;
  const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${groupRows}, USE_TMP_FILE false, ${stated}`;
  return `COPY (${query}) TO ${quoteText(path)} (${options})`;
}

/** The statement that writes a query's rows as CSV with a line of names, or as lines of JSON. */
export function copyToText(query: string, path: string, format: Exclude<TableFormat, "parquet">): string {
  return `COPY (${query}) TO ${quoteText(path)} (${format === "csv" ? "FORMAT csv, HEADER" : "FORMAT json"})`;
}

/**
 * The expression of values as a text format has them: times in ISO 8601, bytes in base64, decimals
 * without needless zeros; in CSV lists and structs are JSON.
 */
export function textExpression(column: string, dtype: DataType, format: Exclude<TableFormat, "parquet">): string {
  if (format === "json") return jsonExpression(column, dtype, 0);
  if (dtype.kind.case === "list" || dtype.kind.case === "struct") return `CAST(to_json(${jsonExpression(column, dtype, 0)}) AS VARCHAR)`;
  return plainExpression(column, dtype);
}

function plainExpression(value: string, dtype: DataType): string {
  switch (primitiveOf(dtype)) {
    case PrimitiveType.DATETIME:
      return `replace(CAST(CAST(${value} AS TIMESTAMP) AS VARCHAR), ' ', 'T') || 'Z'`;
    case PrimitiveType.BYTES:
      return `to_base64(${value})`;
    case PrimitiveType.DECIMAL:
      return `CASE WHEN contains(CAST(${value} AS VARCHAR), '.') THEN rtrim(rtrim(CAST(${value} AS VARCHAR), '0'), '.') ELSE CAST(${value} AS VARCHAR) END`;
    default:
      return value;
  }
}

function jsonExpression(value: string, dtype: DataType, depth: number): string {
  const { kind } = dtype;
  if (kind.case === "list") {
    const item = `x${depth}`;
    return `list_transform(${value}, lambda ${item}: ${jsonExpression(item, kind.value.element as DataType, depth + 1)})`;
  }
  if (kind.case === "struct") {
    const fields = kind.value.fields.map(
      (field) => `${quoteText(field.name)}: ${jsonExpression(`(${value}).${quoteName(field.name)}`, field.dtype as DataType, depth)}`,
    );
    return `CASE WHEN ${value} IS NULL THEN NULL ELSE {${fields.join(", ")}} END`;
  }
  if (primitiveOf(dtype) === PrimitiveType.FLOAT64)
    return `CASE WHEN isfinite(${value}) THEN to_json(${value}) WHEN isnan(${value}) THEN JSON '{"$float":"NaN"}' WHEN ${value} > 0 THEN JSON '{"$float":"Infinity"}' WHEN ${value} < 0 THEN JSON '{"$float":"-Infinity"}' END`;
  if (primitiveOf(dtype) === PrimitiveType.JSON) return `CAST(${value} AS JSON)`;
  return plainExpression(value, dtype);
}
