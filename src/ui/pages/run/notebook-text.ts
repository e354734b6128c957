/** What pages show of notebooks, as functions of the data. */

import type { CellOutputJson, NotebookCellJson, NotebookKernelJson } from "../../../../gen/svc/v1/notebook_pb.ts";
import { type HtmlTable, htmlTable } from "../../../domain/notebook/html-table.ts";
import { imagesOf, overwritten } from "../../../domain/notebook/notebook.ts";
import { visibleLines } from "../../../domain/visible.ts";
import type { Tone } from "../../parts/status.tsx";
import { enumWord } from "./run-state.ts";

/** An output in the form in which a page shows it. */
export type ShownOutput =
  | { readonly kind: "text"; readonly text: string; readonly tone: "plain" | "warn" | "bad" }
  | { readonly kind: "image"; readonly source: string; readonly words: string }
  | { readonly kind: "table"; readonly table: HtmlTable };

/** The best form of an output that a page can show: an image, a table, or text. */
export function shownOutput({ stream, error, display, result }: CellOutputJson): ShownOutput {
  if (stream)
    return { kind: "text", text: visibleLines(overwritten(stream.text ?? "")), tone: stream.name === "stderr" ? "warn" : "plain" };
  if (error) {
    const { name = "", message = "", traceback = "" } = error;
    return { kind: "text", text: visibleLines(traceback || `${name}: ${message}`), tone: "bad" };
  }
  const { data = {} } = display ?? result ?? {};
  const plain = visibleLines(data["text/plain"] ?? data["text/markdown"] ?? "");
  const [image] = imagesOf(data);
  if (image) {
    const text = image.isBase64 ? image.text.replaceAll(/\s/g, "") : btoa(String.fromCharCode(...new TextEncoder().encode(image.text)));
    return { kind: "image", source: `data:${image.type};base64,${text}`, words: plain || "An image without words" };
  }
  const table = data["text/html"] === undefined ? undefined : htmlTable(data["text/html"]);
  if (table) return { kind: "table", table };
  return { kind: "text", text: plain || `[${Object.keys(data).map(visibleLines).join(", ")}]`, tone: "plain" };
}

/** The state of a cell in a word, and what it means; undefined for one that was not run. */
export function cellState({ state }: NotebookCellJson): { readonly word: string; readonly tone: Tone } | undefined {
  const word = enumWord(state, "CELL_STATE_");
  switch (word) {
    case "queued":
      return { word: "waits", tone: "dim" };
    case "running":
      return { word: "runs", tone: "busy" };
    case "succeeded":
      return { word: "ran", tone: "good" };
    case "failed":
      return { word: "failed", tone: "bad" };
    case "interrupted":
      return { word: "interrupted", tone: "warn" };
    default:
      return undefined;
  }
}

/** Whether a cell waits or runs. */
export function isOpenCell({ state }: NotebookCellJson): boolean {
  return state === "CELL_STATE_QUEUED" || state === "CELL_STATE_RUNNING";
}

/** The state of a kernel in a word, and what it means. */
export function kernelState(kernel: NotebookKernelJson | undefined): { readonly word: string; readonly tone: Tone } {
  const word = enumWord(kernel?.state, "KERNEL_STATE_");
  if (word === "busy") return { word, tone: "busy" };
  if (word === "idle") return { word, tone: "good" };
  return { word: word === "starting" ? word : "stopped", tone: "dim" };
}

/** Whether there is a kernel that has not ended. */
export function isAlive(kernel: NotebookKernelJson | undefined): boolean {
  return kernel !== undefined && kernel.state !== "KERNEL_STATE_ENDED";
}
