/**
 * The schedules of resolvers: those of the deployment that is live in each environment's main
 * scope, which take the place of those of the deployment before. Every node sees to it, and a
 * schedule that is there already stays as it is. Branches and suspended environments have none.
 */

import type { Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { createLiveScopes } from "../deployments/live-scopes.ts";
import type { Bus } from "../jobs/bus.ts";
import { NEVER } from "../jobs/next-run.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import { RESOLVER_RUN_JOB, type ResolverRunsOptions, scheduleKey } from "./resolver-runs.ts";
import type { ScheduledResolver } from "./run-handler.ts";

/** A schedule as the live deployment states it. */
interface WantedSchedule extends ScheduledResolver {
  readonly text: string;
}

/** A resolver's schedule as it stands; times are epoch milliseconds. */
export interface ResolverSchedule extends WantedSchedule {
  /** Undefined when no run comes, or it is not planned yet. */
  readonly nextAt: number | undefined;
  /** When the last run was due; undefined before the first. */
  readonly lastAt: number | undefined;
}

/** The schedules of resolvers. */
export interface ResolverSchedules {
  /** The schedules of an environment, by name of the resolver. */
  list(environmentId: string): Promise<ResolverSchedule[]>;
  /** Keeps the stored schedules those of what is live, until `stop`. */
  start(): void;
  stop(): Promise<void>;
}

/** Makes the schedules. */
export function createResolverSchedules(
  options: Pick<ResolverRunsOptions, "metadata" | "deployments"> & { readonly bus: Bus; readonly clock: Clock; readonly log: Log },
): ResolverSchedules {
  const { metadata, deployments, bus, clock, log } = options;
  /** Scheduled resolvers of the deployments that are live, by id: a deployment never changes. */
  let known = new Map<string, readonly Resolver[]>();

  const scheduledOf = async (deploymentId: string): Promise<readonly Resolver[]> =>
    known.get(deploymentId) ?? (await deployments.graph(deploymentId)).resolvers.filter(({ schedule }) => schedule !== "");

  const wanted = async (): Promise<Map<string, WantedSchedule>> => {
    const traffic = await deployments.traffic.all();
    const scopes = createLiveScopes(await metadata.livePointers(), traffic);
    const read = new Map<string, readonly Resolver[]>();
    const found = new Map<string, WantedSchedule>();
    for (const { id, name, suspendedAt } of await metadata.environments()) {
      const live = suspendedAt === undefined ? scopes.get(id, "") : undefined;
      if (live === undefined) continue;
      const resolvers = await scheduledOf(live);
      read.set(live, resolvers);
      for (const { fqn, schedule, environments } of resolvers)
        if (environments.length === 0 || environments.includes(name))
          found.set(scheduleKey(id, fqn), { environmentId: id, resolver: fqn, text: schedule });
    }
    known = read;
    return found;
  };

  /** Makes the stored schedules those of what is live; one at a time on this node. */
  const settle = async (): Promise<void> => {
    const stored = new Map((await metadata.schedules.list(RESOLVER_RUN_JOB)).map((one) => [one.key, one]));
    const now = await wanted();
    let isChanged = false;
    for (const key of stored.keys())
      if (!now.has(key)) isChanged = (await metadata.schedules.delete({ kind: RESOLVER_RUN_JOB, key })) || isChanged;
    for (const [key, { text, environmentId, resolver }] of now) {
      if (stored.get(key)?.text === text) continue;
      const payload: ScheduledResolver = { environmentId, resolver };
      await metadata.schedules.put({ kind: RESOLVER_RUN_JOB, key, text, scope: environmentId, payload, isEnabled: true });
      isChanged = true;
    }
    if (isChanged) bus.publish("schedules");
  };

  const following: { stop(): Promise<void> }[] = [];
  return {
    async list(environmentId) {
      const schedules = await metadata.schedules.list(RESOLVER_RUN_JOB);
      return schedules
        .map(({ payload, text, nextAt, lastAt }) => {
          return { ...(payload as ScheduledResolver), text, nextAt: nextAt === NEVER ? undefined : nextAt, lastAt };
        })
        .filter((one) => one.environmentId === environmentId);
    },
    start() {
      const live = followStore({ bus, topic: "live", clock, log, read: settle });
      following.push(live, followStore({ bus, topic: "environments", clock, log, read: () => live.reread() }));
    },
    async stop() {
      await Promise.all(following.splice(0).map((one) => one.stop()));
    },
  };
}
