/** Fixtures with marked spans: `«token»` in a source is a span that a finding must have exactly. */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { Severity } from "../../gen/svc/v1/error_pb.ts";
import { LineMap } from "../../src/domain/line-map.ts";

/** A source without its marks, and the marked spans. */
export interface Marked {
  readonly text: string;
  readonly marks: readonly { readonly start: number; readonly end: number; readonly token: string }[];
}

/** Splits a source into its text and its marks. */
export function marked(source: string): Marked {
  let text = "";
  const marks: { start: number; end: number; token: string }[] = [];
  const open: number[] = [];
  for (const character of source) {
    if (character === "«") open.push(text.length);
    else if (character === "»") {
      const start = open.pop() as number;
      marks.push({ start, end: text.length, token: text.slice(start) });
    } else text += character;
  }
  return { text, marks };
}

/** A finding as tests compare it. */
export interface Shown {
  readonly rule: string;
  readonly at: string;
  readonly message: string;
  readonly label: string;
}

/** Findings as `E153`, `file:line:column-line:column`, message, label. */
export function shown(diagnostics: readonly Diagnostic[]): Shown[] {
  return diagnostics.map(({ code, severity, span, message, label }) => ({
    rule: `${severity === Severity.WARNING ? "W" : "E"}${code}`,
    at: span ? `${span.file}:${span.line}:${span.column}-${span.endLine}:${span.endColumn}` : "",
    message,
    label,
  }));
}

/** The span of a mark in the form of `shown`. */
export function spanOf(file: string, { text, marks }: Marked, index = 0): string {
  const mark = marks[index];
  if (!mark) throw new Error(`no mark ${index} in ${file}`);
  const { line, column, endLine, endColumn } = new LineMap(file, text).span(mark.start, mark.end);
  return `${file}:${line}:${column}-${endLine}:${endColumn}`;
}
