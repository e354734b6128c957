/** Calls that become requests for approval, because they would change a protected environment. */

import type { HandlerContext } from "@connectrpc/connect";
import type { Change } from "../../approvals/changes.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/**
 * The id of the request for approval that a call became, which its audit row tells; undefined when
 * the change needs none, and is to be made. Rejects with the Failure of making it.
 */
export async function requestApproval(
  { approvals }: Platform,
  context: HandlerContext,
  environment: EnvironmentRecord,
  change: Change,
): Promise<string | undefined> {
  const id = await (await approvals()).ask(callerOf(context), environment, change);
  if (id === undefined) return undefined;
  const note = noteOf(context);
  note.about = { ...note.about, approval_id: id };
  return id;
}
