/**
 * The platform's own recurring jobs, run by a schedule, one run of each at a time among all nodes.
 */

import { readSchedule } from "../../domain/cron.ts";
import type { ScheduleStore } from "../stores/metadata/schedules.ts";
import type { JobHandler } from "./runner.ts";

/** A recurring job of the platform. */
export interface RecurringJob {
  readonly kind: string;
  /** A cron expression in UTC, or a duration. */
  readonly schedule: string;
  /** Does one run. An earlier attempt may have done part of it already. */
  run(signal: AbortSignal): Promise<void>;
}

/** Stores the schedules of the jobs; those that exist already continue. */
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
