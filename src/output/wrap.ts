/**
 * The wrapping of running text: as wide as the terminal, within bounds that read well; 80 columns
 * elsewhere.
 */

import type { Style } from "./view.ts";

/** Widest line of a text without a terminal. */
const PLAIN_WIDTH = 80;
const NARROWEST = 40;
const WIDEST = 120;

/** The width of running text for `style`, in columns. */
export function textWidth(style: Pick<Style, "width">): number {
  return Number.isFinite(style.width) ? Math.max(NARROWEST, Math.min(WIDEST, style.width)) : PLAIN_WIDTH;
}

/** A text split at blanks into lines of at most `width` columns. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(/\s+/)) {
      if (line !== "" && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}
