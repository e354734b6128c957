/**
 * Positions in a text as editors state them: 0-based lines and UTF-16 units, which JavaScript
 * counts too.
 */

import type { Span } from "../../../gen/svc/v1/error_pb.ts";
import type { LspPosition, LspRange } from "../../output/diagnostic.ts";
import type { TextRange } from "../lint/python-expression.ts";

/**
 * Offset of a position; what lies outside of the text is taken to the end of its line, or to that
 * of the text.
 */
export function offsetOf(text: string, { line, character }: LspPosition): number {
  let start = 0;
  for (let at = 0; at < line; at++) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  return Math.min(start + Math.max(0, character), end < 0 ? text.length : end);
}

/** The position of an offset. */
export function positionOf(text: string, offset: number): LspPosition {
  const start = lineStart(text, offset);
  let line = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < start; at = text.indexOf("\n", at + 1)) line++;
  return { line, character: offset - start };
}

/** Offset of the first character of an offset's line. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

/** The range between two offsets. */
export function rangeOf(text: string, from: number, to: number): LspRange {
  return { start: positionOf(text, from), end: positionOf(text, to) };
}

/** The ranges between many offsets of one text. */
export function rangesOf(text: string, ranges: readonly TextRange[]): LspRange[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const position = (offset: number): LspPosition => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle;
    }
    return { line: low, character: offset - (starts[low] as number) };
  };
  return ranges.map(({ from, to }) => ({ start: position(from), end: position(to) }));
}

/** Offsets of a span, whose columns count code points from 1. */
export function offsetsOf(text: string, span: Span): TextRange {
  return { from: offsetOfColumn(text, span.line, span.column), to: offsetOfColumn(text, span.endLine, span.endColumn) };
}

function offsetOfColumn(text: string, line: number, column: number): number {
  let at = offsetOf(text, { line: line - 1, character: 0 });
  for (let left = column - 1; left > 0 && at < text.length && text[at] !== "\n"; left--)
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  return at;
}
