/** Notebooks and cells as tables and text. */

import {
  CellKind,
  type CellOutput,
  CellState,
  type DisplayOutput,
  type GetNotebookResponse,
  KernelState,
  type Notebook,
  type NotebookCell,
} from "../../../gen/svc/v1/notebook_pb.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { imagesOf, overwritten, pngSize } from "../../domain/notebook/notebook.ts";
import { visibleLines } from "../../domain/visible.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import type { Style, View } from "../../output/view.ts";

/** How the kernel of a notebook stands, in a word. */
export function kernelState({ kernel }: Pick<Notebook, "kernel">): string {
  switch (kernel?.state) {
    case KernelState.STARTING:
      return "Starting";
    case KernelState.IDLE:
      return "Idle";
    case KernelState.BUSY:
      return "Busy";
    default:
      return "Stopped";
  }
}

/** Columns of a list. */
export const NOTEBOOK_COLUMNS: FieldViews<Notebook> = {
  id: "ID",
  title: { header: "Name", flexible: true },
  kernel: { header: "Status", cell: kernelState },
  cellCount: { header: "Cells", align: "right", dispensable: true },
  updatedAt: { header: "Updated", cell: ({ updatedAt }, style) => age(updatedAt, style) },
  url: { header: "URL", dispensable: true },
};

/** What people see of one. */
export const NOTEBOOK_FIELDS: FieldViews<Notebook> = {
  id: "ID",
  title: "Name",
  description: { header: "Description", ifAny: true },
  kernel: { header: "Status", cell: kernelText },
  createdAt: "Created",
  updatedAt: "Updated",
  url: { header: "URL", ifAny: true },
};

/** A notebook with its cells, a block each. */
export const notebookView: View<GetNotebookResponse> = resourceFields(({ notebook }: GetNotebookResponse) => notebook, NOTEBOOK_FIELDS, {
  text: ({ cells }, style) => cells.map((cell) => `\n${cellText(cell, style)}`).join("\n"),
  json: ({ cells }) => ({ cells: cells.map((cell) => messageJson(cell)) }),
});

function kernelText(notebook: Notebook): string {
  const { kernel } = notebook;
  const state = kernelState(notebook);
  if (!kernel) return state;
  const where = kernel.branch === "" ? kernel.deploymentId : `${kernel.deploymentId} on branch ${kernel.branch}`;
  return kernel.state === KernelState.ENDED ? `${state}: the kernel ${kernel.end}` : `${state}, in ${where}`;
}

/** A cell: its head, its source, and what it gave. */
function cellText(cell: NotebookCell, style: Style): string {
  const source = visibleLines(cell.source.replace(/\n$/, ""));
  if (cell.kind === CellKind.MARKDOWN) return [style.dim(`Text  ${cell.id}`), source].join("\n");
  const count = cell.executionCount === undefined ? " " : String(cell.executionCount);
  const head = style.dim(`In [${count}]${stateText(cell.state)}  ${cell.id}`);
  const outputs = cell.outputs.map((output) => outputText(output, style)).filter((text) => text !== "");
  return [head, source, ...(outputs.length > 0 ? [style.dim(`Out [${count}]`), ...outputs] : [])].join("\n");
}

function stateText(state: CellState): string {
  switch (state) {
    case CellState.QUEUED:
      return " waits";
    case CellState.RUNNING:
      return " runs";
    case CellState.FAILED:
      return " failed";
    case CellState.INTERRUPTED:
      return " was interrupted";
    default:
      return "";
  }
}

/** What a cell gave, as text without a newline at its end: tables as text, images by their size. */
export function outputText({ content }: CellOutput, style: Style): string {
  switch (content.case) {
    case "stream": {
      const text = visibleLines(overwritten(content.value.text).replace(/\n$/, ""));
      return content.value.name === "stderr" ? style.yellow(text) : text;
    }
    case "error": {
      const { name, message, traceback } = content.value;
      return style.red(visibleLines(traceback || errorLine(name, message)));
    }
    case undefined:
      return "";
    default:
      return displayText(content.value);
  }
}

/** The last line of a traceback. */
export function errorLine(name: string, message: string): string {
  return message === "" ? name : `${name}: ${message}`;
}

function displayText({ data }: DisplayOutput): string {
  const images = imagesOf(data);
  const [image] = images;
  if (image) {
    const size = image.type === "image/png" ? pngSize(image.text) : undefined;
    return `[${image.type}${size ? ` ${size.width}x${size.height}` : ""}]`;
  }
  const text = data["text/plain"] ?? data["text/markdown"];
  if (text !== undefined) return visibleLines(text);
  return `[${Object.keys(data).map(escapeControls).join(", ") || "nothing that text can show"}]`;
}
