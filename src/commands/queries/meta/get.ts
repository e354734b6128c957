import type { GetMetaQueryResponse } from "../../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { answerFields } from "../../../output/message-view.ts";
import { latencyFacts, META_FIELDS } from "../run-view.ts";

export default defineCommand({
  summary: "Show a meta query",
  description: "How often it ran on this node, and its latencies as far as the log has its runs.",
  examples: ["svc queries meta get mq_5f1c0a9be2d477835a6b"],
  needs: ["session"],
  args: { id: arg("id of the meta query") },
  async run({ api }, { id }) {
    return (await api.queryRuns()).getMetaQuery({ id });
  },
  view: answerFields(({ metaQuery }: GetMetaQueryResponse) => metaQuery, META_FIELDS, latencyFacts),
});
