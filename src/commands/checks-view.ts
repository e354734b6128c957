/** What was tried of another system: `ok`, `failed` or `untested`, with the reason. */

import { type ProbeCheck, ProbeStatus } from "../../gen/svc/v1/check_pb.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { FieldViews } from "../output/message-view.ts";

/** The columns of checks. */
export const CHECK_FIELDS: FieldViews<ProbeCheck> = {
  name: "Check",
  status: {
    header: "Result",
    style: (text, style, { status }) =>
      status === ProbeStatus.OK ? style.green(text) : status === ProbeStatus.FAILED ? style.red(text) : text,
  },
  message: "Message",
};

/** Exit code 1 when a check failed. */
export function checksExitCode(checks: readonly ProbeCheck[]): number {
  return checks.some(({ status }) => status === ProbeStatus.FAILED) ? exitCodes.failure : exitCodes.ok;
}
