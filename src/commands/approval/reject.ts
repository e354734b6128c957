import { defineCommand } from "../../cli/command.ts";
import { approvalView } from "./approval-view.ts";
import { approvalArg, deciding, givenApproval, reasonFlag } from "./flags.ts";

export default defineCommand({
  summary: "Reject a change",
  description: "Nothing is changed; a deployment that waited for it has failed. Whoever asked uses `svc approval withdraw`.",
  examples: ['svc approval reject apr_0198c0de --reason "not on a Friday"'],
  needs: ["session"],
  args: approvalArg,
  flags: reasonFlag,
  async run(context, { id: given, reason = "" }) {
    const approvals = await context.api.approvals();
    const id = await givenApproval(context, given);
    return deciding(context, id, () => approvals.reject({ id, reason }));
  },
  view: approvalView,
});
