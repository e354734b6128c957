/**
 * Text with control characters written visibly, so that it cannot steer a terminal; line breaks and
 * tabs stay.
 */

import { escapeControls } from "./name.ts";

/** The text with everything escaped that `escapeControls` escapes, but for `\n` and `\t`. */
export function visibleLines(text: string): string {
  return text
    .split("\n")
    .map((line) => line.split("\t").map(escapeControls).join("\t"))
    .join("\n");
}

/** JSON with C1 controls and direction marks, which it lets through, as `\u` escapes. */
export function escapeUnseen(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
