/** The spans of a traced query as a tree with milliseconds, and as JSON. */

import { type TraceSpan, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { durationToMs, timestampToMicros } from "../../domain/proto-time.ts";
import type { Style } from "../../output/view.ts";

/** Most lines of a tree. */
const MAX_LINES = 200;
/**
 * Columns of the bars that show when a span began and how long it took, and the terminal width from
 * which they are shown.
 */
const BAR_WIDTH = 20;
const WIDTH_FOR_BARS = 80;
/**
 * Least columns for a shortened text; with less room it is left out. Errors are below the table
 * anyway, and --json has all facts.
 */
const MIN_TEXT_WIDTH = 12;
/** Facts that the span's label already contains, or that are too long for a line. */
const QUIET_FACTS = new Set([
  "op",
  "provider",
  "resolver",
  "path",
  "source",
  "statement",
  "plan",
  "encoding",
  "query_name",
  "correlation_id",
]);

/** Spans as JSON, times in milliseconds from the first. */
export function spansJson(spans: readonly TraceSpan[]): Record<string, unknown>[] {
  const begin = Math.min(...spans.map(startMs));
  return spans.map((span) => ({
    span_id: span.spanId,
    parent_span_id: span.parentSpanId || undefined,
    kind: kindOf(span),
    name: span.name,
    start_ms: rounded(startMs(span) - begin),
    duration_ms: rounded(lengthMs(span)),
    error: span.error || undefined,
    attributes: span.attributes,
  }));
}

interface Line {
  readonly label: string;
  /** The indent of further lines of the same span, below the label. */
  readonly indent: string;
  readonly span: TraceSpan;
}

/**
 * Spans as a tree: the step, its duration, rows in and out, the statements sent to databases; on a
 * terminal also bars that show when. Empty without spans.
 */
export function spanTree(spans: readonly TraceSpan[], style: Style): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const parts = Map.groupBy(spans, ({ parentSpanId }) => (known.has(parentSpanId) ? parentSpanId : ""));
  const lines: Line[] = [];
  const add = (list: readonly TraceSpan[], indent: string): void => {
    for (const [position, span] of list.entries()) {
      const last = position === list.length - 1;
      const below = `${indent}${last ? "   " : "│  "}`;
      lines.push({ label: `${indent}${last ? "└─ " : "├─ "}${labelOf(span)}`, indent: below, span });
      add(parts.get(span.spanId) ?? [], below);
    }
  };
  for (const root of parts.get("") ?? []) {
    lines.push({ label: labelOf(root), indent: "", span: root });
    add(parts.get(root.spanId) ?? [], "");
  }
  const [first] = spans;
  if (!first) return "";
  const shown = lines.slice(0, MAX_LINES);
  const width = Math.max(...shown.map(({ label }) => label.length));
  const times = shown.map(({ span }) => milliseconds(lengthMs(span)));
  const timeWidth = Math.max(...times.map((time) => time.length));
  const begin = Math.min(...spans.map(startMs));
  const whole = Math.max(...spans.map((span) => startMs(span) + lengthMs(span))) - begin;
  const hasBars = style.isTTY && style.width >= WIDTH_FOR_BARS;
  const texts = shown.map(({ label, indent, span }, at) => {
    const bar = hasBars ? `  ${barOf(startMs(span) - begin, lengthMs(span), whole)}` : "";
    const figures = `${label.padEnd(width)}  ${(times[at] ?? "").padStart(timeWidth)}${bar}`;
    const facts = shortened(factsOf(span), style.width - figures.length - 2);
    const text = facts === "" ? figures : `${figures}  ${facts}`;
    const error = shortened(escapeControls(span.error.split("\n", 1)[0] ?? ""), style.width - text.length - 2);
    const line = error === "" ? text : `${text}  ${style.red(error)}`;
    const statement = escapeControls((span.attributes.statement ?? "").replace(/\s+/g, " ").trim());
    return statement === "" ? line : `${line}\n${indent}   ${style.dim(shortened(statement, style.width - indent.length - 3))}`;
  });
  if (lines.length > shown.length) texts.push(style.dim(`... and ${lines.length - shown.length} more spans; --json has them all`));
  return `\n${style.dim(`Trace ${first.traceId}`)}\n${texts.join("\n")}\n`;
}

/** A bar at its position within the whole duration; at least one character long. */
function barOf(fromMs: number, ms: number, wholeMs: number): string {
  const scale = wholeMs > 0 ? BAR_WIDTH / wholeMs : 0;
  const at = Math.min(BAR_WIDTH - 1, Math.floor(fromMs * scale));
  const length = Math.max(1, Math.min(BAR_WIDTH - at, Math.round(ms * scale)));
  return `${" ".repeat(at)}${"━".repeat(length)}`.padEnd(BAR_WIDTH);
}

/** A text shortened to some columns; empty when there is hardly room. */
function shortened(text: string, room: number): string {
  if (text.length <= room) return text;
  return room < MIN_TEXT_WIDTH ? "" : `${text.slice(0, room - 3)}...`;
}

function labelOf(span: TraceSpan): string {
  const name = escapeControls(readableName(span.name));
  switch (span.kind) {
    case TraceSpanKind.OP:
      return `${escapeControls(span.attributes.op ?? "op")} ${name}`;
    case TraceSpanKind.WORKER:
    case TraceSpanKind.SQL:
      return `${kindOf(span)} ${name}`;
    default:
      return name;
  }
}

function factsOf({ attributes }: TraceSpan): string {
  const { rows_in: rowsIn, rows_out: rowsOut, ...rest } = attributes;
  const rows = rowsIn === undefined ? (rowsOut === undefined ? [] : [`rows ${rowsOut}`]) : [`rows ${rowsIn} -> ${rowsOut ?? "?"}`];
  const others = Object.entries(rest)
    .filter(([name]) => !QUIET_FACTS.has(name))
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return escapeControls([...rows, ...others].join(", "));
}

function kindOf({ kind }: TraceSpan): string {
  return (TraceSpanKind[kind] ?? "").toLowerCase();
}

function startMs({ startTime }: TraceSpan): number {
  return startTime ? Number(timestampToMicros(startTime)) / 1000 : 0;
}

function lengthMs({ duration }: TraceSpan): number {
  return duration ? durationToMs(duration) : 0;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`;
}
