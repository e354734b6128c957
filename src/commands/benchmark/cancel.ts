import type { CancelBenchmarkResponse } from "../../../gen/svc/v1/benchmark_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { benchmarkState } from "./benchmark-view.ts";

export default defineCommand({
  summary: "End a benchmark that waits or runs",
  description: "It has no results then.",
  examples: ["svc benchmark cancel bench_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: arg("id of the benchmark") },
  run: async ({ api }, { id }) => (await api.benchmarks()).cancelBenchmark({ id }),
  view: resourceFields(({ benchmark }: CancelBenchmarkResponse) => benchmark, {
    id: "ID",
    state: { header: "Status", cell: benchmarkState },
  }),
});
