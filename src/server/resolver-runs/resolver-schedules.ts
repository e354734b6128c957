/** The schedules of resolvers: those of the deployments that are live in main scopes. */

import { createLiveSchedules, type LiveSchedules, type LiveSchedulesOptions } from "../deployments/live-schedules.ts";
import { RESOLVER_RUN_JOB } from "./resolver-runs.ts";
import type { ScheduledResolver } from "./run-handler.ts";

/** Makes the schedules. */
export function createResolverSchedules(options: LiveSchedulesOptions): LiveSchedules {
  return createLiveSchedules(
    options,
    RESOLVER_RUN_JOB,
    ({ resolvers }) =>
      resolvers
        .filter(({ schedule }) => schedule !== "")
        .map(({ fqn, schedule, environments }) => ({ name: fqn, text: schedule, environments })),
    (environmentId, resolver): ScheduledResolver => ({ environmentId, resolver }),
  );
}
