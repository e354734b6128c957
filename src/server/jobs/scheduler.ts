/**
 * The scheduler of one node: when a schedule is due it stores the run's job and moves the schedule
 * to its next run, in one step of the store. Every node has a scheduler, and the first one to act
 * wins. Runs that were missed, because no node ran or the clock was put forward, become one; when
 * the clock was set back, the next run is computed anew from the current time.
 */

import type { Clock } from "../../context/clock.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import { environmentOf } from "../stores/metadata/jobs.ts";
import type { RunJob, ScheduleRecord, ScheduleStore } from "../stores/metadata/schedules.ts";
import type { WorkflowKind } from "../stores/metadata/workflows.ts";
import type { Bus } from "./bus.ts";
import { noteChange } from "./changes.ts";
import { nextRun } from "./next-run.ts";
import { keepSchedules, type RecurringJob } from "./recurring.ts";
import { createWakeablePause } from "./wakeable-pause.ts";
import { planWorkflow } from "./workflows.ts";

/** The services of a scheduler. */
export interface SchedulerOptions {
  readonly schedules: ScheduleStore;
  /** The platform's own jobs, whose schedules are stored first. */
  readonly recurring: readonly RecurringJob[];
  /** Kinds of schedules whose runs are workflows, with the kind of those; default: none. */
  readonly workflows?: Readonly<Record<string, WorkflowKind>>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A running scheduler. */
export interface Scheduler {
  /** Stops, and waits for the current step. */
  stop(): Promise<void>;
}

/** The payload of a scheduled run's job. */
export interface ScheduledRun {
  /** The schedule's key. */
  readonly key: string;
  /** When the run was due, epoch milliseconds; of several missed runs, the first. */
  readonly dueAt: number;
  /** The schedule's own payload. */
  readonly payload: unknown;
}

/** Longest time between two polls of the schedules: notifications may be lost. */
const POLL_MS = 30_000;
const STORE_RETRY_MS = 1_000;
const BATCH = 100;
/**
 * Milliseconds by which the clock may be set back before the next run is computed anew. When it is
 * set back by less, nothing runs twice and the next run is that much later.
 */
const SET_BACK_MS = 60_000;
/**
 * Milliseconds after which a schedule whose text was not understood is read again: a newer version
 * of svc may run then.
 */
const MISREAD_MS = 3_600_000;
const MAX_ATTEMPTS = 3;
const ATTEMPT_TIMEOUT_MS = 3_600_000;

/** Starts a scheduler. While the store cannot be used it retries. */
export function startScheduler({ schedules, recurring, workflows = {}, bus, clock, log }: SchedulerOptions): Scheduler {
  const stopping = new AbortController();
  const misread = new Set<string>();
  const pause = createWakeablePause(clock, stopping.signal);

  /** The next run of a schedule; undefined when this version does not understand its text. */
  const plan = async ({ kind, key, text, anchorAt }: ScheduleRecord, now: number): Promise<number | undefined> => {
    try {
      return await nextRun(text, anchorAt, now);
    } catch (error) {
      const name = `${kind}/${key}`;
      if (!misread.has(name)) log.error("a schedule is not understood", { schedule: name, text, error: String(error) });
      misread.add(name);
      return undefined;
    }
  };

  /** The job of a run, with the workflow that it begins where runs of its kind are such. */
  const inWorkflow = ({ kind, key, scope }: ScheduleRecord, run: RunJob, now: number): RunJob => {
    const workflow = workflows[kind];
    if (workflow === undefined) return run;
    const subject = key.slice(environmentOf(scope).length + 1);
    const plan = { environmentId: environmentOf(scope), deploymentId: "", kind: workflow, subject };
    return planWorkflow({ ...plan, operations: [{ name: subject, jobs: [run] }] }, now)[0] ?? run;
  };

  const settle = async (schedule: ScheduleRecord, now: number): Promise<void> => {
    const isDue = schedule.nextAt !== undefined && schedule.nextAt <= now;
    const next = await plan(schedule, now);
    const run = isDue && next !== undefined ? inWorkflow(schedule, runOf(schedule, now), now) : undefined;
    const { job } = await schedules.advance(schedule, next ?? now + MISREAD_MS, run);
    const environmentId = environmentOf(schedule.scope);
    noteChange(bus, "schedules", environmentId);
    if (!job) return;
    bus.publish("jobs", job.id);
    noteChange(bus, "runs", environmentId);
  };

  const run = async (): Promise<void> => {
    let isFailing = false;
    for (let isKept = false; !stopping.signal.aborted; ) {
      pause.clear();
      try {
        if (!isKept) await keepSchedules(schedules, recurring);
        isKept = true;
        const { schedules: due, now } = await schedules.due(BATCH, SET_BACK_MS);
        for (const schedule of due) if (!stopping.signal.aborted) await settle(schedule, now);
        isFailing = false;
        if (due.length > 0) continue;
        const dueIn = (await schedules.nextDueIn()) ?? POLL_MS;
        await pause.sleep(Math.min(POLL_MS, Math.max(dueIn, 1)));
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (!isFailing) log.error("the schedules could not be kept", { error: String(error) });
        isFailing = true;
        await pause.sleep(STORE_RETRY_MS);
      }
    }
  };

  const unsubscribe = bus.subscribe("schedules", pause.wake);
  const running = run();
  return {
    async stop() {
      unsubscribe();
      stopping.abort();
      await running;
    },
  };
}

/**
 * The job of a due run. The run's number is part of its idempotency key, so that a time that comes
 * again after the clock was set back counts as a new run.
 */
function runOf({ kind, key, nextAt = 0, runs, scope, payload }: ScheduleRecord, now: number): RunJob {
  const run: ScheduledRun = { key, dueAt: nextAt, payload };
  return {
    id: newId("job", now),
    kind,
    payload: run,
    scope,
    group: { name: `schedule:${kind}/${key}`, slots: 1 },
    idempotencyKey: `${key}#${runs + 1}@${nextAt}`,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}
