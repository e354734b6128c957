/** The states of jobs, as they are shown and asked for. */

import { JobState } from "../../gen/svc/v1/job_pb.ts";

/** The states by name: a queued job is `scheduled` once it is due. */
export const JOB_STATES = {
  scheduled: JobState.SCHEDULED,
  running: JobState.RUNNING,
  completed: JobState.COMPLETED,
  failed: JobState.FAILED,
  canceled: JobState.CANCELED,
  not_ready: JobState.NOT_READY,
} as const;

/** The name of a state. */
export type JobStateName = keyof typeof JOB_STATES;
