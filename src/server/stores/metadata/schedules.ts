/**
 * Schedules: what is to run again and again. Every method is one atomic step. Times are epoch
 * milliseconds of the store's own clock, so that nodes whose clocks differ agree on what is due.
 */

import type { JobRecord, NewJob, ResourceGroup } from "./jobs.ts";

/** What names a schedule. */
export interface ScheduleKey {
  /** Kind of the jobs that it makes. */
  readonly kind: string;
  /** Tells schedules of one kind apart. */
  readonly key: string;
}

/** A schedule that is to be kept. */
export interface NewSchedule extends ScheduleKey {
  /** A cron expression in UTC or a duration, see `domain/cron.ts`. */
  readonly text: string;
  /** What its jobs work on, JSON. */
  readonly payload: unknown;
  /** Whether it runs; one that does not keeps its place. */
  readonly isEnabled: boolean;
}

/** A schedule as it is kept. */
export interface ScheduleRecord extends NewSchedule {
  /** What a duration is counted from: when the schedule was made, or its text was last changed. */
  readonly anchorAt: number;
  /** When it runs next; undefined until that is computed. */
  readonly nextAt: number | undefined;
  /** When `nextAt` was computed. */
  readonly plannedAt: number;
  /** When the last run that was kept as a job was due; undefined before the first. */
  readonly lastAt: number | undefined;
  /** Runs that were kept as jobs, in all. */
  readonly runs: number;
  /** Grows with every change of the schedule, also with a new `nextAt`. */
  readonly revision: number;
}

/** The job of a run. Its group is the schedule's own. */
export type RunJob = NewJob & { readonly group: ResourceGroup };

/** The schedules. */
export interface ScheduleStore {
  /**
   * Keeps a schedule. One that is there already keeps its next run, unless its text or whether it
   * runs changes.
   */
  put(schedule: NewSchedule): Promise<void>;
  schedule(key: ScheduleKey): Promise<ScheduleRecord | undefined>;
  /** Schedules of a kind or all, by kind and key. */
  list(kind?: string): Promise<ScheduleRecord[]>;
  /** Removes a schedule; false when there was none. Jobs that it made go on. */
  delete(key: ScheduleKey): Promise<boolean>;
  /**
   * Enabled schedules that something has to be done about, longest due first, and the time for
   * which that is so: their next run is due, or was not computed, or was computed at a time that is
   * more than `setBackMs` ahead, so that the clock was set back since.
   */
  due(limit: number, setBackMs: number): Promise<{ readonly schedules: ScheduleRecord[]; readonly now: number }>;
  /** Milliseconds until the next run of all, as it is known; undefined when there is none. */
  nextDueIn(): Promise<number | undefined>;
  /**
   * Moves a schedule to its next run, and with `run` keeps the job of the run that was due, in one
   * step. While a job of the schedule waits in the queue, no other is kept: missed runs become one.
   * Gives the job that was kept, undefined when none was. `isLost` when the schedule was changed,
   * deleted or moved since it was read: then nothing changed.
   */
  advance(
    schedule: ScheduleRecord,
    nextAt: number,
    run?: RunJob,
  ): Promise<{ readonly isLost: boolean; readonly job: JobRecord | undefined }>;
}
