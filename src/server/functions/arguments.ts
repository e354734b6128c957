/** Arguments and results of functions: tables of Arrow or JSON, checked by the function's types. */

import type { ComputeFunction, FunctionParameter } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { isJsonObject, type Json } from "../../domain/json-value.ts";
import { compileCoercer, type FeatureValue, parseExactJson, TypeMismatch, toPlainJson } from "../../domain/value.ts";
import { arrowFile, isArrowFile, streamOfFile } from "../arrow/file.ts";
import { ArrowRefused, readArrowStream } from "../arrow/read-stream.ts";
import { arrowStream } from "../arrow/write-stream.ts";
import { Failure } from "../failure.ts";
import type { CallForm } from "../stores/metadata/function-calls.ts";

/** Most rows of a call. */
export const MAX_ROWS = 100_000;
/** Most values of a call, those inside of lists and structs included. */
const MAX_VALUES = 2_000_000;
/** Most bytes that compressed parts of a table come to. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;
/** The column of results. */
const RESULT = "result";

/** A table as it was sent. */
export interface SentTable {
  readonly form: CallForm;
  readonly bytes: Uint8Array;
}

/** Arguments that fit their function. */
export interface Arguments {
  readonly rows: number;
  /** By parameter; those that were left out are absent. */
  readonly columns: Readonly<Record<string, readonly FeatureValue[]>>;
}

/** The table of a caller that sent none: one row without columns. */
export const NO_ARGUMENTS: SentTable = { form: "arrow_stream", bytes: new Uint8Array(0) };

/** How bytes of Arrow are written. */
export function arrowForm(bytes: Uint8Array): CallForm {
  return isArrowFile(bytes) ? "arrow_file" : "arrow_stream";
}

/** Reads arguments. Throws Failure invalid_argument, which names the column and the row. */
export function readArguments(sent: SentTable, of: ComputeFunction): Arguments {
  const { rows, columns: given } = readTable(sent);
  if (rows > MAX_ROWS) throw refused(`A call has at most ${MAX_ROWS} rows, and this one ${rows}.`, "Call it in parts.");
  const names = of.parameters.map(({ name }) => name);
  for (const name of given.keys())
    if (!names.includes(name))
      throw refused(
        `'${of.name}' has no parameter '${name.slice(0, 200)}'.`,
        didYouMean(name, names).replace(/^d/, "D") || (names.length > 0 ? `Its parameters are ${names.join(", ")}.` : "It has none."),
      );
  const columns: Record<string, readonly FeatureValue[]> = {};
  for (const parameter of of.parameters) {
    const values = given.get(parameter.name);
    if (values) columns[parameter.name] = checkedColumn(values, parameter, of.name, sent.form);
    else if (!parameter.hasDefault)
      throw refused(`The arguments have no column '${parameter.name}', which '${of.name}' needs.`, `It takes ${names.join(", ")}.`);
  }
  return { rows, columns };
}

function checkedColumn(
  values: readonly unknown[],
  { dtype, name, nullable }: FunctionParameter,
  of: string,
  form: CallForm,
): readonly FeatureValue[] {
  const coerce = compileCoercer(dtype as DataType, form === "json" ? "lenient" : "strict");
  return values.map((value, row) => {
    if (value === null || value === undefined) {
      if (nullable) return null;
      throw refused(
        `Row ${row} has no value of '${name}', and '${of}' takes no None for it.`,
        `Leave such rows out, or write '${name}: ... | None'.`,
      );
    }
    try {
      return coerce(value);
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error;
      throw refused(`'${name}${error.at}' of row ${row} is ${error.given}, and '${of}' takes ${error.wanted}.`);
    }
  });
}

function readTable({ bytes, form }: SentTable): { readonly rows: number; readonly columns: ReadonlyMap<string, readonly unknown[]> } {
  if (bytes.length === 0) return { rows: 1, columns: new Map() };
  if (form === "json") return readJson(new TextDecoder().decode(bytes));
  try {
    const stream = form === "arrow_file" ? streamOfFile(bytes) : bytes;
    const table = readArrowStream(stream, MAX_VALUES, MAX_INFLATED_BYTES);
    const columns = new Map(table.names.map((name, at) => [name, table.columns[at] ?? []]));
    if (columns.size < table.names.length) throw new ArrowRefused("Two columns have one name.");
    return { rows: table.rows, columns };
  } catch (error) {
    if (error instanceof ArrowRefused) throw refused(error.message, "Arguments are a table in Arrow's IPC format, as a stream or a file.");
    throw error;
  }
}

function readJson(text: string): ReturnType<typeof readTable> {
  let read: unknown;
  try {
    read = parseExactJson(text);
  } catch {
    throw refused("The arguments are no JSON.");
  }
  const columns = new Map(isJsonObject(read as Json) ? Object.entries(read as Record<string, readonly unknown[]>) : []);
  const lengths = new Set([...columns.values()].map((values) => (Array.isArray(values) ? values.length : -1)));
  if (columns.size === 0 || lengths.size !== 1 || lengths.has(-1))
    throw refused("The arguments are no JSON object of lists of one length, by parameter.", 'Write, for example, {"amount": [1.5, 2.5]}.');
  return { rows: [...lengths][0] ?? 0, columns };
}

/** A result that does not have the type that its function states. */
export class ResultMismatch extends Error {
  override readonly name = "ResultMismatch";
}

/** Writes results as their arguments were written. Throws ResultMismatch. */
export function writeResult(values: readonly unknown[], of: ComputeFunction, form: CallForm): Uint8Array {
  const type = of.result as DataType;
  const coerce = compileCoercer(type, "strict");
  const checked = values.map((value, row): FeatureValue => {
    const at = values.length > 1 ? ` for row ${row}` : "";
    if (value === null || value === undefined) {
      if (of.resultNullable) return null;
      throw new ResultMismatch(`function '${of.name}' returned None${at}, and does not say that it may`);
    }
    try {
      return coerce(value);
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error;
      throw new ResultMismatch(`function '${of.name}' returned ${error.given}${at}, and says ${error.wanted}`);
    }
  });
  if (form === "json") return new TextEncoder().encode(JSON.stringify({ [RESULT]: checked.map((value) => toPlainJson(value, type)) }));
  const columns = [{ name: RESULT, type, values: checked }];
  return form === "arrow_file" ? arrowFile(columns, checked.length) : arrowStream(columns, checked.length, {});
}

function refused(message: string, hint?: string): Failure {
  return new Failure("invalid_argument", message, hint === undefined ? {} : { hint });
}
