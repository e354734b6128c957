import { defineCommand } from "../../cli/command.ts";
import { approvalView } from "./approval-view.ts";
import { approvalArg, givenApproval, reasonFlag } from "./flags.ts";

export default defineCommand({
  summary: "Take back a change that you asked for",
  description: "Nothing is changed; a deployment that waited for it has failed.",
  examples: ["svc approval withdraw apr_0198c0de"],
  needs: ["session"],
  args: approvalArg,
  flags: reasonFlag,
  run: async (context, { id, reason = "" }) => (await context.api.approvals()).withdraw({ id: await givenApproval(context, id), reason }),
  view: approvalView,
});
