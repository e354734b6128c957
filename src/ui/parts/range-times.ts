/**
 * The times of a range for calls, which stay the same for a while: a call is not asked anew each
 * second.
 */

import type { TimeRange } from "./time-range.ts";

/** Parts of a range after which its times move on. */
const STEPS = 120;
const LEAST_STEP_MS = 10_000;

/** The times of a range in ISO 8601. The end of one that moves on is the next full step. */
export function rangeTimes({ from, lastMs, to }: TimeRange): { readonly startTime: string; readonly endTime: string } {
  if (lastMs === undefined) return { startTime: new Date(from).toISOString(), endTime: new Date(to).toISOString() };
  const step = Math.max(LEAST_STEP_MS, lastMs / STEPS);
  const end = Math.ceil(to / step) * step;
  return { startTime: new Date(end - lastMs).toISOString(), endTime: new Date(end).toISOString() };
}

/** Flags of the commands that take a range: `--start 1h`, or two times. */
export function rangeFlags({ from, lastMs, to }: TimeRange, text: string): readonly string[] {
  if (lastMs !== undefined) return ["--start", text];
  return ["--start", new Date(from).toISOString(), "--end", new Date(to).toISOString()];
}
