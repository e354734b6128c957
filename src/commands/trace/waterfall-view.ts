/** The spans of a trace as a tree with milliseconds and bars, and as JSON. */

import { type TraceSpan, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { durationToMs, timestampToMicros } from "../../domain/proto-time.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import { displayWidth, padded, truncate } from "../../output/table.ts";
import type { Style } from "../../output/view.ts";

/** Most lines of a tree. */
const MAX_LINES = 200;
const GAP = "  ";
/**
 * Columns of the bars that show when a span began and how long it took, and the terminal width from
 * which they and the begin are shown.
 */
const BAR_WIDTH = 20;
const WIDTH_FOR_BARS = 80;
/** Width from which services are shown. */
const WIDTH_FOR_SERVICES = 100;
/** Least columns of the names of spans, and of facts: with less room these are left to --json. */
const MIN_TEXT_WIDTH = 12;
/** What a tree and its bars are drawn with. */
interface TreeSigns {
  readonly child: string;
  readonly last: string;
  readonly below: string;
  readonly bar: string;
  readonly ellipsis: string;
}
const BOXES: TreeSigns = { child: "├─ ", last: "└─ ", below: "│  ", bar: "━", ellipsis: "…" };
const ASCII: TreeSigns = { child: "|- ", last: "+- ", below: "|  ", bar: "=", ellipsis: "..." };
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
 * one, its duration, rows in and out, below it the statement that was sent to a database and the
 * error; on a terminal also bars that show when. No line is wider than the terminal, and one
 * without colours gets ASCII. Empty without spans.
 */
export function waterfall(spans: readonly TraceSpan[], style: Style): string {
  const [first] = spans;
  if (!first) return "";
  const signs = style.isTTY && !style.hasColor ? ASCII : BOXES;
  const rows = spanRows(spans, signs);
  const shown = rows.slice(0, MAX_LINES);
  const widthOf = (text: (row: TreeRow) => string): number => Math.max(...shown.map((row) => displayWidth(text(row))));
  const [starts, durations] = [widthOf(({ start }) => start), widthOf(({ duration }) => duration)];
  const hasServices = style.width >= WIDTH_FOR_SERVICES && new Set(spans.map(({ serviceName }) => serviceName)).size > 1;
  const services = hasServices ? widthOf(serviceOf) : 0;
  const begin = Math.min(...spans.map(startMs));
  const whole = Math.max(...spans.map((span) => startMs(span) + lengthMs(span))) - begin;
  const hasStarts = style.width >= WIDTH_FOR_BARS;
  const hasBars = style.isTTY && hasStarts;
  const taken = [durations, ...(hasServices ? [services] : []), ...(hasStarts ? [starts] : []), ...(hasBars ? [BAR_WIDTH] : [])];
  const room = style.width - taken.reduce((sum, width) => sum + width + GAP.length, 0);
  const labels = Math.min(
    widthOf(({ label }) => label),
    Math.max(MIN_TEXT_WIDTH, room),
  );
  const texts = shown.map((row) => {
    const { label, indent, span, start, duration, statement } = row;
    const figures = [
      padded(truncate(label, labels, signs.ellipsis), labels),
      ...(hasServices ? [padded(serviceOf(row), services)] : []),
      ...(hasStarts ? [start.padStart(starts)] : []),
      duration.padStart(durations),
      ...(hasBars ? [barOf(startMs(span) - begin, lengthMs(span), whole, signs.bar)] : []),
    ].join(GAP);
    const left = style.width - displayWidth(figures) - GAP.length;
    const facts =
      row.facts !== "" && left >= Math.min(displayWidth(row.facts), MIN_TEXT_WIDTH) ? truncate(row.facts, left, signs.ellipsis) : "";
    const line = facts === "" ? figures : `${figures}${GAP}${facts}`;
    const error = escapeControls(span.error.split("\n", 1)[0] ?? "");
    const isBeside = error !== "" && displayWidth(line) + GAP.length + displayWidth(error) <= style.width;
    const below = (text: string): string => truncate(`${indent}   ${text}`, style.width, signs.ellipsis).slice(indent.length);
    return [
      isBeside ? `${line}${GAP}${style.red(error)}` : line,
      ...(statement === "" ? [] : [`${indent}${style.dim(below(statement))}`]),
      ...(error === "" || isBeside ? [] : [`${indent}${style.red(below(error))}`]),
    ].join("\n");
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

function serviceOf({ span }: TreeRow): string {
  return escapeControls(span.serviceName);
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
