/** The JSON of commands that suspend and resume an environment. */

import type { ResumeEnvironmentResponse, SuspendEnvironmentResponse } from "../../../gen/svc/v1/environment_pb.ts";

/** Id, name, state, and whether the state changed. */
export function stateJson({ changed, environment }: SuspendEnvironmentResponse | ResumeEnvironmentResponse): unknown {
  return { id: environment?.id ?? "", name: environment?.name ?? "", state: environment?.suspendedAt ? "suspended" : "active", changed };
}
