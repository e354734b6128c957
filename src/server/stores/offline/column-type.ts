/** Types of the columns of the offline store. */

/**
 * The type of a table's `value` column. `boolean` is 0 or 1; `json` is the text of `encodeStored`.
 */
export type ColumnType = "integer" | "real" | "boolean" | "text" | "blob" | "json";

/** Declared type of the column, which decides how SQL statements compare and compute with it. */
export const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  integer: "integer",
  real: "real",
  boolean: "integer",
  text: "text",
  blob: "blob",
  json: "text",
};
