/**
 * The shape of a column: how its values lie in memory between processes and in the engine's
 * vectors. Many types have one shape: a decimal, an enum of text and JSON are text.
 */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { primitiveOf, typeName } from "../../domain/value.ts";
import { TableError } from "./engine.ts";

/** A shape without parts. `instant` is microseconds since 1970 in UTC, `date` days since then. */
export type PlainShape = "bool" | "int64" | "double" | "text" | "bytes" | "date" | "instant";

/** The shape of a column, or of a part of its values. */
export type Shape =
  | { readonly kind: PlainShape }
  | { readonly kind: "list"; readonly element: Shape }
  | { readonly kind: "struct"; readonly fields: readonly { readonly name: string; readonly shape: Shape }[] };

/** Deepest nesting of lists and structs. */
const MAX_DEPTH = 32;

const SHAPES: Readonly<Record<PrimitiveType, PlainShape | undefined>> = {
  [PrimitiveType.UNSPECIFIED]: undefined,
  [PrimitiveType.INT64]: "int64",
  [PrimitiveType.FLOAT64]: "double",
  [PrimitiveType.STRING]: "text",
  [PrimitiveType.BOOL]: "bool",
  [PrimitiveType.BYTES]: "bytes",
  [PrimitiveType.DATE]: "date",
  [PrimitiveType.DATETIME]: "instant",
  [PrimitiveType.TIMEDELTA]: "int64",
  [PrimitiveType.DECIMAL]: "text",
  [PrimitiveType.JSON]: "text",
};

/** The shape of a type's values. Throws TableError for a type that no table can hold. */
export function shapeOf(dtype: DataType, depth = 0): Shape {
  const { kind } = dtype;
  if (depth > MAX_DEPTH) throw new TableError("refused", `a type is nested deeper than ${MAX_DEPTH} levels`);
  if (kind.case === "list" && kind.value.element) return { kind: "list", element: shapeOf(kind.value.element, depth + 1) };
  if (kind.case === "struct") {
    const fields = kind.value.fields.map(({ name, dtype: type }) => {
      if (!type) throw new TableError("refused", `the field ${name} of ${typeName(dtype)} has no type`);
      return { name, shape: shapeOf(type, depth + 1) };
    });
    if (fields.length === 0) throw new TableError("refused", `${typeName(dtype)} has no fields, and a table holds no such values`);
    refuseSameNames(
      fields.map(({ name }) => name),
      `fields of ${typeName(dtype)}`,
    );
    return { kind: "struct", fields };
  }
  const plain = SHAPES[primitiveOf(dtype)];
  if (!plain) throw new TableError("refused", "a column has no type");
  return { kind: plain };
}

/** Throws TableError when two names are the same to SQL, which does not tell cases apart. */
export function refuseSameNames(names: readonly string[], what: string): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    if (name === "") throw new TableError("refused", `one of the ${what} has no name`);
    const other = seen.get(name.toLowerCase());
    if (other !== undefined)
      throw new TableError("refused", `two ${what} have one name where cases are not told apart: "${other}" and "${name}"`);
    seen.set(name.toLowerCase(), name);
  }
}
