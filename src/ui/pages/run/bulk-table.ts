/** A file of rows that are asked for together: its columns are the inputs. */

import type { BulkInputJson, QueryBulkRequestJson, QueryBulkResponseJson, QueryInputJson } from "../../../../gen/svc/v1/query_pb.ts";
import { CsvError, parseCsv } from "../../../domain/csv.ts";
import { readableName } from "../../../domain/name.ts";
import { plainOf } from "../../parts/proto-value.ts";
import { type QueryForm, requestOf } from "./query-form.ts";

/** Most bytes of a file. */
export const MOST_BYTES = 8 * 1024 * 1024;
/** Most rows of a file. */
export const MOST_ROWS = 10_000;
/** Most columns of a file. */
const MOST_COLUMNS = 200;

/** Rows by columns. */
export interface BulkRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The rows of a CSV file whose first line names the inputs, or why it has none. */
export function readBulk(text: string): BulkRows | { readonly problem: string } {
  try {
    const [head = [], ...rows] = parseCsv(text, MOST_ROWS + 1);
    const columns = head.map((name) => name.trim());
    const twice = columns.find((name, at) => columns.indexOf(name) < at);
    const uneven = rows.findIndex(({ length }) => length !== columns.length);
    if (rows.length === 0) return { problem: "The file has no rows: its first line names the inputs, and each further one is a row." };
    if (columns.includes("")) return { problem: "A column has no name: the first line names the input of each." };
    if (twice !== undefined) return { problem: `The column '${twice}' is there twice.` };
    if (columns.length > MOST_COLUMNS) return { problem: `The file has more than ${MOST_COLUMNS} columns.` };
    if (uneven >= 0) return { problem: `Row ${uneven + 1} has ${rows[uneven]?.length} cells, and there are ${columns.length} columns.` };
    return { columns, rows };
  } catch (error) {
    if (error instanceof CsvError) return { problem: error.message };
    throw error;
  }
}

/**
 * The request for all rows. Inputs of the form that are no columns hold for every row; an empty
 * cell is null. With a sentence for each text of the form that is none of what it should be.
 */
export function bulkRequestOf(
  form: QueryForm,
  { columns, rows }: BulkRows,
): { readonly request: QueryBulkRequestJson; readonly problems: readonly string[] } {
  const forAll = form.inputs.filter(([name, text]) => text !== "" && !columns.includes(name.trim()));
  const { problems, request } = requestOf({ ...form, inputs: forAll }, { isBulk: true });
  const { inputs = [], ...query } = request;
  const ofColumns = columns.map(
    (feature, at): BulkInputJson => ({ feature, values: rows.map((row) => ({ feature, ...cellValue(row[at] ?? "") })) }),
  );
  return { problems, request: { query, inputs: [...ofColumns, ...inputs.map((one) => ({ feature: one.feature ?? "", values: [one] }))] } };
}

function cellValue(text: string): QueryInputJson {
  return text === "" ? { typed: { nullValue: "NULL_VALUE_UNSPECIFIED" } } : { raw: text };
}

/** An answer of many rows as a table of texts, the names of its columns first. */
export function bulkAnswer({ columns, rows }: BulkRows, response: QueryBulkResponseJson): BulkRows {
  const outputs = (response.columns ?? []).filter(({ field = "" }) => !columns.includes(readableName(field)));
  const text = (value: unknown) => (value === null ? "" : typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return {
    columns: [...columns, ...outputs.map(({ field = "" }) => readableName(field))],
    rows: rows.map((row, at) => [...row, ...outputs.map(({ values = [] }) => text(plainOf(values[at])))]),
  };
}
