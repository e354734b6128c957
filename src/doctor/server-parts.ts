/** The parts of the server, as it probes them itself. */

import { HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";
import type { Context } from "../context/context.ts";

/** One part of the server; the status is spelled as the API spells it. */
export interface Part {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly latency_ms: number;
}

/** Asks the server to probe its parts, each with a real read or write. */
export async function probeParts({ api }: Pick<Context, "api">): Promise<Part[]> {
  const { checks } = await (await api.health()).checkHealth({});
  return checks.map(({ name, status, message, latencyMs }) => ({ name, status: spelled(status), message, latency_ms: latencyMs }));
}

/** Written out, because only the numbers of an enum come without the descriptors of the contract, which take longer to load than the call. */
const SPELLED: Readonly<Record<HealthCheckStatus, string>> = {
  [HealthCheckStatus.UNSPECIFIED]: "HEALTH_CHECK_STATUS_UNSPECIFIED",
  [HealthCheckStatus.OK]: "HEALTH_CHECK_STATUS_OK",
  [HealthCheckStatus.FAILING]: "HEALTH_CHECK_STATUS_FAILING",
  [HealthCheckStatus.NOT_CONFIGURED]: "HEALTH_CHECK_STATUS_NOT_CONFIGURED",
};
const spelled = (status: HealthCheckStatus) => SPELLED[status] ?? SPELLED[HealthCheckStatus.UNSPECIFIED];

/** Whether a part works, or is not configured. */
export const passes = (part: Part): boolean => /_(OK|NOT_CONFIGURED)$/.test(part.status);
