/** Requests for approval: naming one, and reading the one that a call became. */

import { ApprovalState, type GetApprovalResponse } from "../../../gen/svc/v1/approval_pb.ts";
import { optionalArg, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError } from "../../errors/cli-error.ts";
import { givenOrPicked } from "../pick-flags.ts";
import type { OrRequest } from "./approval-view.ts";

/** `id`: the request. */
export const approvalArg = { id: optionalArg("id of the request; left out: pick one on a terminal") };

/** `--reason`. */
export const reasonFlag = { reason: text("why, for the record", { placeholder: "<text>" }) };

/** The id that was given, or that the user picks among the pending requests. */
export function givenApproval(context: Pick<Context, "api" | "prompt">, id: string | undefined): Promise<string> {
  return givenOrPicked(context, id, {
    question: "Which request?",
    flag: "<id>",
    async list() {
      const { approvals } = await (await context.api.approvals()).listApprovals({ states: [ApprovalState.PENDING] });
      return approvals.map((one) => ({ id: one.id, name: `${one.kind} ${one.names.join(", ")}, asked by ${one.requestedBy}` }));
    },
  });
}

/** Decides a request; who is refused for lack of a permission is told who has it. */
export async function deciding<A>({ api, progress }: Pick<Context, "api" | "progress">, id: string, decide: () => Promise<A>): Promise<A> {
  try {
    return await decide();
  } catch (error) {
    // That the person who asked cannot decide says who can by itself, and names the request.
    if (error instanceof CliError && error.code === "unauthorized" && !error.hint?.includes(id)) {
      const found = await (await api.approvals()).getApproval({ id }).catch(() => undefined);
      if (found) progress.note(whoCan(found.approvers));
    }
    throw error;
  }
}

/** Who can approve, as a line for people. */
export function whoCan(approvers: readonly string[]): string {
  return `Who can approve it: ${approvers.map(escapeControls).join(", ") || "nobody yet"}`;
}

/** Reads the request for approval that a call became, if it did. */
export async function orRequest<A extends { readonly approvalId: string }>(
  { api }: Pick<Context, "api">,
  answer: A,
): Promise<OrRequest<A>> {
  return answer.approvalId === "" ? answer : requested({ api }, answer.approvalId);
}

/** Reads the request for approval that a call became. */
export async function requested({ api }: Pick<Context, "api">, id: string): Promise<GetApprovalResponse> {
  return (await api.approvals()).getApproval({ id });
}
