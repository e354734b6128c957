import type { GetBenchmarkResponse } from "../../../gen/svc/v1/benchmark_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { BENCHMARK_FIELDS, figuresText } from "./benchmark-view.ts";

export default defineCommand({
  summary: "Show a benchmark with what it measured",
  description: "Latencies count from the time when a query was due, not from when it could be sent.",
  examples: ["svc benchmark get bench_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: arg("id of the benchmark") },
  run: async ({ api }, { id }) => (await api.benchmarks()).getBenchmark({ id }),
  view: resourceFields(({ benchmark }: GetBenchmarkResponse) => benchmark, BENCHMARK_FIELDS, {
    text: ({ benchmark }, style) => (benchmark ? `\n${figuresText(benchmark, style)}` : ""),
    json: () => ({}),
  }),
});
