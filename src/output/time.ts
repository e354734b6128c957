/** Times as text for people. */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { formatTimestamp } from "../domain/timestamp.ts";
import type { Style } from "./view.ts";

const UNITS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
] as const;

/**
 * The age of a time in its largest whole unit, such as `3h ago`; never below zero, empty for a time
 * that is not set.
 */
export function age(at: Timestamp | undefined, { now }: Pick<Style, "now">): string {
  if (!at) return "";
  const seconds = Math.max(0, Math.floor(now / 1000 - Number(at.seconds) - at.nanos / 1e9));
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)}${unit} ago`;
}

/** A time to the second, `2024-05-01T12:00:00Z`; empty for a time that is not set. */
export function timeText(at: Timestamp | undefined): string {
  return at ? formatTimestamp(Number(at.seconds) * 1000) : "";
}
