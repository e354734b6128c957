/** The lines of a definition in its file, found from the place of its name. */

import type { Span } from "../../gen/svc/v1/error_pb.ts";

/** Most lines of a definition that are shown, and most characters. */
export const MOST_LINES = 200;
export const MOST_CHARACTERS = 16_384;

/** A definition's lines. */
export interface DefinitionText {
  /** Number of the first line, 1-based. */
  readonly line: number;
  readonly text: string;
  /** Whether it goes on. */
  readonly truncated: boolean;
}

/** What a definition is: a field of a class, a function with its decorators, or a whole file. */
export type DefinitionForm = "field" | "function" | "file";

/**
 * The definition whose name has the span, with the comments directly above it; undefined when the
 * file has no such line. Bounded: of a longer one the first lines.
 */
export function definitionText(file: string, span: Pick<Span, "line" | "endLine">, form: DefinitionForm): DefinitionText | undefined {
  const lines = file.split(/\r\n|\r|\n/);
  if (lines.at(-1) === "") lines.pop();
  const named = span.line - 1;
  if (named < 0 || named >= lines.length) return undefined;
  const first = form === "file" ? 0 : firstLine(lines, named);
  const last = form === "file" ? lines.length - 1 : Math.max(lastLine(lines, named, form), Math.min(span.endLine - 1, lines.length - 1));
  return bounded(lines, first, last);
}

/** Up over decorators and comments, which stand as deep as the name's line. */
function firstLine(lines: readonly string[], named: number): number {
  const depth = depthOf(lines[named] as string);
  let first = named;
  for (let at = named - 1; at >= 0 && named - at <= MOST_LINES; at--) {
    const line = lines[at] as string;
    if (line.trim() === "") break;
    if (depthOf(line) === depth && /^\s*[@#]/.test(line)) first = at;
    // The lines of a decorator that has several are deeper, or close its bracket.
    else if (depthOf(line) < depth || (depthOf(line) === depth && !/^\s*[)\]}]/.test(line))) break;
  }
  return first;
}

/** Down to the end of the brackets that are open, and of a function's body. */
function lastLine(lines: readonly string[], named: number, form: DefinitionForm): number {
  const depth = depthOf(lines[named] as string);
  let end = statementEnd(lines, named);
  if (form === "field") return end;
  for (let at = end + 1; at < lines.length; at++) {
    const line = lines[at] as string;
    if (line.trim() === "") continue;
    if (depthOf(line) <= depth) break;
    end = at;
  }
  return end;
}

/** The line in which the brackets are closed that a line opens. */
function statementEnd(lines: readonly string[], from: number): number {
  let open = 0;
  let quote = "";
  for (let at = from; at < lines.length && at - from <= MOST_LINES; at++) {
    const line = lines[at] as string;
    for (let index = 0; index < line.length; index++) {
      const sign = line[index] as string;
      if (quote !== "") {
        if (sign === "\\") index++;
        else if (line.startsWith(quote, index)) {
          index += quote.length - 1;
          quote = "";
        }
      } else if (sign === "#") break;
      else if (sign === '"' || sign === "'") {
        quote = line.startsWith(sign.repeat(3), index) ? sign.repeat(3) : sign;
        index += quote.length - 1;
      } else if ("([{".includes(sign)) open++;
      else if (")]}".includes(sign)) open--;
    }
    if (quote.length === 1) quote = "";
    if (open <= 0 && quote === "" && !line.endsWith("\\")) return at;
  }
  return from;
}

/** Width of the white space that a line begins with. */
function depthOf(line: string): number {
  return line.length - line.trimStart().length;
}

function bounded(lines: readonly string[], first: number, last: number): DefinitionText {
  const shown: string[] = [];
  let characters = 0;
  for (let at = first; at <= last; at++) {
    const line = lines[at] as string;
    characters += line.length + 1;
    if (shown.length >= MOST_LINES || characters > MOST_CHARACTERS) return { line: first + 1, text: shown.join("\n"), truncated: true };
    shown.push(line);
  }
  return { line: first + 1, text: shown.join("\n"), truncated: false };
}
