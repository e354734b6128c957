/** Levels of lines as pages show them: in four groups, and counted over time. */

import type { LogCountJson } from "../../../../gen/svc/v1/log_pb.ts";
import type { Tone } from "../../parts/status.tsx";

/** Levels that are counted as one, those that matter most first. */
export const LEVEL_GROUPS = [
  { name: "Errors", levels: ["fatal", "error"], tone: "bad" },
  { name: "Warnings", levels: ["warning"], tone: "warn" },
  { name: "Info", levels: ["info"], tone: "dim" },
  { name: "Debug", levels: ["debug", "trace"], tone: "dim" },
] as const satisfies readonly { readonly name: string; readonly levels: readonly string[]; readonly tone: Tone }[];

/** The tone of a level. */
export function levelTone(level: string): Tone {
  return LEVEL_GROUPS.find(({ levels }) => levels.some((one) => one === level))?.tone ?? "dim";
}

/** A window of time with its lines, by group. */
export interface LevelBar {
  /** Its beginning and end in milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Numbers of lines in the order of the groups. */
  readonly counts: readonly number[];
}

/** Most windows that are drawn. */
const MOST_BARS = 1_001;

/** The windows between two times, those without lines too. */
export function levelBars(counts: readonly LogCountJson[], startMs: number, endMs: number, windowMs: number): readonly LevelBar[] {
  if (!(windowMs > 0) || !(startMs < endMs)) return [];
  const first = Math.floor(startMs / windowMs);
  const number = Math.min(Math.ceil(endMs / windowMs) - first, MOST_BARS);
  const bars = Array.from({ length: number }, (_, at) => ({
    from: (first + at) * windowMs,
    to: (first + at + 1) * windowMs,
    counts: LEVEL_GROUPS.map(() => 0),
  }));
  for (const { count = "0", level = "", startTime = "" } of counts) {
    const bar = bars[Math.round(Date.parse(startTime) / windowMs) - first];
    const group = LEVEL_GROUPS.findIndex(({ levels }) => levels.some((one) => one === level));
    if (bar && group >= 0) bar.counts[group] = (bar.counts[group] ?? 0) + Number(count);
  }
  return bars;
}
