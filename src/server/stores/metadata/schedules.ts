/**
 * Schedules of recurring jobs. Every method is one atomic step. Times are epoch milliseconds of the
 * store's own clock, so that nodes whose clocks differ agree on what is due.
 */

import type { JobRecord, NewJob, ResourceGroup } from "./jobs.ts";

/** The identity of a schedule. */
export interface ScheduleKey {
  /** Kind of the jobs that it makes. */
  readonly kind: string;
  /** Tells schedules of one kind apart. */
  readonly key: string;
}

/** A schedule to be stored. */
export interface NewSchedule extends ScheduleKey {
  /** A cron expression in UTC or a duration, see `domain/cron.ts`. */
  readonly text: string;
  /** Scope of its jobs, see `NewJob`; default: none. */
  readonly scope?: string;
  /** The input of its jobs, JSON. */
  readonly payload: unknown;
  /** Whether it runs; a disabled one stays stored. Undefined = as before, yes when it is new. */
  readonly isEnabled?: boolean;
}

/** A schedule as it is stored. */
export interface ScheduleRecord extends NewSchedule {
  readonly scope: string;
  readonly isEnabled: boolean;
  /**
   * Time from which a duration is counted: that of the schedule's creation, or of the last change
   * of its text.
   */
  readonly anchorAt: number;
  /** Time of its next run; undefined until it is computed. */
  readonly nextAt: number | undefined;
  /** Time at which `nextAt` was computed. */
  readonly plannedAt: number;
  /** Due time of the last run that became a job; undefined before the first. */
  readonly lastAt: number | undefined;
  /** Total number of runs that became jobs. */
  readonly runs: number;
  /** Number that grows with every change of the schedule, also with a new `nextAt`. */
  readonly revision: number;
}

/** The job of a run. Its group is the schedule's own. */
export type RunJob = NewJob & { readonly group: ResourceGroup };

/** The schedules. */
export interface ScheduleStore {
  /**
   * Stores a schedule. An existing one keeps its next run, unless its text or `isEnabled` changes.
   */
  put(schedule: NewSchedule): Promise<void>;
  /**
   * Enables or disables a schedule, which changes its next run; false when there is none. One that
   * is so already stays as it is.
   */
  setEnabled(key: ScheduleKey, isEnabled: boolean): Promise<boolean>;
  schedule(key: ScheduleKey): Promise<ScheduleRecord | undefined>;
  /** Schedules of a kind or all, by kind and key. */
  list(kind?: string): Promise<ScheduleRecord[]>;
  /** Removes a schedule; false when there was none. Its jobs continue. */
  delete(key: ScheduleKey): Promise<boolean>;
  /**
   * Enabled schedules that need attention, longest due first, with the store's time: their next run
   * is due, or is not computed yet, or was computed at a time that now lies more than `setBackMs`
   * ahead because the clock was set back.
   */
  due(limit: number, setBackMs: number): Promise<{ readonly schedules: ScheduleRecord[]; readonly now: number }>;
  /**
   * Milliseconds until the earliest known next run, 0 when one is not computed yet; undefined when
   * no schedule is enabled.
   */
  nextDueIn(): Promise<number | undefined>;
  /**
   * Moves a schedule to its next run, and with `run` enqueues the job of the run that was due, in
   * one step. While a job of the schedule waits in the queue, no other is enqueued: missed runs
   * coalesce. Returns the enqueued job, undefined when there is none. `isLost` when the schedule
   * was changed, deleted or moved since it was read: then nothing changed.
   */
  advance(
    schedule: ScheduleRecord,
    nextAt: number,
    run?: RunJob,
  ): Promise<{ readonly isLost: boolean; readonly job: JobRecord | undefined }>;
}
