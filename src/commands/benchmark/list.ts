import type { ListBenchmarksResponse } from "../../../gen/svc/v1/benchmark_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { BENCHMARK_COLUMNS } from "./benchmark-view.ts";

export default defineCommand({
  summary: "List benchmarks, newest first",
  description: "The server keeps the newest 200 of an environment.",
  examples: ["svc benchmark list"],
  needs: ["session"],
  flags: pageFlags,
  check: checkPage,
  async run(context, { limit, pageToken = "" }) {
    const answer = await (await context.api.benchmarks()).listBenchmarks({ pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListBenchmarksResponse>("benchmarks", BENCHMARK_COLUMNS),
});
