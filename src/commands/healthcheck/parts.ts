/** The parts of the server, as it probes them itself. */

import { HealthCheckStatus } from "../../../gen/svc/v1/health_pb.ts";
import type { Context } from "../../context/context.ts";

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

const spelled = (status: HealthCheckStatus) => `HEALTH_CHECK_STATUS_${HealthCheckStatus[status] ?? "UNSPECIFIED"}`;

/** Whether a part works, or is not configured. */
export const passes = (part: Part): boolean => /_(OK|NOT_CONFIGURED)$/.test(part.status);
