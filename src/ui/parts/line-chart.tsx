import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { escapeControls } from "../../domain/name.ts";
import { theme } from "../app/theme.ts";
import { figureText } from "./figure-text.ts";
import { localText } from "./time-text.ts";
import { type Column, WindowTable } from "./window-table.tsx";

/** One line: its values at the chart's times; null = none, which leaves a gap. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** A single value at a time, beside the lines. */
export interface Dot {
  /** In milliseconds. */
  readonly time: number;
  readonly value: number;
  /** Index of the line that it belongs to. */
  readonly line: number;
}

/** What a chart shows. */
export interface LineChartParts {
  readonly label: string;
  /** In milliseconds, rising. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Text of a value; default: three digits that count. */
  readonly figure?: (value: number) => string;
  readonly height?: number;
  /** Charts with the same name show the cursor at the same time. */
  readonly group?: string;
  /** Called with the range that was drawn with the mouse, in milliseconds. */
  readonly onRange?: (from: number, to: number) => void;
  readonly dots?: readonly Dot[];
  /**
   * Called with the index of the dot that was clicked. The page names what dots lead to as links
   * too, because only a mouse reaches them.
   */
  readonly onDot?: (index: number) => void;
}

const MOST_COLOURS = 5;

/** Values over time: lines to zoom and compare, their legend, and the same numbers as a table. */
export function LineChart(parts: LineChartParts) {
  const { label, times, series, figure = figureText } = parts;
  const place = useRef<HTMLDivElement>(null);
  const at = useSignal<number | undefined>(undefined);
  const isTable = useSignal(false);
  useEffect(() => {
    let destroy: (() => void) | undefined;
    let isWanted = true;
    void import("./line-drawing.ts").then(({ drawLines }) => {
      if (isWanted && place.current) destroy = drawLines(place.current, parts, (index) => (at.value = index));
    });
    return () => {
      isWanted = false;
      destroy?.();
    };
  }, [times, series, parts.dots, theme.value]);
  const last = times.findLastIndex((_, time) => series.some(({ values }) => values[time] != null));
  const index = at.value ?? (last < 0 ? times.length - 1 : last);
  return (
    <figure class="chart">
      <div
        ref={place}
        role="img"
        aria-label={`${label}: ${series.length} lines, the numbers are in the table below`}
        style={{ minHeight: `${parts.height ?? 200}px` }}
      />
      <figcaption>
        <ul class="legend">
          {series.map(({ name, values }, line) => (
            <li key={name}>
              <svg width="22" height="8" aria-hidden="true" class={`c${(line % MOST_COLOURS) + 1}`}>
                <line
                  x1="0"
                  x2="22"
                  y1="4"
                  y2="4"
                  stroke="currentColor"
                  stroke-width="2"
                  stroke-dasharray={DASHES[line % DASHES.length]?.join(" ")}
                />
              </svg>
              {escapeControls(name)} <span class="figure dim">{values[index] == null ? "-" : figure(values[index])}</span>
            </li>
          ))}
        </ul>
        <span class="dim figure">{times[index] === undefined ? "" : localText(times[index])}</span>
        <button type="button" class="quiet" aria-expanded={isTable.value} onClick={() => (isTable.value = !isTable.value)}>
          As a table
        </button>
      </figcaption>
      {isTable.value && <Numbers {...parts} figure={figure} />}
    </figure>
  );
}

/** Dashes of lines, so that none is told by its colour alone. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4]];

function Numbers({ label, times, series, figure = figureText }: LineChartParts) {
  const columns: readonly Column<number>[] = [
    { name: "time", title: "Time", width: "12rem", cell: (row) => localText(times[row] ?? 0) },
    ...series.map(({ name, values }) => ({
      name,
      title: escapeControls(name),
      isNumber: true,
      cell: (row: number) => (values[row] == null ? "-" : figure(values[row])),
    })),
  ];
  return <WindowTable label={`${label} as a table`} columns={columns} rows={times.map((_, row) => row)} keyOf={String} />;
}
