/** A part of a line, marked below. */

import { escapeControls } from "../domain/name.ts";
import { displayWidth } from "./table.ts";

/** Most characters that are shown before the part, and from its beginning on. */
const AROUND = 50;

/**
 * The line around a part of it, and carets below the part.
 * @param from beginning of the part in UTF-16 units
 * @param to its end; the same as the beginning = one caret there
 */
export function caretText(line: string, from: number, to: number): string {
  const before = [...line.slice(0, from)];
  const rest = [...line.slice(from)];
  const part = [...line.slice(from, to)].slice(0, AROUND);
  const lead = before.length > AROUND ? `…${before.slice(-AROUND).join("")}` : before.join("");
  const shown = rest.slice(0, AROUND).join("") + (rest.length > AROUND ? "…" : "");
  const width = Math.max(1, displayWidth(escapeControls(part.join(""))));
  return `${escapeControls(lead + shown)}\n${" ".repeat(displayWidth(escapeControls(lead)))}${"^".repeat(width)}`;
}
