/**
 * Schedules of what is live: those that the deployment of each environment's main scope defines,
 * which take the place of those of the deployment before. Every node sees to it, and a schedule
 * that is there already stays as it is. Branches and suspended environments have none.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import { NEVER } from "../jobs/next-run.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { Deployments } from "./deployments.ts";
import { createLiveScopes } from "./live-scopes.ts";

/** What a deployment wants to run by a schedule. */
export interface DefinedSchedule {
  /** Tells it apart from others of its kind in the environment. */
  readonly name: string;
  /** A cron expression in UTC, or a duration. */
  readonly text: string;
  /** Environments that it exists in; empty = all. */
  readonly environments: readonly string[];
}

/** A schedule as it stands; times are epoch milliseconds. */
export interface LiveSchedule {
  readonly environmentId: string;
  readonly name: string;
  readonly text: string;
  /** Undefined when no run comes, or it is not planned yet. */
  readonly nextAt: number | undefined;
  /** When the last run was due; undefined before the first. */
  readonly lastAt: number | undefined;
}

/** The schedules of one kind of jobs. */
export interface LiveSchedules {
  /** The schedules of an environment, by name. */
  list(environmentId: string): Promise<LiveSchedule[]>;
  /** Keeps the stored schedules those of what is live, until `stop`. */
  start(): void;
  stop(): Promise<void>;
}

/** The parts that schedules need. */
export interface LiveSchedulesOptions {
  readonly metadata: Pick<MetadataStore, "environments" | "livePointers" | "schedules">;
  readonly deployments: Pick<Deployments, "graph" | "traffic">;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The key of a schedule of an environment. */
export function scheduleKey(environmentId: string, name: string): string {
  return `${environmentId}/${name}`;
}

/**
 * Makes the schedules of a kind of jobs.
 * @param definedBy what a deployment wants to run
 * @param payloadOf the payload of the jobs
 */
export function createLiveSchedules(
  { metadata, deployments, bus, clock, log }: LiveSchedulesOptions,
  kind: string,
  definedBy: (graph: Graph) => readonly DefinedSchedule[],
  payloadOf: (environmentId: string, name: string) => unknown,
): LiveSchedules {
  /** What the deployments want that are live, by id: a deployment never changes. */
  let known = new Map<string, readonly DefinedSchedule[]>();

  const wanted = async (): Promise<Map<string, DefinedSchedule & { readonly environmentId: string }>> => {
    const traffic = await deployments.traffic.all();
    const scopes = createLiveScopes(await metadata.livePointers(), traffic);
    const read = new Map<string, readonly DefinedSchedule[]>();
    const found = new Map<string, DefinedSchedule & { readonly environmentId: string }>();
    for (const { id, name, suspendedAt } of await metadata.environments()) {
      const live = suspendedAt === undefined ? scopes.get(id, "") : undefined;
      if (live === undefined) continue;
      const defined = known.get(live) ?? definedBy(await deployments.graph(live));
      read.set(live, defined);
      for (const schedule of defined)
        if (schedule.environments.length === 0 || schedule.environments.includes(name))
          found.set(scheduleKey(id, schedule.name), { ...schedule, environmentId: id });
    }
    known = read;
    return found;
  };

  /** Makes the stored schedules those of what is live; one at a time on this node. */
  const settle = async (): Promise<void> => {
    const stored = new Map((await metadata.schedules.list(kind)).map((one) => [one.key, one]));
    const now = await wanted();
    const changed = new Set<string>();
    for (const [key, { scope }] of stored) if (!now.has(key) && (await metadata.schedules.delete({ kind, key }))) changed.add(scope);
    for (const [key, { text, environmentId, name }] of now) {
      if (stored.get(key)?.text === text) continue;
      await metadata.schedules.put({ kind, key, text, scope: environmentId, payload: payloadOf(environmentId, name), isEnabled: true });
      changed.add(environmentId);
    }
    if (changed.size > 0) bus.publish("schedules");
    for (const environmentId of changed) noteChange(bus, "schedules", environmentId);
  };

  const following: { stop(): Promise<void> }[] = [];
  return {
    async list(environmentId) {
      return (await metadata.schedules.list(kind))
        .filter(({ scope }) => scope === environmentId)
        .map(({ key, text, nextAt, lastAt }) => ({
          ...{ environmentId, name: key.slice(environmentId.length + 1), text, lastAt },
          nextAt: nextAt === NEVER ? undefined : nextAt,
        }));
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
