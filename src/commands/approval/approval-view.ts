/** Views of requests for approval, which also answer calls that became one. */

import {
  type Approval,
  ApprovalState,
  type ApproveResponse,
  type GetApprovalResponse,
  type RejectResponse,
  type WithdrawResponse,
} from "../../../gen/svc/v1/approval_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { escapeControls } from "../../domain/name.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import { age, timeText } from "../../output/time.ts";
import { choiceView, textView, type View } from "../../output/view.ts";

/** The state in a word; `applying` while an approved change is about to be made. */
function stateText({ state, appliedAt }: Approval): string {
  if (state === ApprovalState.APPROVED && !appliedAt) return "applying";
  return String(formatEnum("svc.v1.ApprovalState", state) ?? "");
}

/** Names have no secret, and are shown by these views alone. */
const names = { cell: ({ names: all }: Approval) => all.join(", "), json: ({ names: all }: Approval) => all };

/** Columns of a list. */
export const APPROVAL_COLUMNS: FieldViews<Approval> = {
  id: "ID",
  kind: "Kind",
  names: { header: "Changes", flexible: true, ...names },
  state: { header: "State", cell: stateText },
  requestedBy: "Requested by",
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
const FIELDS: FieldViews<Approval> = {
  id: "ID",
  environmentName: "Environment",
  kind: "Kind",
  names: { header: "Changes", ...names },
  state: { header: "State", cell: stateText },
  requestedBy: "Requested by",
  createdAt: "Created",
  expiresAt: "Expires",
  decidedBy: "Decided by",
  decidedAt: "Decided",
  reason: "Reason",
  error: "Error",
};

/** The view of a request that was decided; JSON is that of the request alone. */
export const approvalView = resourceFields(
  ({ approval }: ApproveResponse | GetApprovalResponse | RejectResponse | WithdrawResponse) => approval,
  FIELDS,
);

/** The answer of a call, or the request for approval that the call became. */
export type OrRequest<A> = A | GetApprovalResponse;

/** Whether the call of an answer became a request for approval. */
export function isRequest(answer: object): answer is GetApprovalResponse {
  return "$typeName" in answer && answer.$typeName === "svc.v1.GetApprovalResponse";
}

/** The view of an answer, or of the request for approval that the call became. */
export function orRequestView<A extends object>(view: View<A>): View<OrRequest<A>> {
  return choiceView((answer: OrRequest<A>) => (isRequest(answer) ? WAITING : view) as View<never>);
}

/** What is asked for, by whom it can be approved, and how. */
export function waitingText({ approval, approvers }: GetApprovalResponse): string {
  if (!approval) return "";
  const who = approvers.length > 0 ? approvers.map(escapeControls).join(", ") : "nobody yet: another person needs the permission approve";
  return [
    `Nothing was changed yet: environment '${escapeControls(approval.environmentName)}' is protected, and another person approves this.`,
    `Request:  ${approval.id}, until ${timeText(approval.expiresAt)}`,
    `Who can:  ${who}`,
    `How:      svc approval approve ${approval.id}`,
  ].join("\n");
}

const WAITING = textView(waitingText, async ({ approval, approvers }: GetApprovalResponse) => {
  const { messageJson } = await import("../../contract/message-json.ts");
  return { approval: approval ? messageJson(approval, { names: names.json }) : null, approvers };
});
