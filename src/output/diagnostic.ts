/**
 * Findings of lint as people read them, and as editors do (the language server protocol's
 * diagnostics). Source text is handed in; nothing is read.
 *
 *     Error[153]: output feature 'nmae' does not exist in class User; the closest is 'name'
 *      --> get_user.svc.sql:3:12
 *       |
 *     2 | -- source: pg
 *     3 | select id, nmae from users
 *       |            ^^^^ no such feature
 */

import type { Diagnostic, Severity, Span } from "../../gen/svc/v1/error_pb.ts";
import { escapeControls } from "../domain/name.ts";
import type { Style } from "./view.ts";

/**
 * Text of a file of the project, by its path relative to the root; undefined when it is not
 * available.
 */
export type SourceText = (file: string) => string | undefined;

const WARNING = 2 satisfies Severity.WARNING;
const PLAIN: Pick<Style, "bold" | "dim" | "red" | "yellow" | "cyan"> = {
  bold: (text) => text,
  dim: (text) => text,
  red: (text) => text,
  yellow: (text) => text,
  cyan: (text) => text,
};
/** Widest line of an excerpt; a longer one is cut around the marker. */
const WIDEST = 160;
const TAB = "    ";

/** One finding as text, without a newline at the end. */
export function formatDiagnostic(diagnostic: Diagnostic, source: SourceText, style: typeof PLAIN = PLAIN): string {
  const isWarning = diagnostic.severity === WARNING;
  const colour = isWarning ? style.yellow : style.red;
  const [first = "", ...more] = diagnostic.message.split("\n");
  const head = `${colour(`${isWarning ? "Warning" : "Error"}[${diagnostic.code}]`)}${style.bold(`: ${visible(first)}`)}`;
  const lines = [head, ...more.map((line) => `  ${visible(line.trimEnd())}`)];
  if (diagnostic.span) lines.push(...location(diagnostic.span, diagnostic.label, source, style, colour));
  for (const { span, message } of diagnostic.related) {
    lines.push(`  ${style.cyan("note")}: ${visible(message)}`);
    if (span) lines.push(...location(span, "", source, style, style.cyan));
  }
  if (diagnostic.hint) lines.push(`  ${style.cyan("hint")}: ${visible(diagnostic.hint)}`);
  return lines.join("\n");
}

/**
 * All findings, separated by blank lines, and the line with their count; "No problems found." when
 * there are none.
 */
export function formatDiagnostics(diagnostics: readonly Diagnostic[], source: SourceText, style: typeof PLAIN = PLAIN): string {
  const texts = splitSources(source);
  return [...diagnostics.map((diagnostic) => `${formatDiagnostic(diagnostic, texts, style)}\n`), countLine(diagnostics)].join("\n");
}

/** The count of findings: "2 errors, 1 warning found." or "No problems found." */
export function countLine(diagnostics: readonly Diagnostic[]): string {
  const warnings = diagnostics.filter((diagnostic) => diagnostic.severity === WARNING).length;
  const errors = diagnostics.length - warnings;
  const parts = [count(errors, "error"), count(warnings, "warning")].filter((part) => part !== "");
  return parts.length > 0 ? `${parts.join(", ")} found.` : "No problems found.";
}

