/**
 * Instants. On the wire they are `google.protobuf.Timestamp`; as a feature's value they are canonical text,
 * `YYYY-MM-DDTHH:MM:SS.ffffffZ`, whose order as text is their order in time; in code about time they are epoch milliseconds.
 */

import { parseDuration } from "./duration.ts";

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;

/** The grammar, for messages about an instant that was not understood. */
export const TIMESTAMP_GRAMMAR = "an ISO 8601 time with a zone such as 2024-05-01T12:00:00Z, or relative such as 24h";

/** An instant with microseconds, as it was written. */
export interface Instant {
  /** Microseconds since 1970-01-01T00:00:00Z. */
  readonly micros: bigint;
  /** Whether the text named a zone; without one UTC was assumed. */
  readonly zoned: boolean;
}

/** Reads an ISO 8601 date or date and time; a missing zone means UTC. Undefined when it is none, or when the date does not exist. */
export function parseInstant(text: string): Instant | undefined {
  const match = RFC3339.exec(text.trim());
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((i) => Number(match[i] ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const zone = match[8];
  let offsetMinutes = 0;
  if (zone && zone !== "Z" && zone !== "z") {
    const digits = zone.slice(1).replace(":", "");
    offsetMinutes = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0)) * (zone[0] === "-" ? -1 : 1);
  }
  const fraction = BigInt((match[7] ?? "").padEnd(6, "0").slice(0, 6));
  const micros = BigInt(date.getTime() - offsetMinutes * 60_000) * 1000n + fraction;
  return { micros, zoned: zone !== undefined };
}

/**
 * Reads an instant as a flag takes it: ISO 8601, a date, `now`, or relative to now (`24h`, `-24h`, `24h ago`). Returns epoch
 * milliseconds, or undefined. With `requireZone` a time without zone and the relative forms are refused.
 */
export function parseTimestamp(text: string, options: { now: number; requireZone?: boolean }): number | undefined {
  const source = text.trim();
  const instant = parseInstant(source);
  if (instant) return options.requireZone && !instant.zoned ? undefined : Number(instant.micros / 1000n);
  if (options.requireZone) return undefined;
  if (source === "now") return options.now;
  const ago = parseDuration(source.replace(/^-/, "").replace(/\s*ago$/, ""));
  return ago === undefined || ago === Number.POSITIVE_INFINITY ? undefined : options.now - ago;
}

/** Canonical text of an instant: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always 27 characters for years 0 to 9999. */
export function formatMicros(micros: bigint): string {
  const ms = micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n);
  const below = micros - ms * 1000n;
  return `${new Date(Number(ms)).toISOString().slice(0, 23)}${below.toString().padStart(3, "0")}Z`;
}

/** RFC 3339 in UTC without needless digits, for people and JSON: `2024-05-01T12:00:00Z`, `2024-05-01T12:00:00.25Z`. */
export function formatTimestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.?0*Z$/, "Z");
}
