import type { CancelEvaluationRunResponse } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { optionalArg } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { pickedRun } from "../eval-flags.ts";
import { runState } from "../eval-view.ts";

export default defineCommand({
  summary: "Cancel a run of an evaluation",
  description: "A run that is going on is killed with everything that it started; it leaves no result.",
  examples: ["svc eval runs cancel evr_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: optionalArg("id of the run; left out: pick one on a terminal") },
  run: async (context, { id }) => (await context.api.evaluations()).cancelEvaluationRun({ id: await pickedRun(context, id) }),
  view: resourceFields(({ run }: CancelEvaluationRunResponse) => run, {
    id: "ID",
    evaluationName: "Evaluation",
    state: { header: "Status", cell: runState },
    url: "Page",
  }),
});
