/** Lines of a log as rows of one height: a line of several is several rows. */

import { visibleLines } from "../../domain/visible.ts";
import type { Tone } from "./status.tsx";

/** A line of a log. */
export interface ShownLine {
  /** Tells it apart from the others. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: string;
  readonly tone: Tone;
  /** What said it: a resolver, a logger, a part of the platform. */
  readonly source: string;
  readonly text: string;
}

/** A row. */
export interface LogRow {
  readonly key: string;
  /** The line that it begins; absent = it goes on with the one above. */
  readonly line?: ShownLine;
  /** Text with control characters, also those that colour a terminal, written visibly. */
  readonly text: string;
}

/** The rows of lines, in their order. */
export function logRows(lines: readonly ShownLine[]): readonly LogRow[] {
  return lines.flatMap((line) =>
    visibleLines(line.text.replace(/\r?\n$/, ""))
      .split("\n")
      .map((text, at) => (at === 0 ? { key: line.key, line, text } : { key: `${line.key} ${at}`, text })),
  );
}
