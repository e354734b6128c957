/** Source text in coloured pieces, by the grammar of its language. A chunk of its own. */

import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser } from "@lezer/python";

/** A piece of a line, with the classes that colour it; empty = plain. */
export interface Piece {
  readonly text: string;
  readonly classes: string;
}

/** The lines of a Python text in pieces. */
export function pythonLines(text: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const put = (piece: string, classes: string) => {
    if (piece !== "") lines.at(-1)?.push({ text: piece, classes });
  };
  highlightCode(text, parser.parse(text), classHighlighter, put, () => lines.push([]));
  return lines;
}
