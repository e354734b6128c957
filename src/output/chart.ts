/**
 * Charts on a terminal: lines or bars of braille dots, 2 by 4 in a cell, with axes and a legend.
 * Each series has a letter at its right end, so that they are told apart without colours too. A
 * terminal without colours gets ASCII, in which lines are made of their letters.
 */

import { escapeControls } from "../domain/name.ts";
import { compressed } from "./sparkline.ts";
import { displayWidth, truncate } from "./table.ts";
import type { Style } from "./view.ts";

/** A series of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** A value for each time; undefined = none. */
  readonly values: readonly (number | undefined)[];
}

/** A chart. */
export interface Chart {
  /** In the legend's order; there is at least one. */
  readonly series: readonly ChartSeries[];
  /** Epoch milliseconds, in steps of one length. */
  readonly times: readonly number[];
  /** Bars stand on zero and belong to whole periods; only the first series is drawn. */
  readonly shape: "lines" | "bars";
  /** A value with its unit, short. */
  readonly format: (value: number) => string;
}

/** Most series that a chart draws. */
export const MAX_LINES = 8;
const ROWS = 10;
const LEAST_COLUMNS = 10;
const LETTERS = "abcdefgh";
const DAY_MS = 86_400_000;
/** What is drawn as zero. */
const TINY = 1e-200;

/** The chart as lines of text. */
export function chartText({ format, series, shape, times }: Chart, style: Style): string {
  const drawn = series.slice(0, shape === "bars" ? 1 : MAX_LINES);
  const axis = valueAxis(
    drawn.flatMap(({ values }) => values.filter((value) => value !== undefined)),
    shape,
  );
  const labels = new Map(axis.ticks.map((tick) => [rowOf(tick, axis), format(tick)]));
  const labelWidth = Math.max(...[...labels.values()].map(displayWidth));
  const columns = Math.max(LEAST_COLUMNS, (Number.isFinite(style.width) ? style.width : 80) - labelWidth - 5);
  const grid = new DotGrid(columns, ROWS);
  const marks = Array.from({ length: ROWS }, () => "");
  drawn.forEach(({ values }, at) => {
    if (shape === "bars") drawBars(grid, values, axis);
    else drawLine(grid, values, axis, at);
    const last = values.findLast((value) => value !== undefined);
    if (last === undefined || drawn.length === 1) return;
    const row = freeRow(marks, rowOf(last, axis));
    marks[row] = `${marks[row]}${LETTERS[at]}`;
  });
  const [tick, line, corner, dash] = style.hasColor ? ["┤", "│", "└", "─"] : ["+", "|", "+", "-"];
  const rows = Array.from({ length: ROWS }, (_, row) => {
    const label = labels.get(row) ?? "";
    const edge = style.dim(`${" ".repeat(labelWidth - displayWidth(label))}${label} ${label === "" ? line : tick}`);
    const shown = [...(marks[row] ?? "")].map((letter) => coloured(style, LETTERS.indexOf(letter))(letter)).join("");
    return `${edge}${grid.row(row, style, shape)}${shown && ` ${shown}`}`.trimEnd();
  });
  const indent = " ".repeat(labelWidth + 1);
  return [
    ...rows,
    style.dim(`${indent}${corner}${dash?.repeat(columns)}`),
    style.dim(`${indent} ${timeAxis(times, columns)}`),
    ...(drawn.length > 1 ? legend(drawn, format, style) : []),
  ].join("\n");
}

/** The range of values, and those that are labelled. */
interface ValueAxis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

function valueAxis(values: readonly number[], shape: Chart["shape"]): ValueAxis {
  const [least, most] = values.reduce<[number, number]>(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const largest = Math.max(Math.abs(least), Math.abs(most));
  if (values.length === 0 || largest < TINY) return { from: 0, to: 1, ticks: [0, 1] };
  const isLevel = most - least <= largest * 1e-9;
  const standsOnZero = shape === "bars" || isLevel || (least >= 0 && least < most * 0.75);
  const [bottom, top] = standsOnZero ? [Math.min(0, least), Math.max(0, most)] : [least, most];
  const distance = roundDistance((top - bottom) / 4);
  const [first, last] = [Math.floor(bottom / distance), Math.max(Math.ceil(top / distance), Math.floor(bottom / distance) + 1)];
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => (first + at) * distance);
  return { from: first * distance, to: last * distance, ticks };
}

/** The smallest 1, 2 or 5 times a power of ten that is no less. */
function roundDistance(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
}

/** The dot of a value, counted from the top. */
function dotOf(value: number, { from, to }: ValueAxis): number {
  return Math.round(((to - value) / (to - from)) * (ROWS * 4 - 1));
}

function rowOf(value: number, axis: ValueAxis): number {
  return Math.floor(dotOf(value, axis) / 4);
}

/** The row nearest to the wanted one without a mark. */
function freeRow(marks: readonly string[], wanted: number): number {
  const free = marks.flatMap((mark, row) => (mark === "" ? [row] : []));
  return free.reduce((best, row) => (Math.abs(row - wanted) < Math.abs(best - wanted) ? row : best), free[0] ?? wanted);
}

