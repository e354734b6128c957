import type { ListEvaluationRunsResponse } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { text } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../../page-flags.ts";
import { stateFlag } from "../eval-flags.ts";
import { RUN_COLUMNS, RUN_STATES } from "../eval-view.ts";

export default defineCommand({
  summary: "List runs of evaluations, newest first",
  description: "Those that ended are kept for a year.",
  examples: [
    "svc eval runs list",
    { run: "svc eval runs list --evaluation answers --state failed", does: "The failed ones of one evaluation" },
  ],
  needs: ["session"],
  flags: {
    evaluation: text("only those of an evaluation, by its id or name", { placeholder: "<evaluation>" }),
    ...stateFlag,
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { evaluation = "", state, limit, pageToken = "" }) {
    const answer = await (await context.api.evaluations()).listEvaluationRuns({
      ...{ evaluation, states: state === undefined ? [] : [RUN_STATES[state]], pageSize: limit, pageToken },
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListEvaluationRunsResponse>("runs", RUN_COLUMNS),
});
