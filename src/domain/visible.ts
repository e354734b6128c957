/** Text of several lines with control characters written visibly, so that it cannot steer a terminal; line breaks and tabs stay. */

import { escapeControls } from "./name.ts";

/** Escapes everything that `escapeControls` does, but for `\n` and `\t`. */
export function visibleLines(text: string): string {
  return text
    .split("\n")
    .map((line) => line.split("\t").map(escapeControls).join("\t"))
    .join("\n");
}
