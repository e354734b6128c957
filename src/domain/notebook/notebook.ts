/** Notebooks: what cells are, what they give, and the bounds of both. */

/** What a cell is. */
export type CellKind = "code" | "markdown";

/** How a cell stands; `queued` and `running` are those that have not ended. */
export type CellState = "idle" | "queued" | "running" | "succeeded" | "failed" | "interrupted";

/** A value in one or several forms, by MIME type; images but SVG are base64. */
export type MimeBundle = Readonly<Record<string, string>>;

/** Something that a cell gave. */
export type CellOutput =
  | { readonly kind: "stream"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "display" | "result"; readonly data: MimeBundle }
  | { readonly kind: "error"; readonly name: string; readonly message: string; readonly traceback: string };

/** Longest title and description, in characters. */
export const MAX_TITLE = 200;
export const MAX_DESCRIPTION = 2_000;
/** Longest source of a cell, in characters. */
export const MAX_SOURCE = 65_536;
/** Most cells of a notebook. */
export const MAX_CELLS = 500;
/** Most characters that a cell, and all cells of a notebook, keep of what they gave. */
export const MAX_CELL_OUTPUT = 4 * 1024 * 1024;
export const MAX_NOTEBOOK_OUTPUT = 16 * 1024 * 1024;
/** Most outputs of a cell; text that goes on where the last one ended is no other output. */
export const MAX_OUTPUTS = 1_000;

/** Whether a cell waits or runs. */
export function isOpen(state: CellState): boolean {
  return state === "queued" || state === "running";
}

/** Characters that an output takes. */
export function outputLength(output: CellOutput): number {
  switch (output.kind) {
    case "stream":
      return output.text.length;
    case "error":
      return output.name.length + output.message.length + output.traceback.length;
    default:
      return Object.entries(output.data).reduce((sum, [type, text]) => sum + type.length + text.length, 0);
  }
}

/** Outputs in which text that goes on where the one before ended is a part of that one. */
export function joinedOutputs(outputs: Iterable<CellOutput>): CellOutput[] {
  const joined: CellOutput[] = [];
  for (const output of outputs) {
    const last = joined.at(-1);
    if (output.kind === "stream" && last?.kind === "stream" && last.stream === output.stream)
      joined[joined.length - 1] = { ...last, text: last.text + output.text };
    else joined.push(output);
  }
  return joined;
}

/**
 * The part of some outputs that is within a bound of characters, and whether anything was left out.
 * Of a text the beginning is kept; anything else is kept whole or not at all.
 */
export function withinLength(outputs: readonly CellOutput[], bound: number): { readonly kept: CellOutput[]; readonly isCut: boolean } {
  const kept: CellOutput[] = [];
  let left = bound;
  for (const output of outputs) {
    const length = outputLength(output);
    if (length <= left) kept.push(output);
    else {
      if (output.kind === "stream" && left > 0) kept.push({ ...output, text: output.text.slice(0, left).toWellFormed() });
      return { kept, isCut: true };
    }
    left -= length;
  }
  return { kept, isCut: false };
}

/**
 * What a terminal shows of printed text: a carriage return goes back to the beginning of the line,
 * and what follows is written over it.
 */
export function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => {
      let shown = "";
      for (const part of line.split("\r")) shown = part + shown.slice(part.length);
      return shown;
    })
    .join("\n");
}

const BASE64_IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** The images of a value by MIME type, the best first, and whether each is base64. */
export function imagesOf(data: MimeBundle): { readonly type: string; readonly text: string; readonly isBase64: boolean }[] {
  return [...BASE64_IMAGES, "image/svg+xml"].flatMap((type) => {
    const text = data[type];
    return text === undefined ? [] : [{ type, text, isBase64: type !== "image/svg+xml" }];
  });
}

/** Width and height of a PNG in base64; undefined when it is none. */
export function pngSize(base64: string): { readonly width: number; readonly height: number } | undefined {
  let head: string;
  try {
    head = atob(base64.replaceAll(/\s/g, "").slice(0, 32));
  } catch {
    return undefined;
  }
  if (!head.startsWith("\x89PNG\r\n\x1a\n") || head.slice(12, 16) !== "IHDR" || head.length < 24) return undefined;
  const at = (index: number): number => [0, 1, 2, 3].reduce((sum, offset) => sum * 256 + head.charCodeAt(index + offset), 0);
  return { width: at(16), height: at(20) };
}
