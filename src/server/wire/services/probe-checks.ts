/** What was tried of other systems, as messages. */

import { create } from "@bufbuild/protobuf";
import { type ProbeCheck, ProbeCheckSchema, ProbeStatus } from "../../../../gen/svc/v1/check_pb.ts";
import type { Check } from "../../connections/trying.ts";

const STATUS = { ok: ProbeStatus.OK, failed: ProbeStatus.FAILED, untested: ProbeStatus.UNTESTED } as const;

/** The messages of checks. */
export function checkMessages(checks: readonly Check[]): ProbeCheck[] {
  return checks.map(({ message, name, status }) => create(ProbeCheckSchema, { name, message, status: STATUS[status] }));
}
