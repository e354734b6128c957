/** The report of a load test as text; its JSON is the content of the `--benchmark-output` file. */

import { errorTable, HISTOGRAM_LINES, histogramLines, latencyTable } from "../../output/load-figures.ts";
import { textView } from "../../output/view.ts";
import { achievedQps, type BenchmarkReport, benchmarkJson, PERCENTILES, sumOf } from "../../query-client/benchmark.ts";

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
    const bins = latencies.bins(HISTOGRAM_LINES).map(({ to, count }) => ({ toMs: to / 1000, count }));
    lines.push(
      "",
      latencyTable(
        rows.map(([name, micros]) => [name, micros / 1000]),
        style,
      ),
      ...histogramLines(bins, style),
    );
  }
  if (failed > 0) lines.push("", errorTable(result.errors, style));
  return lines.join("\n");
}, benchmarkJson);
