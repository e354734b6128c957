import { type BenchmarkDifference, BenchmarkVerdict, type CompareBenchmarksResponse } from "../../../gen/svc/v1/benchmark_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { changeText, medianText, VERDICT_TEXT } from "../../domain/load/difference-text.ts";
import { tableView } from "../../output/view.ts";

export default defineCommand({
  summary: "Compare two benchmarks, with a verdict that knows noise",
  description:
    "The medians of what windows of each run gave are compared, by percentile. A difference counts when the 99 % interval of a moving-block bootstrap of their " +
    "ratio leaves out 1, and when it is more than the first and the last third of either run differ by. A run needs ten windows: of a second each, or of as many as have " +
    "queries enough for the percentile, which is 10 s for p99 at 10 queries a second.",
  examples: ["svc benchmark compare bench_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e bench_0198c0de9a7b3c8d4f5e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { base: arg("id of the benchmark to compare with"), other: arg("id of the other one") },
  async run({ api, flags, progress }, { base, other }) {
    const answer = await (await api.benchmarks()).compareBenchmarks({ baseId: base, otherId: other });
    if (!flags.json) {
      for (const caveat of answer.caveats) progress.warn(caveat);
      progress.note(answer.method);
    }
    return answer;
  },
  view: tableView<CompareBenchmarksResponse, BenchmarkDifference>({
    things: "percentiles in both",
    rows: ({ differences }) => differences,
    columns: [
      { header: "Latency", cell: ({ percent }) => `p${percent}` },
      { header: "Base ms", align: "right", cell: ({ baseMs }) => medianText(baseMs) },
      { header: "Other ms", align: "right", cell: ({ otherMs }) => medianText(otherMs) },
      { header: "Change", align: "right", cell: ({ baseMs, change, otherMs }) => (baseMs > 0 && otherMs > 0 ? changeText(change) : "") },
      { header: "Interval", cell: intervalText, dispensable: true },
      { header: "Verdict", cell: verdictText, flexible: true },
    ],
    json: async (answer) => (await import("../../contract/message-json.ts")).messageJson(answer),
  }),
});

function intervalText({ changeLow, changeHigh, verdict }: BenchmarkDifference): string {
  return verdict === BenchmarkVerdict.TOO_SHORT ? "" : `${changeText(changeLow)} to ${changeText(changeHigh)}`;
}

function verdictText({ verdict }: BenchmarkDifference): string {
  switch (verdict) {
    case BenchmarkVerdict.FASTER:
      return VERDICT_TEXT.faster;
    case BenchmarkVerdict.SLOWER:
      return VERDICT_TEXT.slower;
    case BenchmarkVerdict.TOO_SHORT:
      return VERDICT_TEXT.too_short;
    default:
      return VERDICT_TEXT.within_noise;
  }
}
