import type { GetMetaQueryResponse } from "../../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { textView } from "../../../output/view.ts";
import { latencyLine, META_FIELDS } from "../run-view.ts";

const FIELDS = resourceFields(({ metaQuery }: GetMetaQueryResponse) => metaQuery, META_FIELDS);

export default defineCommand({
  summary: "Show a meta query",
  description: "How often it ran on this node, and its latencies as far as the log has its runs.",
  examples: ["svc queries meta get mq_5f1c0a9be2d477835a6b"],
  needs: ["session"],
  args: { id: arg("id of the meta query") },
  async run({ api }, { id }) {
    return (await api.queryRuns()).getMetaQuery({ id });
  },
  view: textView(
    (answer: GetMetaQueryResponse, style) =>
      [FIELDS.kind === "text" ? FIELDS.text(answer, style) : "", latencyLine(answer)].join("\n").trimEnd(),
    async (answer) => (await import("../../../contract/message-json.ts")).messageJson(answer),
  ),
});
