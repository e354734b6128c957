/** Ranges of time as the address has them: `1h` for the last hour, `FROM..TO` for two times. */

import { formatDuration, parseDuration } from "../../domain/duration.ts";

/** A range in milliseconds; `lastMs` is set for one that ends now and moves on. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
  readonly lastMs?: number;
}

/** The ranges that are offered. */
export const RANGES = ["15m", "1h", "6h", "1d", "7d", "30d"] as const;
const DEFAULT_MS = 3_600_000;

/** The range of a text at a time; the last hour for a text that is none. */
export function readRange(text: string, now: number): TimeRange {
  const [from = Number.NaN, to = Number.NaN] = text.split("..").map((part) => Date.parse(part));
  if (from < to) return { from, to };
  const ms = parseDuration(text);
  const lastMs = ms !== undefined && ms > 0 && Number.isFinite(ms) ? ms : DEFAULT_MS;
  return { from: now - lastMs, to: now, lastMs };
}

/** The text of a range, which `readRange` reads back. */
export function rangeText({ from, to, lastMs }: TimeRange): string {
  return lastMs === undefined ? `${new Date(from).toISOString()}..${new Date(to).toISOString()}` : formatDuration(lastMs);
}
