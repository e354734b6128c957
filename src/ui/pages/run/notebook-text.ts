/** What pages show of notebooks, as functions of the data. */

import type { CellOutputJson, NotebookCellJson, NotebookKernelJson } from "../../../../gen/svc/v1/notebook_pb.ts";
import { type HtmlTable, htmlTable, isPlainTable } from "../../../domain/notebook/html-table.ts";
import { imagesOf, overwritten } from "../../../domain/notebook/notebook.ts";
import { visibleLines } from "../../../domain/visible.ts";
import type { Tone } from "../../parts/status.tsx";
import { enumWord } from "./run-state.ts";

/** An output in the form in which a page shows it. */
export type ShownOutput =
  | { readonly kind: "text"; readonly text: string; readonly tone: "plain" | "warn" | "bad" }
  | { readonly kind: "image"; readonly source: string; readonly words: string }
  | { readonly kind: "table"; readonly table: HtmlTable }
  /** HTML that is shown in a frame, and the text that stands for it where that cannot be. */
  | { readonly kind: "html"; readonly text: string; readonly height: number; readonly hasScripts: boolean };

/** The best form of an output that a page can show: an image, a table, HTML in a frame, or text. */
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
  const text = plain || `[${Object.keys(data).map(visibleLines).join(", ")}]`;
  const html = data["text/html"];
  if (html === undefined) return { kind: "text", text, tone: "plain" };
  const table = isPlainTable(html) ? htmlTable(html) : undefined;
  if (table) return { kind: "table", table };
  return { kind: "html", text, height: frameHeight(html), hasScripts: /<script\b/i.test(html) };
}

const LEAST_HEIGHT = 60;
const MOST_HEIGHT = 600;
const ROW_HEIGHT = 28;
const LINE_HEIGHT = 24;
/** Points and inches that figures are sized in, in pixels. */
const UNITS: Readonly<Record<string, number>> = { pt: 4 / 3, in: 96, px: 1, "": 1 };

/**
 * About the height of some HTML in pixels: a page cannot measure what is in a sandbox. That of its
 * figures, rows and lines; whoever wants more of it pulls its edge.
 */
function frameHeight(html: string): number {
  const figures = [...html.matchAll(/<(?:svg|img)\b[^<>]*?\sheight\s*=\s*["']?([\d.]{1,8})(pt|px|in|)["'\s>]/gi)];
  const drawn = figures.reduce((sum, [, size = "", unit = ""]) => sum + Number(size) * (UNITS[unit.toLowerCase()] ?? 1), 0);
  const count = (element: RegExp): number => html.match(element)?.length ?? 0;
  const written = count(/<tr\b/gi) * ROW_HEIGHT + count(/<(?:p|div|li|br|h[1-6]|pre|summary)\b/gi) * LINE_HEIGHT;
  return Math.round(Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, (drawn || 0) + written + 2 * LINE_HEIGHT)));
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
