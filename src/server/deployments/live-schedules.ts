/**
 * Schedules of what is live: those that the deployment of each environment's main scope defines,
 * which take the place of those of the deployment before. Every node sees to it, and a schedule
 * that is there already stays as it is, paused or not. Branches have none; suspended environments
 * keep those that are paused.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { Failure } from "../failure.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import { NEVER, nextRun } from "../jobs/next-run.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import type { ScheduleRecord } from "../stores/metadata/schedules.ts";
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
  /** The next runs, `nextAt` first; at most three. */
  readonly nextRuns: readonly number[];
  /** Whether somebody paused it: then no run comes. */
  readonly isPaused: boolean;
  /** When the last run was due; undefined before the first. */
  readonly lastAt: number | undefined;
}

/** The schedules of one kind of jobs. */
export interface LiveSchedules {
  /** The schedules of an environment, by name. */
  list(environmentId: string): Promise<LiveSchedule[]>;
  /**
   * Pauses a schedule of an environment, or has it run again. It stays paused while deployments
   * that define one of the name follow each other. Rejects with Failure failed_precondition.
   */
  setPaused(environmentId: string, name: string, isPaused: boolean): Promise<void>;
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

/** Runs to come that are told. */
const MOST_NEXT = 3;

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

  interface Wanted {
    readonly schedules: ReadonlyMap<string, DefinedSchedule & { readonly environmentId: string }>;
    /** Environments that run nothing, and keep what is paused. */
    readonly suspended: ReadonlySet<string>;
  }
  const wanted = async (): Promise<Wanted> => {
    const traffic = await deployments.traffic.all();
    const scopes = createLiveScopes(await metadata.livePointers(), traffic);
    const read = new Map<string, readonly DefinedSchedule[]>();
    const found = new Map<string, DefinedSchedule & { readonly environmentId: string }>();
    const environments = await metadata.environments();
    for (const { id, name, suspendedAt } of environments) {
      const live = suspendedAt === undefined ? scopes.get(id, "") : undefined;
      if (live === undefined) continue;
      const defined = known.get(live) ?? definedBy(await deployments.graph(live));
      read.set(live, defined);
      for (const schedule of defined)
        if (isInEnvironment(schedule.environments, name)) found.set(scheduleKey(id, schedule.name), { ...schedule, environmentId: id });
    }
    known = read;
    return { schedules: found, suspended: new Set(environments.flatMap(({ id, suspendedAt }) => (suspendedAt === undefined ? [] : [id]))) };
  };

  /** Makes the stored schedules those of what is live; one at a time on this node. */
  const settle = async (): Promise<void> => {
    const stored = new Map((await metadata.schedules.list(kind)).map((one) => [one.key, one]));
    const { schedules: now, suspended } = await wanted();
    const changed = new Set<string>();
    for (const [key, { isEnabled, scope }] of stored)
      if (!now.has(key) && (isEnabled || !suspended.has(scope)) && (await metadata.schedules.delete({ kind, key }))) changed.add(scope);
    for (const [key, { text, environmentId, name }] of now) {
      if (stored.get(key)?.text === text) continue;
      await metadata.schedules.put({ kind, key, text, scope: environmentId, payload: payloadOf(environmentId, name) });
      changed.add(environmentId);
    }
    if (changed.size > 0) bus.publish("schedules");
    for (const environmentId of changed) noteChange(bus, "schedules", environmentId);
  };

  const following: { stop(): Promise<void> }[] = [];
  return {
    async list(environmentId) {
      const own = (await metadata.schedules.list(kind)).filter(({ scope }) => scope === environmentId);
      return Promise.all(
        own.map(async (schedule) => {
          const { isEnabled, key, lastAt, text } = schedule;
          const nextRuns = await nextRunsOf(schedule);
          return {
            environmentId,
            name: key.slice(environmentId.length + 1),
            text,
            lastAt,
            nextAt: nextRuns[0],
            nextRuns,
            isPaused: !isEnabled,
          };
        }),
      );
    },
    async setPaused(environmentId, name, isPaused) {
      const key = { kind, key: scheduleKey(environmentId, name) };
      const set = () => metadata.schedules.setEnabled(key, !isPaused);
      let isKnown = await set();
      if (!isKnown) {
        // What has just become live may not have its schedules yet.
        await settle();
        isKnown = await set();
      }
      if (!isKnown) throw new Failure("failed_precondition", `'${name.slice(0, 200)}' does not run by a schedule in this environment.`);
      bus.publish("schedules");
      noteChange(bus, "schedules", environmentId);
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

/** The next runs of a schedule; none until the first is planned, or when it is paused. */
async function nextRunsOf({ anchorAt, isEnabled, nextAt, text }: ScheduleRecord): Promise<number[]> {
  const runs: number[] = [];
  for (let at = isEnabled ? nextAt : undefined; at !== undefined && at !== NEVER && runs.length < MOST_NEXT; ) {
    runs.push(at);
    // A text that this version does not understand is the scheduler's to report.
    at = await nextRun(text, anchorAt, at).catch(() => undefined);
  }
  return runs;
}
