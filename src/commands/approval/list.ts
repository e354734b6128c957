import { ApprovalState, type ListApprovalsResponse } from "../../../gen/svc/v1/approval_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { APPROVAL_COLUMNS } from "./approval-view.ts";

export default defineCommand({
  summary: "List requests for approval, newest first",
  description: "Those of the active environment: what would change, who asked, and what became of it.",
  examples: ["svc approval list", { run: "svc approval list --pending --json", does: "What waits for a decision" }],
  needs: ["session"],
  flags: {
    pending: bool("only those that wait for a decision"),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { limit, pageToken = "", pending }) {
    const states = pending ? [ApprovalState.PENDING] : [];
    const answer = await (await context.api.approvals()).listApprovals({ states, pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListApprovalsResponse>("approvals", APPROVAL_COLUMNS, { things: "requests for approval" }),
});
