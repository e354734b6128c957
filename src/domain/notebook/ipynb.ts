/**
 * Files of Jupyter: notebooks in version 4.5 of its format, as `nbformat` checks it. Read is any
 * version 4; what this platform does not keep (attachments, widgets, raw cells' formats) is left
 * out.
 */

import { isJsonObject, type Json, type JsonObject } from "../json-value.ts";
import {
  type CellKind,
  type CellOutput,
  imagesOf,
  joinedOutputs,
  MAX_CELLS,
  MAX_OUTPUTS,
  MAX_SOURCE,
  type MimeBundle,
} from "./notebook.ts";

/** A cell as a file has it. */
export interface FileCell {
  readonly kind: CellKind;
  readonly source: string;
  /** Number of its run; undefined = it was not run, or is no code. */
  readonly executionCount: number | undefined;
  readonly outputs: readonly CellOutput[];
}

/** Why a text is no notebook, in words that follow its name. */
export class NotNotebook extends Error {
  override readonly name = "NotNotebook";
}

/** Longest name or MIME type that is read, in characters. */
const MAX_NAME = 200;

/**
 * The file of cells.
 * @param cells each with an id of letters, digits, `-` and `_`, of at most 64 characters
 */
export function ipynbText(cells: readonly (FileCell & { readonly id: string })[], pythonVersion = ""): string {
  const file: JsonObject = {
    cells: cells.map(fileCell),
    metadata: {
      kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
      language_info: { name: "python", ...(pythonVersion !== "" && { version: pythonVersion }) },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(file, undefined, 1)}\n`;
}

function fileCell({ id, kind, source, executionCount, outputs }: FileCell & { readonly id: string }): JsonObject {
  const shared = { cell_type: kind, id, metadata: {}, source: linesOf(source) };
  if (kind === "markdown") return shared;
  return { ...shared, execution_count: executionCount ?? null, outputs: outputs.map((output) => fileOutput(output, executionCount)) };
}

function fileOutput(output: CellOutput, executionCount: number | undefined): JsonObject {
  switch (output.kind) {
    case "stream":
      return { output_type: "stream", name: output.stream, text: linesOf(output.text) };
    case "error":
      return { output_type: "error", ename: output.name, evalue: output.message, traceback: output.traceback.split("\n") };
    case "display":
      return { output_type: "display_data", data: fileBundle(output.data), metadata: {} };
    default:
      return { output_type: "execute_result", execution_count: executionCount ?? null, data: fileBundle(output.data), metadata: {} };
  }
}

function fileBundle(data: MimeBundle): JsonObject {
  const base64 = new Set(imagesOf(data).flatMap(({ type, isBase64 }) => (isBase64 ? [type] : [])));
  const written = (type: string, text: string): Json => (isJsonType(type) ? parsedOr(text, text) : base64.has(type) ? text : linesOf(text));
  return Object.fromEntries(Object.entries(data).map(([type, text]) => [type, written(type, text)]));
}

/** Whether the format has values of a type as JSON, and not as text. */
function isJsonType(type: string): boolean {
  return /^application\/(.*\+)?json$/.test(type);
}

function parsedOr<T>(text: string, otherwise: T): Json | T {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return otherwise;
  }
}

/** A text as its lines, each with its end: what a difference of two files shows well. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** The cells of a file. Throws NotNotebook. */
export function readIpynb(text: string): FileCell[] {
  const file = parsedOr(text, undefined);
  if (file === undefined) throw new NotNotebook("is no JSON");
  if (!isJsonObject(file) || !Array.isArray(file.cells)) {
    const isOld = isJsonObject(file) && Array.isArray(file.worksheets);
    throw new NotNotebook(
      isOld ? "is of an old version of the format; open and save it in Jupyter first" : "is no notebook: it has no list `cells`",
    );
  }
  if (file.nbformat !== 4) throw new NotNotebook(`is of version ${JSON.stringify(file.nbformat ?? null)} of the format; version 4 is read`);
  if (file.cells.length > MAX_CELLS) throw new NotNotebook(`has ${file.cells.length} cells, and ${MAX_CELLS} are the most`);
  return file.cells.map((cell, at) => readCell(cell, `cell ${at + 1}`));
}

function readCell(cell: Json, where: string): FileCell {
  if (!isJsonObject(cell)) throw new NotNotebook(`is no notebook: ${where} is no object`);
  const source = textOf(cell.source);
  if (source === undefined) throw new NotNotebook(`is no notebook: ${where} has no source`);
  if (source.length > MAX_SOURCE) throw new NotNotebook(`has ${source.length} characters in ${where}, and ${MAX_SOURCE} are the most`);
  if (cell.cell_type !== "code") return { kind: "markdown", source, executionCount: undefined, outputs: [] };
  const count = cell.execution_count;
  const outputs = Array.isArray(cell.outputs) ? cell.outputs.slice(0, MAX_OUTPUTS).flatMap(readOutput) : [];
  const executionCount = typeof count === "number" && Number.isSafeInteger(count) && count >= 0 && count < 2 ** 31 ? count : undefined;
  return { kind: "code", source, executionCount, outputs: joinedOutputs(outputs) };
}

/** An output; none for what has no form that is kept. */
function readOutput(output: Json): CellOutput[] {
  if (!isJsonObject(output)) return [];
  switch (output.output_type) {
    case "stream":
      return [{ kind: "stream", stream: output.name === "stderr" ? "stderr" : "stdout", text: textOf(output.text) ?? "" }];
    case "error":
      return [
        {
          kind: "error",
          name: String(output.ename ?? "").slice(0, MAX_NAME),
          message: String(output.evalue ?? ""),
          traceback: Bun.stripANSI(Array.isArray(output.traceback) ? output.traceback.join("\n") : ""), // IPython's have colours
        },
      ];
    case "display_data":
    case "execute_result": {
      const data = Object.entries(isJsonObject(output.data) ? output.data : {}).flatMap(([type, value]) => {
        const text = isJsonType(type) ? JSON.stringify(value) : textOf(value);
        return text === undefined || type.length > MAX_NAME ? [] : [[type, text] as const];
      });
      return [{ kind: output.output_type === "display_data" ? "display" : "result", data: Object.fromEntries(data) }];
    }
    default:
      return [];
  }
}

/** A text, which files have whole or in lines. */
function textOf(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value.toWellFormed();
  return Array.isArray(value) && value.every((line) => typeof line === "string") ? value.join("").toWellFormed() : undefined;
}
