/** A record of the interactive view with all that is known of it. */

import { escapeControls } from "../domain/name.ts";
import { visibleLines } from "../domain/visible.ts";
import { displayWidth, padded } from "../output/table.ts";
import type { ViewedRecord } from "./viewer.ts";

const GAP = "  ";
/** Most columns of the names of fields. */
const NAMES = 24;

/** The rows of a record: what it says, and its fields, with long values below their beginning. */
export function openedRows({ fields, text }: ViewedRecord, width: number): string[] {
  const longest = Math.max(0, ...fields.map(([name]) => displayWidth(escapeControls(name))));
  const names = Math.min(NAMES, longest, Math.floor(width / 2) - GAP.length);
  const indent = " ".repeat(names + GAP.length);
  const facts = fields.flatMap(([name, value]) => {
    const label = escapeControls(name);
    const lines = wrapped(escapeControls(value), width - indent.length);
    if (displayWidth(label) > names) return [...wrapped(label, width), ...lines.map((line) => indent + line)];
    return lines.map((line, at) => (at === 0 ? padded(label, indent.length) : indent) + line);
  });
  return [...wrapped(visibleLines(text), width), "", ...facts];
}

function wrapped(text: string, width: number): string[] {
  return Bun.wrapAnsi(text.replaceAll("\t", "    "), width, { hard: true, trim: false }).split("\n");
}
