import { ApprovalState } from "../../../gen/svc/v1/approval_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { approvalView } from "./approval-view.ts";
import { approvalArg, givenApproval, whoCan } from "./flags.ts";

export default defineCommand({
  summary: "Show a request for approval",
  description: "Says on stderr who can approve it, while it waits.",
  examples: ["svc approval get apr_0198c0de", { run: "svc approval get apr_0198c0de --json", does: "With ids and times" }],
  needs: ["session"],
  args: approvalArg,
  async run(context, { id }) {
    const answer = await (await context.api.approvals()).getApproval({ id: await givenApproval(context, id) });
    if (answer.approval?.state === ApprovalState.PENDING) context.progress.note(whoCan(answer.approvers));
    return answer;
  },
  view: approvalView,
});