/** Lines between neighbours that have values; one without neighbours is a dot. */
function drawLine(grid: DotGrid, values: readonly (number | undefined)[], axis: ValueAxis, series: number): void {
  const xOf = (at: number): number => (values.length < 2 ? 0 : Math.round((at / (values.length - 1)) * (grid.width - 1)));
  for (const [at, value] of values.entries()) {
    if (value === undefined) continue;
    const [x, y] = [xOf(at), dotOf(value, axis)];
    const before = values[at - 1];
    const [fromX, fromY] = before === undefined ? [x, y] : [xOf(at - 1), dotOf(before, axis)];
    const steps = Math.max(Math.abs(x - fromX), Math.abs(y - fromY), 1);
    for (let step = 0; step <= steps; step++)
      grid.set(Math.round(fromX + ((x - fromX) * step) / steps), Math.round(fromY + ((y - fromY) * step) / steps), series);
  }
}

function drawBars(grid: DotGrid, values: readonly (number | undefined)[], axis: ValueAxis): void {
  const zero = dotOf(0, axis);
  const shown = compressed(values, Math.min(values.length, grid.width));
  for (let x = 0; x < grid.width; x++) {
    const value = shown[Math.floor((x * shown.length) / grid.width)];
    if (!value) continue;
    const end = dotOf(value, axis);
    for (let y = Math.min(zero, end); y <= Math.max(zero, end); y++) grid.set(x, y, 0);
  }
}

/** Beginning, middle and end of the times, in UTC. */
function timeAxis(times: readonly number[], columns: number): string {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const [from, to] = last - first <= DAY_MS ? [11, 16] : last - first <= 14 * DAY_MS ? [5, 16] : [0, 10];
  const label = (time: number): string => new Date(time).toISOString().replace("T", " ").slice(from, to);
  const [start, middle, end] = [label(first), label((first + last) / 2), `${label(last)} UTC`];
  const room = columns - start.length - end.length;
  if (room < 1) return start;
  const left = Math.floor(columns / 2 - middle.length / 2) - start.length;
  if (left < 2 || room - left - middle.length < 2) return start + " ".repeat(room) + end;
  return start + " ".repeat(left) + middle + " ".repeat(room - left - middle.length) + end;
}

const FIGURES = [
  { title: "last", of: (known: readonly number[]) => known.at(-1) },
  { title: "min", of: (known: readonly number[]) => known.reduce((one, other) => Math.min(one, other)) },
  { title: "max", of: (known: readonly number[]) => known.reduce((one, other) => Math.max(one, other)) },
] as const;

/** A line for each series: its letter and name, and as many figures as there is room for. */
function legend(series: readonly ChartSeries[], format: (value: number) => string, style: Style): string[] {
  const width = Number.isFinite(style.width) ? style.width : 80;
  const rows = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== undefined);
    const figures = FIGURES.map(({ of }) => (known.length === 0 ? "" : format(of(known) ?? 0)));
    return { name: escapeControls(name), figures };
  });
  const widest = Math.max(...rows.map(({ name }) => displayWidth(name)));
  const widths = FIGURES.map((_, at) => Math.max(...rows.map(({ figures }) => displayWidth(figures[at] ?? ""))));
  const roomFor = (count: number) =>
    width - 2 - FIGURES.slice(0, count).reduce((sum, { title }, at) => sum + title.length + (widths[at] ?? 0) + 3, 0);
  const count = [3, 1, 0].find((some) => roomFor(some) >= Math.min(widest, LEAST_COLUMNS)) ?? 0;
  const nameWidth = Math.min(widest, roomFor(count));
  return rows.map(({ figures, name }, at) => {
    const shown = truncate(name, nameWidth);
    const parts = FIGURES.slice(0, figures[0] === "" ? 0 : count).map(
      ({ title }, n) => `  ${style.dim(title)} ${(figures[n] ?? "").padStart(widths[n] ?? 0)}`,
    );
    return `${coloured(style, at)(LETTERS[at] ?? "")} ${shown}${" ".repeat(nameWidth - displayWidth(shown))}${parts.join("")}`.trimEnd();
  });
}

function coloured(style: Style, series: number): (text: string) => string {
  return [style.cyan, style.green, style.yellow, style.red][series % 4] ?? style.bold;
}

/** Bits of the braille characters by column and row of their dots. */
const BRAILLE = 0x2800;
const BITS = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

/** Dots, each of the series that set it last. */
class DotGrid {
  readonly #bits: Uint8Array;
  readonly #series: Uint8Array;

  constructor(
    readonly columns: number,
    rows: number,
  ) {
    this.#bits = new Uint8Array(columns * rows);
    this.#series = new Uint8Array(columns * rows);
  }

  /** Dots of a row. */
  get width(): number {
    return this.columns * 2;
  }

  set(x: number, y: number, series: number): void {
    const cell = (y >> 2) * this.columns + (x >> 1);
    this.#bits[cell] = (this.#bits[cell] ?? 0) | (BITS[x & 1]?.[y & 3] ?? 0);
    this.#series[cell] = series;
  }

  /** The text of a row of cells, by runs of one series. */
  row(row: number, style: Style, shape: Chart["shape"]): string {
    let text = "";
    let run = "";
    let of = 0;
    const end = () => {
      text += run.trim() === "" ? run : coloured(style, of)(run);
      run = "";
    };
    for (let column = 0; column < this.columns; column++) {
      const cell = row * this.columns + column;
      const [bits = 0, series = 0] = [this.#bits[cell], this.#series[cell]];
      if (bits !== 0 && series !== of) {
        end();
        of = series;
      }
      run += bits === 0 ? " " : style.hasColor ? String.fromCharCode(BRAILLE + bits) : shape === "bars" ? "#" : (LETTERS[series] ?? "*");
    }
    end();
    return text;
  }
}
