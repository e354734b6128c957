/**
 * Tables: aligned columns with two spaces between them. On a terminal that is too narrow the
 * flexible columns are shortened; where that is not enough, each row becomes a block with one line
 * per column.
 */

import { escapeControls } from "../domain/name.ts";
import type { Column, Style } from "./view.ts";

const GAP = "  ";
/**
 * The text of an empty cell in output for programs, which count columns by the blanks between them;
 * the last cell of a row may be missing.
 */
const NOTHING = "-";
/** Width, in columns of the terminal, below which a flexible column is not shortened. */
const FLEXIBLE_FLOOR = 16;
/** Least width of the values in a block, in columns of the terminal. */
const VALUE_FLOOR = 10;
let segmenter: Intl.Segmenter | undefined;

/** The graphemes of a text: what a reader sees as single characters. */
function graphemes(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** The width of a text on a terminal, in columns. */
export function displayWidth(text: string): number {
  return Bun.stringWidth(text);
}

/** The text, shortened to `width` columns with an ellipsis. */
export function truncate(text: string, width: number, ellipsis = "…"): string {
  if (displayWidth(text) <= width) return text;
  if (width < ellipsis.length) return "";
  let kept = "";
  let used = 0;
  for (const { segment } of graphemes(text)) {
    const size = displayWidth(segment);
    if (used + size > width - ellipsis.length) break;
    kept += segment;
    used += size;
  }
  return `${kept}${ellipsis}`;
}

/** The text with blanks behind it, up to `width` columns. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/**
 * Column widths that fit into `available`: the widest columns are narrowed first, none below the
 * smaller of its own width and `floor`. Widths that fit stay.
 */
export function fitWidths(natural: readonly number[], available: number, floor = 6): number[] {
  const widths = [...natural];
  let excess = sum(widths) - available;
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

/**
 * The layout of rows under one header. It keeps the layout and column widths between calls, so that
 * a stream stays aligned.
 */
export class TableLayout<Row> {
  private widths: number[] = [];
  private layout: "columns" | "blocks" | undefined;

  private columns: readonly Column<Row>[];

  constructor(
    columns: readonly Column<Row>[],
    private readonly style: Style,
  ) {
    this.columns = columns.map((column) => ({ ...column, header: escapeControls(column.header) }));
  }

  /** The header (the first time) and the rows, each with a newline at the end. */
  rows(rows: readonly Row[]): string {
    const isFirst = this.layout === undefined;
    let cells = this.cells(rows);
    if (isFirst && !this.fits(this.columns, cells)) {
      const kept = this.columns.filter(({ dispensable }) => !dispensable);
      const keptCells = cells.map((line) => line.filter((_, i) => !this.columns[i]?.dispensable));
      if (this.fits(kept, keptCells)) [this.columns, cells] = [kept, keptCells];
      else this.layout = "blocks";
    }
    this.layout ??= "columns";
    return this.layout === "blocks" ? this.blocks(rows, cells, isFirst) : this.lines(rows, cells, isFirst);
  }

  private cells(rows: readonly Row[]): string[][] {
    const last = this.columns.length - 1;
    return rows.map((row) =>
      this.columns.map((column, i) => escapeControls(column.cell(row, this.style)) || (i < last && !this.style.isTTY ? NOTHING : "")),
    );
  }

  /** Whether rows fit as lines, with the flexible columns shortened. */
  private fits(columns: readonly Column<Row>[], cells: readonly string[][]): boolean {
    const least = this.natural(columns, cells).map((width, i) => (columns[i]?.flexible ? Math.min(width, FLEXIBLE_FLOOR) : width));
    return columns.length < 2 || sum(least) <= this.available(columns);
  }

  /** The widths that columns would have if there were room, no less than they have already. */
  private natural(columns: readonly Column<Row>[], cells: readonly string[][]): number[] {
    return columns.map((column, i) =>
      cells.reduce((widest, line) => Math.max(widest, displayWidth(line[i] as string)), this.widths[i] ?? displayWidth(column.header)),
    );
  }

  private available(columns: readonly Column<Row>[]): number {
    return this.style.width - GAP.length * (columns.length - 1);
  }

  private lines(rows: readonly Row[], cells: readonly string[][], isFirst: boolean): string {
    const natural = this.natural(this.columns, cells);
    const isFlexible = (_: number, i: number) => this.columns[i]?.flexible === true;
    const rigid = sum(natural.filter((width, i) => !isFlexible(width, i)));
    const fitted = fitWidths(natural.filter(isFlexible), this.available(this.columns) - rigid);
    this.widths = natural.map((width, i) => (isFlexible(width, i) ? (fitted.shift() as number) : width));
    const lines: string[] = [];
    const headers = this.columns.map((column) => column.header);
    if (isFirst) lines.push(this.line(headers, (text) => this.style.dim(text)));
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

  /**
   * One line per column, with long values wrapped below their beginning, and a blank line between
   * two rows. Empty cells are left out.
   */
  private blocks(rows: readonly Row[], cells: readonly string[][], isFirst: boolean): string {
    const labelWidth = Math.max(...this.columns.map(({ header }) => displayWidth(header)));
    const indent = labelWidth + GAP.length;
    const valueWidth = Math.max(VALUE_FLOOR, this.style.width - indent);
    const blocks = rows.map((row, at) =>
      this.columns.flatMap((column, i) => {
        const cell = cells[at]?.[i] ?? "";
        if (cell === "") return [];
        const label = column.header + " ".repeat(indent - displayWidth(column.header));
        return Bun.wrapAnsi(cell, valueWidth, { hard: true, trim: false })
          .split("\n")
          .map((line) => line.trimEnd())
          .map((line, n) => (n === 0 ? this.style.dim(label) : " ".repeat(indent)) + (column.style?.(line, this.style, row) ?? line));
      }),
    );
    const text = blocks.map((lines) => lines.map((line) => `${line}\n`).join("")).join("\n");
    return isFirst || text === "" ? text : `\n${text}`;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
