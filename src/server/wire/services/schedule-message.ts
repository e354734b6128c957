/** How schedules stand, as messages of what runs by them. */

import { msToTimestamp } from "../../../domain/proto-time.ts";
import type { LiveSchedule } from "../../deployments/live-schedules.ts";

/** The members that all messages of what runs by a schedule have. */
export function standingMessage({ isPaused, lastAt, nextAt, nextRuns }: Pick<LiveSchedule, "isPaused" | "lastAt" | "nextAt" | "nextRuns">) {
  return {
    paused: isPaused,
    nextRunsAt: nextRuns.map(msToTimestamp),
    ...(nextAt !== undefined && { nextRunAt: msToTimestamp(nextAt) }),
    ...(lastAt !== undefined && { lastRunAt: msToTimestamp(lastAt) }),
  };
}
