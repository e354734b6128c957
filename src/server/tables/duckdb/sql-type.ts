/** Types of the engine's SQL: those of features, and those that a file or a statement has. */

import type { LogicalType } from "@duckdb/node-bindings";
import type { PlainShape, Shape } from "../shape.ts";
import type { Library } from "./library.ts";

/** A type as a file or a statement has it. `name` is the engine's word for one without parts. */
export type SqlType =
  | { readonly name: string; readonly scale?: number }
  | { readonly list: SqlType }
  | { readonly fields: readonly { readonly name: string; readonly type: SqlType }[] };

/** A column of a statement. */
export interface SqlColumn {
  readonly name: string;
  readonly type: SqlType;
}

/** Text as SQL. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const PLAIN: Readonly<Record<PlainShape, string>> = {
  bool: "BOOLEAN",
  int64: "BIGINT",
  double: "DOUBLE",
  text: "VARCHAR",
  bytes: "BLOB",
  date: "DATE",
  instant: "TIMESTAMP WITH TIME ZONE",
};

/** The SQL type of a shape. */
export function shapeSql(shape: Shape): string {
  if (shape.kind === "list") return `${shapeSql(shape.element)}[]`;
  if (shape.kind === "struct")
    return `STRUCT(${shape.fields.map((field) => `${quoteName(field.name)} ${shapeSql(field.shape)}`).join(", ")})`;
  return PLAIN[shape.kind];
}

/** The type that a logical type of the library is. */
export function sqlTypeOf(library: Library, type: LogicalType): SqlType {
  const { Type } = library;
  const id = library.get_type_id(type);
  if (library.logical_type_get_alias(type) === "JSON") return { name: "JSON" };
  if (id === Type.LIST) return { list: sqlTypeOf(library, library.list_type_child_type(type)) };
  if (id === Type.ARRAY) return { list: sqlTypeOf(library, library.array_type_child_type(type)) };
  if (id === Type.STRUCT) {
    const fields = [];
    for (let at = 0; at < library.struct_type_child_count(type); at++)
      fields.push({ name: library.struct_type_child_name(type, at), type: sqlTypeOf(library, library.struct_type_child_type(type, at)) });
    return { fields };
  }
  if (id === Type.DECIMAL) return { name: "DECIMAL", scale: library.decimal_scale(type) };
  return { name: Type[id] ?? "UNKNOWN" };
}
