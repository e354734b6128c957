/** The parts of a server, as it probes them itself. */

import { type HealthCheck, HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";

/** Whether a part works, or is not configured. */
export function isSound({ status }: HealthCheck): boolean {
  return status === HealthCheckStatus.OK || status === HealthCheckStatus.NOT_CONFIGURED;
}
