/**
 * The scheduler of one node: when a schedule is due it keeps the run's job and moves the schedule
 * to its next run, in one step of the store. Every node has one, and whichever comes first does it.
 * Runs that were missed, because no node ran or the clock was put forward, become one; when the
 * clock was set back, the schedule is planned anew by the time that is.
 */

import type { Clock } from "../../context/clock.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import type { RunJob, ScheduleRecord, ScheduleStore } from "../stores/metadata/schedules.ts";
import type { Bus } from "./bus.ts";
import { nextRun } from "./next-run.ts";
import { keepSchedules, type RecurringJob } from "./recurring.ts";
import { createWakeablePause } from "./wakeable-pause.ts";

/** What a scheduler works with. */
export interface SchedulerOptions {
  readonly schedules: ScheduleStore;
  /** The platform's own jobs: their schedules are kept first. */
  readonly recurring: readonly RecurringJob[];
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A running scheduler. */
export interface Scheduler {
  /** Stops, and waits for what is under way. */
  stop(): Promise<void>;
}

/** What a run hands to its handler. */
export interface ScheduledRun {
  /** The schedule's key. */
  readonly key: string;
  /** When the run was due, epoch milliseconds: the first of those that it stands for. */
  readonly dueAt: number;
  /** The schedule's own payload. */
  readonly payload: unknown;
}

/** Longest time between two looks at the schedules: notifications may be lost. */
const LOOK_MS = 30_000;
const STORE_RETRY_MS = 1_000;
const BATCH = 100;
/**
 * How far a clock may be set back before a schedule is planned anew. By less, nothing runs twice
 * and the next run is that much later.
 */
const SET_BACK_MS = 60_000;
/**
 * Milliseconds after which a text that was not understood is read again: a newer version may run
 * then.
 */
const MISREAD_MS = 3_600_000;
const MAX_ATTEMPTS = 3;
const ATTEMPT_TIMEOUT_MS = 3_600_000;

/** Begins to schedule. While the store cannot be used it is tried again. */
export function startScheduler({ schedules, recurring, bus, clock, log }: SchedulerOptions): Scheduler {
  const stopping = new AbortController();
  const misread = new Set<string>();
  const pause = createWakeablePause(clock, stopping.signal);

  /** The next run; undefined for a text that this version does not understand. */
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

  const settle = async (schedule: ScheduleRecord, now: number): Promise<void> => {
    const isDue = schedule.nextAt !== undefined && schedule.nextAt <= now;
    const next = await plan(schedule, now);
    const run = isDue && next !== undefined ? runOf(schedule, now) : undefined;
    const { job } = await schedules.advance(schedule, next ?? now + MISREAD_MS, run);
    if (job) bus.publish("jobs", job.id);
  };

  const run = async (): Promise<void> => {
    let isFailing = false;
    for (let isKept = false; !stopping.signal.aborted; ) {
      pause.look();
      try {
        if (!isKept) await keepSchedules(schedules, recurring);
        isKept = true;
        const { schedules: due, now } = await schedules.due(BATCH, SET_BACK_MS);
        for (const schedule of due) if (!stopping.signal.aborted) await settle(schedule, now);
        isFailing = false;
        if (due.length > 0) continue;
        const dueIn = (await schedules.nextDueIn()) ?? LOOK_MS;
        await pause.rest(Math.min(LOOK_MS, Math.max(dueIn, 1)));
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (!isFailing) log.error("the schedules could not be kept", { error: String(error) });
        isFailing = true;
        await pause.rest(STORE_RETRY_MS);
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
 * The job of the run that is due. The number of the run is a part of its key, so that a time that
 * comes again, as the clock was set back by far, counts again.
 */
function runOf({ kind, key, nextAt = 0, runs, payload }: ScheduleRecord, now: number): RunJob {
  const run: ScheduledRun = { key, dueAt: nextAt, payload };
  return {
    id: newId("job", now),
    kind,
    payload: run,
    group: { name: `schedule:${kind}/${key}`, slots: 1 },
    idempotencyKey: `${key}#${runs + 1}@${nextAt}`,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}
