import type { GetQueryPlanResponse } from "../../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { factLines } from "../../../output/facts.ts";
import { timeText } from "../../../output/time.ts";
import { textView } from "../../../output/view.ts";

export default defineCommand({
  summary: "Show a query plan",
  description: "As svc query --explain gives it, without the figures of a run: what answers queries of one shape. Runs name their plan.",
  examples: ["svc queries plan get 5f1c0a9be2d47783"],
  needs: ["session"],
  args: { id: arg("id of the plan") },
  async run({ api }, { id }) {
    return (await api.queryRuns()).getQueryPlan({ id });
  },
  view: textView(
    ({ queryPlan }: GetQueryPlanResponse) => {
      if (!queryPlan) return "";
      const { id, deploymentId, firstSeenAt, rootNamespace, outputs, explain } = queryPlan;
      const facts = factLines([
        ["ID", id],
        ["Namespace", escapeControls(readableName(rootNamespace))],
        ["Outputs", escapeControls(outputs.map(readableName).join(", "))],
        ["Deployment", deploymentId],
        ["First seen", timeText(firstSeenAt)],
      ]);
      return `${facts}\n\n${explain === "" ? "The plan was too large to be kept." : visibleLines(explain)}`;
    },
    async ({ queryPlan }) => queryPlan && (await import("../../../contract/message-json.ts")).messageJson(queryPlan),
  ),
});
