/** Log lines and counts for people. */

import type { AggregateLogsResponse, LogLine } from "../../../gen/svc/v1/log_pb.ts";
import { attributesText } from "../../domain/log-attributes.ts";
import { escapeControls } from "../../domain/name.ts";
import { durationToMs, timestampToMicros, timestampToMs } from "../../domain/proto-time.ts";
import { formatMicros, formatTimestamp } from "../../domain/timestamp.ts";
import { visibleLines } from "../../domain/visible.ts";
import { TableLayout } from "../../output/table.ts";
import type { Column, Style } from "../../output/view.ts";

/** The mark of a level. */
export function levelMark(level: string, style: Pick<Style, "red" | "yellow" | "cyan" | "dim">): (text: string) => string {
  if (level === "error" || level === "fatal") return style.red;
  if (level === "warning") return style.yellow;
  return level === "info" ? style.cyan : style.dim;
}

/** A line: time, level, component, and what it says, whose further lines are indented. */
export function lineText({ time, level, component, message, resolver, attributes }: LogLine, style: Style): string {
  const at = time ? formatMicros(timestampToMicros(time)).replace(/\d{3}Z$/, "Z") : "";
  const said = visibleLines(message.trimEnd()).replaceAll("\n", "\n    ");
  const from = resolver === "" ? "" : `${style.dim(`${escapeControls(resolver)}:`)} `;
  const facts = escapeControls(attributesText(attributes));
  const more = facts === "" ? "" : ` ${style.dim(facts)}`;
  return `${style.dim(at)} ${levelMark(level, style)(level.toUpperCase().padEnd(7))} ${escapeControls(component)} ${from}${said}${more}`;
}

/** Columns of counts: header, levels, and the part of a bar, with colours and without. */
const GROUPS = [
  { header: "Errors", levels: ["fatal", "error"], bar: "█", ascii: "#", mark: (style: Style) => style.red },
  { header: "Warnings", levels: ["warning"], bar: "▓", ascii: "=", mark: (style: Style) => style.yellow },
  { header: "Info", levels: ["info"], bar: "▒", ascii: "-", mark: (style: Style) => style.cyan },
  { header: "Debug", levels: ["debug", "trace"], bar: "░", ascii: ".", mark: (style: Style) => style.dim },
] as const;
/** Windows without lines that are drawn, so that a gap is seen as one. */
const MOST_BARS = 200;

interface Window {
  /** Epoch milliseconds. */
  readonly start: number;
  /** By group. */
  readonly counts: readonly number[];
  readonly total: number;
}

/** Counts: bars on a terminal, a table for programs. */
export function countsText(answer: AggregateLogsResponse, style: Style): string {
  const windows = windowsOf(answer);
  return style.isTTY ? bars(windows, style) : table(windows, style);
}

function windowsOf({ counts, window, startTime, endTime }: AggregateLogsResponse): Window[] {
  const windowMs = window ? durationToMs(window) : 1;
  const found = new Map<number, number[]>();
  for (const { startTime: at, level, count } of counts) {
    const start = at ? timestampToMs(at) : 0;
    const group = GROUPS.findIndex(({ levels }) => (levels as readonly string[]).includes(level));
    const row = found.get(start) ?? GROUPS.map(() => 0);
    row[group] = (row[group] ?? 0) + Number(count);
    found.set(start, row);
  }
  const first = Math.floor((startTime ? timestampToMs(startTime) : 0) / windowMs) * windowMs;
  const end = endTime ? timestampToMs(endTime) : 0;
  const all = (end - first) / windowMs <= MOST_BARS;
  const starts = all ? Array.from({ length: Math.ceil((end - first) / windowMs) }, (_, nth) => first + nth * windowMs) : [...found.keys()];
  return starts.map((start) => {
    const row = found.get(start) ?? GROUPS.map(() => 0);
    return { start, counts: row, total: row.reduce((sum, count) => sum + count, 0) };
  });
}

function table(windows: readonly Window[], style: Style): string {
  const count = (header: string, cell: (window: Window) => number): Column<Window> => ({
    header,
    align: "right",
    cell: (window) => String(cell(window)),
  });
  const columns: Column<Window>[] = [
    { header: "Time", cell: ({ start }) => formatTimestamp(start) },
    ...GROUPS.map(({ header }, nth) => count(header, ({ counts }) => counts[nth] ?? 0)),
    count("Total", ({ total }) => total),
  ];
  return new TableLayout(columns, style).rows(windows);
}

function bars(windows: readonly Window[], style: Style): string {
  const most = Math.max(1, ...windows.map(({ total }) => total));
  const digits = String(most).length;
  const room = Math.max(10, style.width - 22 - digits - 1);
  const glyphs = GROUPS.map(({ ascii, bar, mark }) => ({ glyph: style.hasColor ? bar : ascii, paint: mark(style) }));
  const rows = windows.map(({ start, counts, total }) => {
    const lengths = partsOf(counts, most, room);
    const bar = glyphs.map(({ glyph, paint }, nth) => (lengths[nth] ? paint(glyph.repeat(lengths[nth])) : ""));
    return `${style.dim(formatTimestamp(start).padEnd(20))}  ${String(total).padStart(digits)} ${bar.join("")}`.trimEnd();
  });
  const legend = glyphs.map(({ glyph, paint }, nth) => `${paint(glyph)} ${GROUPS[nth]?.header.toLowerCase()}`).join("  ");
  return [...rows, legend].join("\n");
}

/** Columns of the parts of a bar: at least one of what there is, which the largest part gives. */
function partsOf(counts: readonly number[], most: number, room: number): number[] {
  const lengths = counts.map((count) => (count === 0 ? 0 : Math.max(1, Math.floor((count / most) * room))));
  const excess = lengths.reduce((sum, length) => sum + length, 0) - room;
  if (excess <= 0) return lengths;
  const largest = lengths.indexOf(Math.max(...lengths));
  return lengths.map((length, nth) => (nth === largest ? length - excess : length));
}
