import type { GetEvaluationRunResponse } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { optionalArg } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { pickedRun } from "../eval-flags.ts";
import { RUN_FIELDS } from "../eval-view.ts";

export default defineCommand({
  summary: "Show a run of an evaluation",
  description: "How it stands and what it scored. Its rows are those of its result: `svc dataset download <result>`.",
  examples: ["svc eval runs get evr_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: optionalArg("id of the run; left out: pick one on a terminal") },
  run: async (context, { id }) => (await context.api.evaluations()).getEvaluationRun({ id: await pickedRun(context, id) }),
  view: resourceFields(({ run }: GetEvaluationRunResponse) => run, RUN_FIELDS),
});
