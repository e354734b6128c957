/** The next run of a schedule. */

import { readSchedule } from "../../domain/cron.ts";

/**
 * The next run of a schedule that never runs, such as `0 0 31 2 *`: the last time that a Date can
 * hold, epoch milliseconds.
 */
export const NEVER = 8.64e15;

/** The shortest time between two runs; a schedule with a shorter duration runs this often. */
const SHORTEST_MS = 100;

/**
 * The first run of a schedule after the time `after`, epoch milliseconds; NEVER when there is none.
 * Cron expressions are in UTC. Durations are counted from `anchorAt`, so that runs keep their
 * distance however late one begins. Rejects when the text is not a schedule.
 */
export async function nextRun(text: string, anchorAt: number, after: number): Promise<number> {
  const times = readSchedule(text);
  if ("everyMs" in times) {
    const everyMs = Math.max(times.everyMs, SHORTEST_MS);
    const runs = Math.floor((after - anchorAt) / everyMs) + 1;
    return Math.min(Math.max(after + 1, Math.ceil(anchorAt + runs * everyMs)), NEVER);
  }
  const { Cron } = await import("croner");
  const cron = new Cron(times.cron, { timezone: "UTC", mode: "5-part", paused: true });
  return cron.nextRun(new Date(after))?.getTime() ?? NEVER;
}
