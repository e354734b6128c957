/** Calls that become requests for approval, because they would change a protected environment. */

import type { HandlerContext } from "@connectrpc/connect";
import type { DeploymentTarget } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import type { Change } from "../../approvals/changes.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import type { KeptUpload, KeptUploads } from "../../value-uploads/kept-uploads.ts";
import type { CallNote } from "../call-audit.ts";
import { callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Who calls, and what the audit row of the call tells. */
export interface Asking {
  readonly caller: Caller;
  readonly note: CallNote;
}

/** Who calls a method. */
export function askingOf(context: HandlerContext): Asking {
  return { caller: callerOf(context), note: noteOf(context) };
}

/**
 * The id of the request for approval that a call became, which its audit row tells; undefined when
 * the change needs none, and is to be made. Rejects with the Failure of making it.
 */
export async function requestApproval(
  platform: Platform,
  context: HandlerContext,
  environment: EnvironmentRecord,
  change: Change,
): Promise<string | undefined> {
  return askApproval(platform, askingOf(context), environment, change);
}

/** The same for calls of any transport. */
export async function askApproval(
  { approvals }: Pick<Platform, "approvals">,
  { caller, note }: Asking,
  environment: EnvironmentRecord,
  change: Change,
): Promise<string | undefined> {
  const id = await (await approvals()).ask(caller, environment, change);
  if (id === undefined) return undefined;
  note.about = { ...note.about, approval_id: id };
  return id;
}

/** An upload that waits for approval. */
export interface AskedUpload {
  readonly approvalId: string;
  readonly upload: KeptUpload;
}

/**
 * The request for approval that an upload became, whose values `keep` keeps; undefined when it
 * needs none, and nothing is kept. Rejects with the Failure of keeping them or of asking.
 */
export async function askUpload(
  platform: Pick<Platform, "approvals" | "valueUploads">,
  asking: Asking,
  { branch, environment }: DeploymentTarget,
  keep: (kept: KeptUploads) => Promise<KeptUpload>,
): Promise<AskedUpload | undefined> {
  if (branch !== "" || !(await (await platform.approvals()).isNeeded(environment))) return undefined;
  const { kept } = await platform.valueUploads();
  const upload = await keep(kept);
  let approvalId: string | undefined;
  try {
    approvalId = await askApproval(platform, asking, environment, { kind: "values.upload", upload });
  } finally {
    if (approvalId === undefined) await kept.discard(upload);
  }
  return approvalId === undefined ? undefined : { approvalId, upload };
}
