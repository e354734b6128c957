import type { GetWorkflowGraphResponse } from "../../../gen/svc/v1/workflow_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { textView } from "../../output/view.ts";
import { pickWorkflow } from "./workflow-flags.ts";
import { graphTree } from "./workflow-view.ts";

export default defineCommand({
  summary: "Show the operation-level DAG of a workflow",
  description: "A tree: below each operation stand those that wait for it. With --json nodes and edges.",
  examples: [
    "svc workflows get-graph wf_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc workflows get-graph wf_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "Nodes and edges" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the workflow; left out: pick one on a terminal") },
  async run(context, { id }) {
    return (await context.api.workflows()).getWorkflowGraph({ id: await pickWorkflow(context, id) });
  },
  view: textView(
    ({ nodes, edges }: GetWorkflowGraphResponse) => graphTree(nodes, edges),
    async (answer) => (await import("../../contract/message-json.ts")).messageJson(answer),
  ),
});
