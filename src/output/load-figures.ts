/** The figures of load tests as text: latencies, their histogram, and errors. */

import { escapeControls } from "../domain/name.ts";
import { TableLayout } from "./table.ts";
import type { Style } from "./view.ts";

/** The values up to an end, in milliseconds. */
export interface HistogramBin {
  readonly toMs: number;
  readonly count: number;
}

/** Most ranges of a histogram. */
export const HISTOGRAM_LINES = 16;
const BAR_WIDTH = 40;
const LEAST_BAR = 8;

/** A line for each range: where it ends, how many values it has, and a bar. */
export function histogramLines(bins: readonly HistogramBin[], style: Style): string[] {
  const most = Math.max(1, ...bins.map(({ count }) => count));
  const ends = bins.map(({ toMs }) => `${toMs.toFixed(2)} ms`);
  const edge = Math.max(...ends.map((text) => text.length));
  const counts = Math.max(...bins.map(({ count }) => String(count).length));
  const width = Math.max(LEAST_BAR, Math.min(BAR_WIDTH, style.width - edge - counts - 8));
  return bins.map(({ count }, at) => {
    const bar = "█".repeat(Math.round((count / most) * width)) || (count > 0 ? "▏" : "");
    return `${`≤ ${ends[at]}`.padStart(edge + 2)}  ${String(count).padStart(counts)}  ${style.cyan(bar)}`.trimEnd();
  });
}

/** Latencies with their names, as `p99`, below each other. */
export function latencyTable(rows: readonly (readonly [name: string, ms: number])[], style: Style): string {
  const layout = new TableLayout<readonly [string, number]>(
    [
      { header: "Latency", cell: ([name]) => name },
      { header: "ms", align: "right", cell: ([, ms]) => ms.toFixed(2) },
    ],
    style,
  );
  return layout.rows(rows);
}

/** Errors of queries with their numbers, the most frequent first. */
export function errorTable(errors: Iterable<readonly [code: string, count: number]>, style: Style): string {
  const layout = new TableLayout<readonly [string, number]>(
    [
      { header: "Error", cell: ([code]) => escapeControls(code), style: (text) => style.red(text) },
      { header: "Queries", align: "right", cell: ([, count]) => String(count) },
    ],
    style,
  );
  return layout.rows([...errors].sort(([, left], [, right]) => right - left));
}
