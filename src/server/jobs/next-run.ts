/** When a schedule runs next. */

import { readSchedule } from "../../domain/cron.ts";

/**
 * A time that never comes: what a schedule such as `0 0 31 2 *` runs at. It is the last one that a
 * Date has, epoch milliseconds.
 */
export const NEVER = 8.64e15;

/** The shortest time between two runs: a schedule that is shorter runs this often. */
const SHORTEST_MS = 100;

/**
 * The first run of a schedule after a time, epoch milliseconds in UTC; NEVER when there is none.
 * Durations are counted from `anchorAt`, so that runs keep their distance however late one begins.
 * Rejects when the text is no schedule.
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
