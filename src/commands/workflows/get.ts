import type { GetWorkflowResponse } from "../../../gen/svc/v1/workflow_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { pickWorkflow } from "./workflow-flags.ts";
import { WORKFLOW_FIELDS } from "./workflow-view.ts";

export default defineCommand({
  summary: "Show one workflow execution",
  description: "What it is about, why it runs, and how it stands. `svc workflows get-graph` shows its operations.",
  examples: [
    "svc workflows get wf_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc workflows get wf_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "With exact times" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the workflow; left out: pick one on a terminal") },
  async run(context, { id }) {
    return (await context.api.workflows()).getWorkflow({ id: await pickWorkflow(context, id) });
  },
  view: resourceFields(({ workflow }: GetWorkflowResponse) => workflow, WORKFLOW_FIELDS),
});
