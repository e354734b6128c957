import { defineCommand } from "../../cli/command.ts";
import { approvalView } from "./approval-view.ts";
import { approvalArg, deciding, givenApproval, reasonFlag } from "./flags.ts";

export default defineCommand({
  summary: "Approve a change, and make it",
  description:
    "Needs the permission approve, and has to be another person than the one who asked: service tokens act for the person who made them. What was asked for is " +
    "made once; what others changed since is not overwritten, and the command says so. A deployment is built again with the environment's secrets and goes live.",
  examples: [
    "svc approval approve apr_0198c0de",
    { run: 'svc approval approve apr_0198c0de --reason "looked at the diff"', does: "With a reason" },
  ],
  needs: ["session"],
  args: approvalArg,
  flags: reasonFlag,
  async run(context, { id: given, reason = "" }) {
    const approvals = await context.api.approvals();
    const id = await givenApproval(context, given);
    return deciding(context, id, () => approvals.approve({ id, reason }));
  },
  view: approvalView,
});
