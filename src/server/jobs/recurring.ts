/**
 * Jobs that the platform itself does again and again: once at a time in all nodes together, by a
 * schedule.
 */

import { readSchedule } from "../../domain/cron.ts";
import type { ScheduleStore } from "../stores/metadata/schedules.ts";
import type { JobHandler } from "./runner.ts";

/** A job of the platform. */
export interface RecurringJob {
  readonly kind: string;
  /** A cron expression in UTC, or a duration. */
  readonly schedule: string;
  /** Does one run; what was begun by an earlier attempt may be there. */
  run(signal: AbortSignal): Promise<void>;
}

/** Keeps the schedules of the jobs; those that are there already go on. */
export async function keepSchedules(schedules: ScheduleStore, jobs: readonly RecurringJob[]): Promise<void> {
  for (const { kind, schedule } of jobs) {
    readSchedule(schedule);
    await schedules.put({ kind, key: "", text: schedule, payload: null, isEnabled: true });
  }
}

/** The handlers of the jobs, by kind. */
export function recurringHandlers(jobs: readonly RecurringJob[]): Record<string, JobHandler> {
  return Object.fromEntries(
    jobs.map((job) => [job.kind, { run: (_, { signal }) => job.run(signal), giveUp: () => Promise.resolve() } satisfies JobHandler]),
  );
}
