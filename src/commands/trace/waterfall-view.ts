/** The spans of a trace as a tree with milliseconds and bars, and as JSON. */

import { type TraceSpan, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { durationToMs, timestampToMicros } from "../../domain/proto-time.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import type { Style } from "../../output/view.ts";

/** Most lines of a tree. */
const MAX_LINES = 200;
/**
 * Columns of the bars that show when a span began and how long it took, and the terminal width from
 * which they and the begin are shown.
 */
const BAR_WIDTH = 20;
const WIDTH_FOR_BARS = 80;
/** Width from which services are shown. */
const WIDTH_FOR_SERVICES = 100;
/**
 * Least columns for a shortened text; with less room it is left out. Errors are below the table
 * anyway, and --json has all facts.
 */
const MIN_TEXT_WIDTH = 12;
/** What a tree and its bars are drawn with. */
interface TreeSigns {
  readonly child: string;
  readonly last: string;
  readonly below: string;
  readonly bar: string;
}
const BOXES: TreeSigns = { child: "├─ ", last: "└─ ", below: "│  ", bar: "━" };
const ASCII: TreeSigns = { child: "|- ", last: "+- ", below: "|  ", bar: "=" };
/** Facts that the span's label already contains, or that are too long for a line. */
const QUIET_FACTS: ReadonlySet<string> = new Set([
  ATTRIBUTE.step,
  ATTRIBUTE.resolver,
  ATTRIBUTE.function,
  ATTRIBUTE.path,
  ATTRIBUTE.source,
  ATTRIBUTE.dbStatement,
  ATTRIBUTE.dbSystem,
  ATTRIBUTE.queryHash,
  ATTRIBUTE.encoding,
  ATTRIBUTE.queryName,
  ATTRIBUTE.correlationId,
]);

/** Spans as JSON, times in milliseconds from the first. */
export function spansJson(spans: readonly TraceSpan[]): Record<string, unknown>[] {
  const begin = Math.min(...spans.map(startMs));
  return spans.map((span) => ({
    span_id: span.spanId,
    parent_span_id: span.parentSpanId || undefined,
    kind: kindOf(span),
    name: span.name,
    service: span.serviceName || undefined,
    start_ms: rounded(startMs(span) - begin),
    duration_ms: rounded(lengthMs(span)),
    error: span.error || undefined,
    attributes: span.attributes,
  }));
}

/** A span in the tree. */
export interface TreeRow {
  readonly span: TraceSpan;
  /** Name with the lines of the tree before it. */
  readonly label: string;
  /** The lines of the tree below the label. */
  readonly indent: string;
  /** When it began after the first span, such as `+1.25 ms`. */
  readonly start: string;
  readonly duration: string;
  readonly facts: string;
  /** What was sent to a database, in one line; empty = nothing. */
  readonly statement: string;
}

/** Spans in the order of their tree, each below the one that it is a part of. */
export function spanRows(spans: readonly TraceSpan[], signs: TreeSigns = BOXES): TreeRow[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const parts = Map.groupBy(spans, ({ parentSpanId }) => (known.has(parentSpanId) ? parentSpanId : ""));
  const begin = Math.min(...spans.map(startMs));
  const rows: TreeRow[] = [];
  const add = (span: TraceSpan, label: string, indent: string): void => {
    rows.push({
      span,
      label,
      indent,
      start: `+${milliseconds(startMs(span) - begin)}`,
      duration: milliseconds(lengthMs(span)),
      facts: factsOf(span),
      statement: escapeControls((span.attributes[ATTRIBUTE.dbStatement] ?? "").replace(/\s+/g, " ").trim()),
    });
    const below = parts.get(span.spanId) ?? [];
    for (const [position, part] of below.entries()) {
      const isLast = position === below.length - 1;
      add(part, `${indent}${isLast ? signs.last : signs.child}${labelOf(part)}`, `${indent}${isLast ? "   " : signs.below}`);
    }
  };
  for (const root of parts.get("") ?? []) add(root, labelOf(root), "");
  return rows;
}

/**
 * Spans as a tree: the step, its service where there are several, when it began after the first
 * one, its duration, rows in and out, the statements sent to databases; on a terminal also bars
 * that show when. A terminal without colours gets ASCII. Empty without spans.
 */
export function waterfall(spans: readonly TraceSpan[], style: Style): string {
  const [first] = spans;
  if (!first) return "";
  const signs = style.isTTY && !style.hasColor ? ASCII : BOXES;
  const rows = spanRows(spans, signs);
  const shown = rows.slice(0, MAX_LINES);
  const widthOf = (text: (row: TreeRow) => string): number => Math.max(...shown.map((row) => text(row).length));
  const [labels, starts, durations] = [widthOf(({ label }) => label), widthOf(({ start }) => start), widthOf(({ duration }) => duration)];
  const hasServices = style.width >= WIDTH_FOR_SERVICES && new Set(spans.map(({ serviceName }) => serviceName)).size > 1;
  const services = hasServices ? widthOf(({ span }) => span.serviceName) + 2 : 0;
  const begin = Math.min(...spans.map(startMs));
  const whole = Math.max(...spans.map((span) => startMs(span) + lengthMs(span))) - begin;
  const hasStarts = style.width >= WIDTH_FOR_BARS;
  const hasBars = style.isTTY && style.width >= WIDTH_FOR_BARS;
  const texts = shown.map(({ label, indent, span, start, duration, facts: all, statement }) => {
    const bar = hasBars ? `  ${barOf(startMs(span) - begin, lengthMs(span), whole, signs.bar)}` : "";
    const service = hasServices ? `  ${escapeControls(span.serviceName)}`.padEnd(services) : "";
    const began = hasStarts ? `  ${start.padStart(starts)}` : "";
    const figures = `${label.padEnd(labels)}${service}${began}  ${duration.padStart(durations)}${bar}`;
    const facts = shortened(all, style.width - figures.length - 2);
    const text = facts === "" ? figures : `${figures}  ${facts}`;
    const error = shortened(escapeControls(span.error.split("\n", 1)[0] ?? ""), style.width - text.length - 2);
    const line = error === "" ? text : `${text}  ${style.red(error)}`;
    return statement === "" ? line : `${line}\n${indent}   ${style.dim(shortened(statement, style.width - indent.length - 3))}`;
  });
  if (rows.length > shown.length) texts.push(style.dim(`... and ${rows.length - shown.length} more spans; --json has them all`));
  return `\n${style.dim(`Trace ${first.traceId}`)}\n${texts.join("\n")}\n`;
}

/** A bar at its position within the whole duration; at least one character long. */
function barOf(fromMs: number, ms: number, wholeMs: number, sign: string): string {
  const scale = wholeMs > 0 ? BAR_WIDTH / wholeMs : 0;
  const at = Math.min(BAR_WIDTH - 1, Math.floor(fromMs * scale));
  const length = Math.max(1, Math.min(BAR_WIDTH - at, Math.round(ms * scale)));
  return `${" ".repeat(at)}${sign.repeat(length)}`.padEnd(BAR_WIDTH);
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
      return `${escapeControls(span.attributes[ATTRIBUTE.step] ?? "op")} ${name}`;
    case TraceSpanKind.WORKER:
    case TraceSpanKind.SQL:
      return `${kindOf(span)} ${name}`;
    default:
      return name;
  }
}

function factsOf({ attributes }: TraceSpan): string {
  const { [ATTRIBUTE.rowsIn]: rowsIn, [ATTRIBUTE.rowsOut]: computed, [ATTRIBUTE.dbRows]: returned, ...rest } = attributes;
  const rowsOut = computed ?? returned;
  const rows = rowsIn === undefined ? (rowsOut === undefined ? [] : [`rows ${rowsOut}`]) : [`rows ${rowsIn} -> ${rowsOut ?? "?"}`];
  const others = Object.entries(rest)
    .filter(([name]) => !QUIET_FACTS.has(name))
    .map(([name, value]) => `${name.replace(/^svc\./, "").replaceAll(/[._]/g, " ")} ${value}`);
  return escapeControls([...rows, ...others].join(", "));
}

function kindOf({ kind }: TraceSpan): string {
  return String(formatEnum("svc.v1.TraceSpanKind", kind) ?? "");
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
