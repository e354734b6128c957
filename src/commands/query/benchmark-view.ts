/** The report of a load test as text; its JSON is the content of the `--benchmark-output` file. */

import { escapeControls } from "../../domain/name.ts";
import { TableLayout } from "../../output/table.ts";
import { type Style, textView } from "../../output/view.ts";
import { achievedQps, type BenchmarkReport, benchmarkJson, HISTOGRAM_LINES, PERCENTILES, sumOf } from "../../query-client/benchmark.ts";
import type { LoadResult } from "../../query-client/load.ts";

const BAR_WIDTH = 40;

/** The report as a table of percentiles, a histogram and the errors. */
export const benchmarkView = textView<BenchmarkReport>((report, style) => {
  const { plan, result } = report;
  const { latencies } = result;
  const failed = sumOf(result.errors);
  const counted = `${result.answered} of ${result.due} queries answered in ${(result.elapsedMs / 1000).toFixed(1)} s`;
  const lines = [
    `${counted}: ${achievedQps(result)} a second of ${plan.qps} asked for${result.interrupted ? ", stopped early" : ""}`,
    failed > 0 ? style.red(`${failed} failed`) : style.green("none failed"),
  ];
  if (result.unsent > 0) {
    const why = `${result.unsent} were due and not sent by the end, as ${plan.concurrency} others were under way; they count with the time they waited`;
    lines.push(style.yellow(why));
  }
  if (latencies.count > 0) {
    const rows = [
      ["min", latencies.min],
      ["mean", latencies.mean],
      ...PERCENTILES.map((percent) => [`p${percent}`, latencies.percentile(percent)] as const),
      ["max", latencies.max],
    ] as const;
    lines.push("", percentileTable(rows, style), ...histogramLines(result, style));
  }
  if (failed > 0) lines.push("", errorTable(result.errors, style));
  return lines.join("\n");
}, benchmarkJson);

function percentileTable(rows: readonly (readonly [string, number])[], style: Style): string {
  const layout = new TableLayout<readonly [string, number]>(
    [
      { header: "Latency", cell: ([name]) => name },
      { header: "ms", align: "right", cell: ([, micros]) => (micros / 1000).toFixed(2) },
    ],
    style,
  );
  return layout.rows(rows);
}

function errorTable(errors: ReadonlyMap<string, number>, style: Style): string {
  const layout = new TableLayout<readonly [string, number]>(
    [
      { header: "Error", cell: ([code]) => escapeControls(code), style: (text) => style.red(text) },
      { header: "Queries", align: "right", cell: ([, count]) => String(count) },
    ],
    style,
  );
  return layout.rows([...errors].sort(([, left], [, right]) => right - left));
}

function histogramLines({ latencies }: LoadResult, style: Style): string[] {
  const bins = latencies.bins(HISTOGRAM_LINES);
  const most = Math.max(...bins.map(({ count }) => count));
  const ends = bins.map(({ to }) => `${(to / 1000).toFixed(2)} ms`);
  const edge = Math.max(...ends.map((text) => text.length));
  const counts = Math.max(...bins.map(({ count }) => String(count).length));
  const width = Math.max(8, Math.min(BAR_WIDTH, style.width - edge - counts - 8));
  return bins.map(({ count }, at) => {
    const bar = "█".repeat(Math.round((count / most) * width)) || (count > 0 ? "▏" : "");
    return `${`≤ ${ends[at]}`.padStart(edge + 2)}  ${String(count).padStart(counts)}  ${style.cyan(bar)}`.trimEnd();
  });
}
