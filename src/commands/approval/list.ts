import { ApprovalState, type ListApprovalsResponse } from "../../../gen/svc/v1/approval_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, int, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { APPROVAL_COLUMNS } from "./approval-view.ts";

const MOST = 500;

export default defineCommand({
  summary: "List requests for approval, newest first",
  description: "Those of the active environment: what would change, who asked, and what became of it.",
  examples: ["svc approval list", { run: "svc approval list --pending --json", does: "What waits for a decision" }],
  needs: ["session"],
  flags: {
    pending: bool("only those that wait for a decision"),
    limit: int("rows at most, 1 to 500", { default: 50, aliases: ["--page-size"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ limit }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
  },
  async run({ api, flags, progress }, { limit, pageToken = "", pending }) {
    const states = pending ? [ApprovalState.PENDING] : [];
    const answer = await (await api.approvals()).listApprovals({ states, pageSize: limit, pageToken });
    if (answer.nextPageToken !== "" && !flags.json) progress.note(`More: --page-token ${answer.nextPageToken}`);
    return answer;
  },
  view: messageTable<ListApprovalsResponse>("approvals", APPROVAL_COLUMNS, { things: "requests for approval" }),
});
