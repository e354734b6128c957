/** Ages of stored values in words. */

import { formatDuration } from "../../../domain/duration.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { durationMs } from "./feature-text.ts";

/** Features with the greatest age of a stored value: `user.name up to 10m, user.age of any age`. */
export function stalenessText(staleness: Readonly<Record<string, string>>): string {
  return Object.entries(staleness)
    .map(([feature, length]) => {
      const ms = durationMs(length);
      return `${escapeControls(readableName(feature))} ${ms === Number.POSITIVE_INFINITY ? "of any age" : `up to ${formatDuration(ms)}`}`;
    })
    .join(", ");
}
