/**
 * The queue of jobs as callers see it: which jobs they see, in which state those are, and what they
 * wait for. Payloads, which may hold secrets, are not even read.
 */

import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { ABSENT_JOB_KINDS } from "../../domain/job-kinds.ts";
import { JOB_PRIORITY } from "../../domain/job-priority.ts";
import type { JobStateName } from "../../domain/job-states.ts";
import { Failure } from "../failure.ts";
import {
  environmentOf,
  type GroupStanding,
  type JobAttempt,
  type JobEntry,
  type JobState,
  type JobStore,
  type QueuePosition,
} from "../stores/metadata/jobs.ts";
import type { Bus } from "./bus.ts";
import { noteChange } from "./changes.ts";
import { checkOffset } from "./offset.ts";

/**
 * What a job waits for: other jobs that must have succeeded, its time, the gate of its operation, a
 * slot of its group, earlier jobs that get the free slots, or a node that takes it. `behind` = the
 * numbers of the jobs in its way that the viewer sees.
 */
export type JobWait =
  | { readonly for: "run_time"; readonly until: number }
  | { readonly for: "jobs" | "gate" | "slot" | "earlier_job"; readonly behind: readonly number[] }
  | { readonly for: "node" };

/** A job as it is shown. */
export interface ShownJob {
  readonly entry: JobEntry;
  readonly state: JobStateName;
  /** Undefined when it waits for nothing: a node runs it, or it has ended. */
  readonly wait: JobWait | undefined;
}

/** Who looks at the queue. */
export interface JobViewer {
  /** Environments whose jobs are seen; undefined = all jobs, also those of the platform. */
  readonly environmentIds: readonly string[] | undefined;
}

/** A selection of jobs; empty lists select all. */
export interface ShownFilter {
  readonly states: readonly JobStateName[];
  readonly kinds: readonly string[];
  /** Only those of this environment. */
  readonly environmentId: string | undefined;
  /** Only those with smaller numbers. */
  readonly before: number | undefined;
  /** Number of selected jobs that are left out, the newest ones. */
  readonly offset: number;
  readonly limit: number;
}

/** The queue of jobs as callers see it. */
export interface JobQueue {
  /**
   * Selected jobs that the viewer sees, newest first. Rejects with Failure invalid_argument for a
   * kind that there is not, and for an offset that is out of bounds.
   */
  list(viewer: JobViewer, filter: ShownFilter): Promise<ShownJob[]>;
  /**
   * A job by its number or id, with its attempts, oldest first. Rejects with Failure not_found when
   * there is none that the viewer sees.
   */
  get(viewer: JobViewer, id: string): Promise<ShownJob & { readonly attempts: readonly JobAttempt[] }>;
  /**
   * Gives a job that waits another priority. Rejects as `get` does, and with Failure
   * invalid_argument for one out of bounds, failed_precondition for a job that runs or has ended.
   */
  setPriority(viewer: JobViewer, id: string, priority: number): Promise<ShownJob>;
}

/** The states of the store that a shown one stands for. */
const STORED = {
  scheduled: "queued",
  not_ready: "queued",
  running: "running",
  completed: "succeeded",
  failed: "failed",
  canceled: "cancelled",
} as const satisfies Readonly<Record<JobStateName, JobState>>;
const SHOWN = {
  running: "running",
  succeeded: "completed",
  failed: "failed",
  cancelled: "canceled",
} as const satisfies Readonly<Record<Exclude<JobState, "queued">, JobStateName>>;

const MAX_KINDS = 50;
/** Most jobs that are named of those that a job waits for. */
const MAX_BEHIND = 20;

/**
 * Makes the capability.
 * @param options.kinds the kinds of jobs that this server runs
 */
