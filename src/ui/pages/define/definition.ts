/** Definitions in source text. */

/** Most lines of a definition that are shown. */
const MOST_LINES = 200;

/** A part of a text. */
export interface Definition {
  /** Number of its first line, from 1. */
  readonly firstLine: number;
  readonly text: string;
}

/**
 * The lines of the definition that a line names: with the decorators and comments above it, up to
 * the next line that is indented no further; of an argument, the call that it is of. Without such a
 * form, in SQL for example, it is the whole text.
 */
export function definitionAt(text: string, line: number): Definition {
  const lines = text.split("\n");
  const named = lines[line - 1] ?? "";
  const indent = indentOf(named);
  if (/^\s+\w+ *=.*,\s*$/.test(named)) {
    const opener = lines.findLastIndex((one, at) => at < line - 1 && one.trim() !== "" && indentOf(one) < indent);
    if (lines[opener]?.trimEnd().endsWith("(")) return definitionAt(text, opener + 1);
  }
  if (!/^\s*(async\s+def|def|class)\s|^\s+\w+\s*[:=]|^[\w.]+(\s*=.*)?\($/.test(named))
    return { firstLine: 1, text: lines.slice(0, MOST_LINES).join("\n") };
  let first = line - 1;
  while (first > 0 && isAbove(lines[first - 1] ?? "", indent)) first--;
  let end = line;
  while (end < lines.length && end - first < MOST_LINES && isWithin(lines[end] ?? "", indent)) end++;
  while (end > line && (lines[end - 1] ?? "").trim() === "") end--;
  return { firstLine: first + 1, text: lines.slice(first, end).join("\n") };
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether a line belongs to the definition below it. */
function isAbove(line: string, indent: number): boolean {
  return line.trim() !== "" && indentOf(line) === indent && /^\s*[@#)]/.test(line);
}

/** Whether a line belongs to the definition above it: further in, empty, or a closing bracket. */
function isWithin(line: string, indent: number): boolean {
  return line.trim() === "" || indentOf(line) > indent || (indentOf(line) === indent && /^\s*[)\]}]/.test(line));
}
