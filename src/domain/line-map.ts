/**
 * Offsets of a text as lines and columns. Offsets count UTF-16 units, as JavaScript does; lines and
 * columns are 1-based and columns count Unicode code points, as `svc.v1.Span` says.
 */

import { create } from "@bufbuild/protobuf";
import { type Span, SpanSchema } from "../../gen/svc/v1/error_pb.ts";

/** A line and a column of a text, 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * The lines of one file. Building it is linear in the text; each look-up is logarithmic, however
 * long a line is.
 */
export class LineMap {
  readonly #starts: number[] = [0];
  /** Offsets of the second halves of surrogate pairs, ascending. */
  readonly #halves: number[] = [];

  constructor(
    readonly file: string,
    readonly text: string,
  ) {
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
    const pairs = /[\ud800-\udbff][\udc00-\udfff]/g;
    for (let pair = pairs.exec(text); pair; pair = pairs.exec(text)) this.#halves.push(pair.index + 1);
  }

  /** The position of an offset; offsets outside of the text are taken to its ends. */
  position(offset: number): Position {
    const at = Math.min(Math.max(offset, 0), this.text.length);
    const line = countUpTo(this.#starts, at);
    const start = this.#starts[line - 1] as number;
    return { line, column: at - start + 1 - (countUpTo(this.#halves, at) - countUpTo(this.#halves, start)) };
  }

  /** The span between two offsets. */
  span(start: number, end: number): Span {
    const from = this.position(start);
    const to = this.position(Math.max(start, end));
    return create(SpanSchema, { file: this.file, line: from.line, column: from.column, endLine: to.line, endColumn: to.column });
  }

  /** Offset of a line's first character; lines outside of the text are taken to its ends. */
  lineStart(line: number): number {
    return this.#starts[Math.min(Math.max(line, 1), this.#starts.length) - 1] as number;
  }
}

/** The number of the ascending `values` that are at most `limit`. */
function countUpTo(values: readonly number[], limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
