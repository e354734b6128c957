/** The argument and flag of commands that decide a request for approval. */

import { ApprovalState } from "../../../gen/svc/v1/approval_pb.ts";
import { optionalArg, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";

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
