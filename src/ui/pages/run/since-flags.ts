/** Ranges as flags of commands that look back from now. */

import { rangeText, type TimeRange } from "../../parts/time-range.ts";

/** `--since 1h`; none for a range between two times, which those commands do not take. */
export function sinceFlags(range: TimeRange): readonly string[] {
  return range.lastMs === undefined ? [] : ["--since", rangeText(range)];
}
