/** The schedules of resolvers: those of the deployments that are live in main scopes. */

import type { Deployments } from "../deployments/deployments.ts";
import { resolverNamed } from "../deployments/graph-names.ts";
import { createLiveSchedules, type LiveSchedule, type LiveSchedules, type LiveSchedulesOptions } from "../deployments/live-schedules.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
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
  /**
   * Pauses the schedule of a resolver, named in whole or by its last part, or has it run again.
   * Resolves with it as it stands. Rejects with Failure.
   */
  pause(environment: EnvironmentRecord, resolver: string, isPaused: boolean): Promise<ResolverSchedule>;
}

/** Makes the schedules. */
export function createResolverSchedules(
  options: LiveSchedulesOptions & { readonly deployments: Pick<Deployments, "graph" | "live" | "resolve"> },
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
  const list = async (environmentId: string): Promise<ResolverSchedule[]> => {
    const listed = await schedules.list(environmentId);
    const live = listed.length === 0 ? undefined : options.deployments.live(environmentId, "");
    const resolvers = new Map(live === undefined ? [] : (await options.deployments.graph(live)).resolvers.map((one) => [one.fqn, one]));
    return listed.map((schedule) => {
      const { runFilter: filter = "", runSample: sample = "" } = resolvers.get(schedule.name) ?? {};
      return { ...schedule, filter, sample };
    });
  };
  return {
    ...schedules,
    list,
    async pause(environment, resolver, isPaused) {
      const live = await options.deployments.resolve({ environment, branch: "", deploymentId: "" });
      const { fqn } = resolverNamed(await options.deployments.graph(live), resolver);
      await schedules.setPaused(environment.id, fqn, isPaused);
      const found = (await list(environment.id)).find(({ name }) => name === fqn);
      if (!found) throw new Failure("aborted", `The schedule of '${fqn}' was removed meanwhile.`);
      return found;
    },
  };
}
