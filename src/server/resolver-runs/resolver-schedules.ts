/** The schedules of resolvers: those of the deployments that are live in main scopes. */

import type { Deployments } from "../deployments/deployments.ts";
import { createLiveSchedules, type LiveSchedule, type LiveSchedules, type LiveSchedulesOptions } from "../deployments/live-schedules.ts";
import { RESOLVER_RUN_JOB } from "./resolver-runs.ts";
import type { ScheduledResolver } from "./run-handler.ts";

/** The schedule of a resolver, with the rows that it is for. */
export interface ResolverSchedule extends LiveSchedule {
  /** Path of the bool of which a row must be true; empty = all rows. */
  readonly filter: string;
  /** FQN of the resolver whose rows run; empty = all rows. */
  readonly sample: string;
}

/** The schedules of resolvers. */
export interface ResolverSchedules extends LiveSchedules {
  /** The schedules of an environment, by name. */
  list(environmentId: string): Promise<ResolverSchedule[]>;
}

/** Makes the schedules. */
export function createResolverSchedules(
  options: LiveSchedulesOptions & { readonly deployments: Pick<Deployments, "graph" | "live"> },
): ResolverSchedules {
  const schedules = createLiveSchedules(
    options,
    RESOLVER_RUN_JOB,
    ({ resolvers }) =>
      resolvers
        .filter(({ schedule }) => schedule !== "")
        .map(({ fqn, schedule, environments }) => ({ name: fqn, text: schedule, environments })),
    (environmentId, resolver): ScheduledResolver => ({ environmentId, resolver }),
  );
  return {
    ...schedules,
    async list(environmentId) {
      const listed = await schedules.list(environmentId);
      const live = listed.length === 0 ? undefined : options.deployments.live(environmentId, "");
      const resolvers = new Map(live === undefined ? [] : (await options.deployments.graph(live)).resolvers.map((one) => [one.fqn, one]));
      return listed.map((schedule) => {
        const { runFilter: filter = "", runSample: sample = "" } = resolvers.get(schedule.name) ?? {};
        return { ...schedule, filter, sample };
      });
    },
  };
}