function count(number: number, noun: string): string {
  return number === 0 ? "" : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A source that keeps each file's text, so that a file with many findings is read once. */
function splitSources(source: SourceText): SourceText {
  const kept = new Map<string, string | undefined>();
  return (file) => {
    if (!kept.has(file)) kept.set(file, source(file));
    return kept.get(file);
  };
}

function location(span: Span, label: string, source: SourceText, style: typeof PLAIN, mark: (text: string) => string): string[] {
  const text = source(span.file);
  const lines = text === undefined ? [] : linesAround(text, span.line);
  const gutter = String(span.line).length;
  const where = `${visible(span.file)}:${span.line}:${span.column}`;
  const out = [`${" ".repeat(gutter)}${style.cyan("-->")} ${where}`];
  if (lines.length === 0) {
    if (label) out.push(`${" ".repeat(gutter)} ${style.cyan("=")} ${visible(label)}`);
    return out;
  }
  const bar = (number: string): string => style.dim(`${number.padStart(gutter)} |`);
  out.push(bar(""));
  for (const line of lines) {
    const isMarked = line.number === span.line;
    const cut = isMarked
      ? cutAround(line.text, span)
      : { text: [...line.text.slice(0, WIDEST * 4)].slice(0, WIDEST).join(""), from: 0, to: 0, lead: "" };
    out.push(`${bar(String(line.number))} ${expand(cut.lead + cut.text)}`.trimEnd());
    if (!isMarked) continue;
    const before = Bun.stringWidth(expand(cut.lead + cut.text.slice(0, cut.from)));
    const width = Math.max(1, Bun.stringWidth(expand(cut.text.slice(cut.from, cut.to))));
    out.push(`${bar("")} ${" ".repeat(before)}${mark("^".repeat(width) + (label ? ` ${visible(label)}` : ""))}`);
  }
  return out;
}

/** The marked line and up to two lines before it, with their numbers. */
function linesAround(text: string, line: number): { number: number; text: string }[] {
  let start = 0;
  for (let number = 1; number < line; number++) {
    const newline = text.indexOf("\n", start);
    if (newline < 0) return [];
    start = newline + 1;
  }
  const found: { number: number; text: string }[] = [];
  for (let number = line, from = start; number >= 1 && number > line - 3; number--) {
    const end = text.indexOf("\n", from);
    found.unshift({ number, text: text.slice(from, end < 0 ? text.length : end).replace(/\r$/, "") });
    if (from === 0) break;
    from = text.lastIndexOf("\n", from - 2) + 1;
  }
  while (found.length > 1 && found[0]?.text.trim() === "") found.shift();
  return found;
}

/**
 * The marked part of a line with as much as fits around it; `from` and `to` are the marker's ends
 * in UTF-16 units of `text`.
 */
function cutAround(line: string, span: Span): { text: string; from: number; to: number; lead: string } {
  const from = unitsOf(line, span.column - 1);
  const endColumn = span.endLine > span.line ? Number.POSITIVE_INFINITY : span.endColumn;
  const to = Math.max(from, Number.isFinite(endColumn) ? from + unitsOf(line.slice(from), endColumn - span.column) : line.trimEnd().length);
  if (line.length <= WIDEST) return { text: line, from, to, lead: "" };
  const start = wholeCharacter(line, Math.max(0, from - WIDEST / 2));
  const end = wholeCharacter(line, Math.min(line.length, start + WIDEST));
  const lead = start > 0 ? "…" : "";
  const tail = end < line.length ? "…" : "";
  return { text: line.slice(start, end) + tail, from: from - start, to: Math.min(to, end) - start, lead };
}

/** The number of UTF-16 units in the first `points` code points of a text. */
function unitsOf(text: string, points: number): number {
  let units = 0;
  for (let left = points; left > 0 && units < text.length; left--) units += (text.codePointAt(units) as number) > 0xffff ? 2 : 1;
  return units;
}

/** The offset, or the one before it when it is inside a surrogate pair. */
function wholeCharacter(text: string, offset: number): number {
  const unit = text.charCodeAt(offset);
  return unit >= 0xdc00 && unit <= 0xdfff ? offset - 1 : offset;
}

function expand(text: string): string {
  return visible(text.replaceAll("\t", TAB));
}

function visible(text: string): string {
  return escapeControls(text);
}

/** A position of the language server protocol: 0-based, in UTF-16 units. */
export interface LspPosition {
  readonly line: number;
  readonly character: number;
}

/** A range of the language server protocol; the end is exclusive. */
export interface LspRange {
  readonly start: LspPosition;
  readonly end: LspPosition;
}

/** A diagnostic of the language server protocol, with the file it belongs to. */
export interface LspDiagnostic {
  readonly uri: string;
  readonly range: LspRange;
  /** 1 = error, 2 = warning. */
  readonly severity: 1 | 2;
  readonly message: string;
  readonly code: number;
  readonly source: "svc";
  readonly relatedInformation: readonly {
    readonly location: { readonly uri: string; readonly range: LspRange };
    readonly message: string;
  }[];
}

/**
 * A finding as a diagnostic for editors.
 * @param root absolute path of the project root; a finding without a span belongs to the project
 */
export function lspDiagnostic(diagnostic: Diagnostic, source: SourceText, root: string): LspDiagnostic {
  const message = [diagnostic.message, diagnostic.hint].filter((part) => part !== "").join("\n");
  return {
    ...located(diagnostic.span, source, root),
    severity: diagnostic.severity === WARNING ? 2 : 1,
    message,
    code: diagnostic.code,
    source: "svc",
    relatedInformation: diagnostic.related.map((related) => ({ location: located(related.span, source, root), message: related.message })),
  };
}

function located(span: Span | undefined, source: SourceText, root: string): { uri: string; range: LspRange } {
  const zero = { line: 0, character: 0 };
  if (!span) return { uri: Bun.pathToFileURL(root).href, range: { start: zero, end: zero } };
  const uri = Bun.pathToFileURL(`${root.replace(/[/\\]$/, "")}/${span.file}`).href;
  const text = source(span.file);
  const start = { line: span.line - 1, character: unitColumn(text, span.line, span.column) };
  return { uri, range: { start, end: { line: span.endLine - 1, character: unitColumn(text, span.endLine, span.endColumn) } } };
}

function unitColumn(text: string | undefined, line: number, column: number): number {
  if (text === undefined) return column - 1;
  const found = linesAround(text, line).at(-1);
  return found ? unitsOf(found.text, column - 1) : column - 1;
}
