/** Tables: aligned columns with two spaces between them; on a terminal cut to its width. */

import { escapeControls } from "../domain/name.ts";
import type { Column, Style } from "./view.ts";

const GAP = "  ";
let segmenter: Intl.Segmenter | undefined;

/** What a reader sees as one character each. */
function graphemes(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Columns that a text takes on a terminal. */
export function displayWidth(text: string): number {
  return Bun.stringWidth(text);
}

/** The text, cut to `width` columns with an ellipsis. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return "";
  let kept = "";
  let used = 0;
  for (const { segment } of graphemes(text)) {
    const size = displayWidth(segment);
    if (used + size > width - 1) break;
    kept += segment;
    used += size;
  }
  return `${kept}…`;
}

/**
 * Widths that fit into `available` columns: the widest columns are narrowed first, none below the smaller of its own width and `floor`. Widths that
 * fit stay.
 */
export function fitWidths(natural: readonly number[], available: number, floor = 6): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= floor) break;
    const next = Math.max(floor, ...widths.filter((width) => width < widest));
    const atWidest = widths.filter((width) => width === widest).length;
    const step = Math.max(1, Math.min(widest - next, Math.floor(excess / atWidest)));
    for (let i = 0; i < widths.length && excess > 0; i++) {
      if (widths[i] !== widest) continue;
      widths[i] = widest - step;
      excess -= step;
    }
  }
  return widths;
}

/** Lays rows out under one header; keeps the column widths from one call to the next, so that a stream stays aligned. */
export class TableLayout<Row> {
  private widths: number[] = [];
  private started = false;

  constructor(
    private readonly columns: readonly Column<Row>[],
    private readonly style: Style,
  ) {}

  /** The header (the first time) and the rows, each ended by a newline. */
  rows(rows: readonly Row[]): string {
    const cells = rows.map((row) => this.columns.map((column) => escapeControls(column.cell(row))));
    const headers = this.columns.map((column) => column.header);
    const natural = this.columns.map((column, i) =>
      cells.reduce((widest, line) => Math.max(widest, displayWidth(line[i] as string)), this.widths[i] ?? displayWidth(column.header)),
    );
    this.widths = fitWidths(natural, this.style.width - GAP.length * (this.columns.length - 1));
    const lines: string[] = [];
    if (!this.started) lines.push(this.line(headers, (text) => this.style.dim(text)));
    this.started = true;
    rows.forEach((row, at) => {
      lines.push(this.line(cells[at] as string[], (text, i) => this.columns[i]?.style?.(text, this.style, row) ?? text));
    });
    return lines.map((line) => `${line}\n`).join("");
  }

  private line(cells: readonly string[], mark: (text: string, column: number) => string): string {
    const last = cells.length - 1;
    let line = "";
    cells.forEach((cell, i) => {
      const width = this.widths[i] as number;
      const text = truncate(cell, width);
      const blanks = " ".repeat(Math.max(0, width - displayWidth(text)));
      if (i > 0) line += GAP;
      if (this.columns[i]?.align === "right") line += blanks + mark(text, i);
      else line += mark(text, i) + (i === last ? "" : blanks);
    });
    return this.style.isTTY ? line : line.trimEnd();
  }
}