export function createJobQueue({
  jobs,
  kinds: known,
  bus,
  clock,
}: {
  readonly jobs: Pick<JobStore, "attempts" | "awaited" | "entry" | "page" | "runningOf" | "setPriority" | "standing">;
  readonly kinds: readonly string[];
  readonly bus: Bus;
  readonly clock: Clock;
}): JobQueue {
  /** Shows jobs to a viewer; each group is asked for its standing once. */
  const shower = (viewer: JobViewer, now: number): ((entry: JobEntry) => Promise<ShownJob>) => {
    const standings = new Map<string, Promise<GroupStanding>>();
    const passed = new Map<string, Promise<readonly QueuePosition[]>>();
    const seen = (positions: readonly QueuePosition[]): number[] =>
      positions.filter(({ scope }) => sees(viewer, environmentOf(scope))).map(({ number }) => number);
    const waitOf = async (entry: JobEntry): Promise<JobWait | undefined> => {
      if (entry.state === "running") return entry.leaseUntil <= now ? { for: "node" } : undefined;
      if (entry.state !== "queued") return undefined;
      if (entry.isHeld) return { for: "jobs", behind: seen(await jobs.awaited(entry.id, MAX_BEHIND)).sort((a, b) => a - b) };
      if (entry.runAt > now) return { for: "run_time", until: entry.runAt };
      if (entry.gate !== undefined) {
        const running = passed.get(entry.operationId) ?? jobs.runningOf(entry.operationId, entry.gate);
        passed.set(entry.operationId, running);
        if ((await running).length >= entry.gate) return { for: "gate", behind: seen((await running).slice(0, MAX_BEHIND)) };
      }
      if (entry.group === undefined) return { for: "node" };
      const { name, slots } = entry.group;
      const standing = standings.get(name) ?? jobs.standing(entry.group, now);
      standings.set(name, standing);
      const { running, next } = await standing;
      if (next.some(({ number }) => number === entry.number)) return { for: "node" };
      const inTheWay = running.length >= slots ? running : next;
      return { for: inTheWay === running ? "slot" : "earlier_job", behind: seen(inTheWay) };
    };
    return async (entry) => ({ entry, state: stateOf(entry, now), wait: await waitOf(entry) });
  };

  const seenEntry = async (viewer: JobViewer, id: string): Promise<JobEntry> => {
    const entry = await jobs.entry(/^\d{1,15}$/.test(id) ? Number(id) : id);
    if (entry && sees(viewer, environmentOf(entry.scope))) return entry;
    throw new Failure("not_found", `There is no job '${id.slice(0, 50)}'.`, {
      hint: "`svc jobs list` shows those that there are; deliveries of webhooks are in `svc webhook deliveries list`.",
    });
  };

  return {
    async list(viewer, { states, kinds, environmentId, before, offset, limit }) {
      const present = kinds.filter((kind) => !(kind in ABSENT_JOB_KINDS));
      checkKinds(present, known);
      checkOffset(offset);
      const now = clock.now();
      const environmentIds = environmentId === undefined ? viewer.environmentIds : [environmentId].filter((id) => sees(viewer, id));
      const isDueAsked = states.includes("scheduled");
      const entries = await jobs.page({
        ...(kinds.length > 0 && { kinds: present }),
        ...(environmentIds && { environmentIds }),
        ...(states.length > 0 && { states: [...new Set(states.map((state) => STORED[state]))] }),
        ...(isDueAsked !== states.includes("not_ready") && { queued: { areDue: isDueAsked, at: now } }),
        ...(before !== undefined && { before }),
        offset,
        limit,
      });
      return Promise.all(entries.map(shower(viewer, now)));
    },

    async get(viewer, id) {
      const entry = await seenEntry(viewer, id);
      return { ...(await shower(viewer, clock.now())(entry)), attempts: await jobs.attempts(entry.id) };
    },

    async setPriority(viewer, id, priority) {
      const { least, most } = JOB_PRIORITY;
      if (!Number.isInteger(priority) || priority < least || priority > most)
        throw new Failure("invalid_argument", `A priority is a whole number from ${least} to ${most}, and ${priority} is none.`);
      const { id: jobId, number, scope } = await seenEntry(viewer, id);
      const state = (await jobs.setPriority(jobId, priority))?.state;
      if (state !== "queued")
        throw new Failure("failed_precondition", `Job ${number} ${state === "running" ? "runs" : "has ended"}.`, {
          hint: "A priority says which of the jobs that wait is run first: `svc jobs list --state scheduled` shows those.",
        });
      noteChange(bus, "runs", environmentOf(scope));
      return shower(viewer, clock.now())(await seenEntry(viewer, jobId));
    },
  };
}

function sees({ environmentIds }: JobViewer, environmentId: string): boolean {
  return environmentIds === undefined || environmentIds.includes(environmentId);
}

function stateOf({ isHeld, runAt, state }: JobEntry, now: number): JobStateName {
  if (state !== "queued") return SHOWN[state];
  return isHeld || runAt > now ? "not_ready" : "scheduled";
}

/** Throws Failure invalid_argument for a kind that is not known. */
function checkKinds(kinds: readonly string[], known: readonly string[]): void {
  if (kinds.length > MAX_KINDS) throw new Failure("invalid_argument", `At most ${MAX_KINDS} kinds can be named.`);
  const unknown = kinds.find((kind) => !known.includes(kind));
  if (unknown === undefined) return;
  throw new Failure("invalid_argument", `There is no kind of jobs '${unknown.slice(0, 50)}'.`, {
    hint: didYouMean(unknown, known) || `There are: ${known.join(", ")}.`,
  });
}
