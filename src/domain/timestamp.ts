/**
 * Instants. On the wire they are `google.protobuf.Timestamp`; as a feature's value they are
 * canonical text, `YYYY-MM-DDTHH:MM:SS.ffffffZ`, whose order as text is their order in time; in
 * code about time they are epoch milliseconds.
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

/** The years that Python's datetime has, 1 to 9999, in microseconds. */
const FIRST_MICROS = BigInt(Date.parse("0001-01-01T00:00:00Z")) * 1000n;
const LAST_MICROS = BigInt(Date.parse("9999-12-31T23:59:59.999Z")) * 1000n + 999n;

/**
 * The instant of an ISO 8601 date or date and time; a missing zone means UTC. Undefined when the
 * text is none, when the date does not exist, and when in UTC it is outside of the years 1 to 9999.
 */
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
  if (year < 1 || hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const zone = match[8];
  let offsetMinutes = 0;
  if (zone && zone !== "Z" && zone !== "z") {
    const digits = zone.slice(1).replace(":", "");
    const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2) || 0)];
    if (hours > 23 || minutes > 59) return undefined;
    offsetMinutes = (hours * 60 + minutes) * (zone[0] === "-" ? -1 : 1);
  }
  const fraction = BigInt((match[7] ?? "").padEnd(6, "0").slice(0, 6));
  const micros = BigInt(date.getTime() - offsetMinutes * 60_000) * 1000n + fraction;
  return micros < FIRST_MICROS || micros > LAST_MICROS ? undefined : { micros, zoned: zone !== undefined };
}

/** Days of the months of a year that is not a leap year. */
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Canonical text of an ISO 8601 time: that of `parseInstant`, but quick for what databases and
 * workers mostly write, a UTC time with `Z` and no fraction or one of up to six digits. Undefined
 * when it is no time.
 */
export function canonicalInstant(text: string): string | undefined {
  const { length } = text;
  if (length >= 20 && length <= 27 && length !== 21 && text.charCodeAt(length - 1) === 90 && isPlainUtc(text))
    return length === 27 ? text : `${text.slice(0, 19)}.${`${text.slice(20, length - 1)}000000`.slice(0, 6)}Z`;
  const instant = parseInstant(text);
  return instant && formatMicros(instant.micros);
}

/**
 * Whether text that ends in `Z` is `YYYY-MM-DDTHH:MM:SS` with nothing or a fraction of digits
 * behind it, and exists.
 */
function isPlainUtc(text: string): boolean {
  for (let i = 0; i < text.length - 1; i++) {
    const code = text.charCodeAt(i);
    const wanted = i === 4 || i === 7 ? 45 : i === 10 ? 84 : i === 13 || i === 16 ? 58 : i === 19 ? 46 : 0;
    if (wanted === 0 ? code < 48 || code > 57 : code !== wanted) return false;
  }
  const two = (at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
  const year = two(0) * 100 + two(2);
  const month = two(5);
  const day = two(8);
  if (year < 1 || month < 1 || month > 12 || two(11) > 23 || two(14) > 59 || two(17) > 59) return false;
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day >= 1 && day <= (MONTH_DAYS[month - 1] as number) + leap;
}

/**
 * Epoch milliseconds, with microseconds as their fraction, of an instant as a flag takes it: ISO
 * 8601, a date, `now`, or relative to now (`24h`, `-24h`, `24h ago`). Undefined for other text.
 * With `requireZone` a time without zone and the relative forms are refused.
 */
export function parseTimestamp(text: string, options: { now: number; requireZone?: boolean }): number | undefined {
  const source = text.trim();
  const instant = parseInstant(source);
  if (instant) return options.requireZone && !instant.zoned ? undefined : millisOf(instant.micros);
  if (options.requireZone) return undefined;
  if (source === "now") return options.now;
  const ago = parseDuration(source.replace(/^-/, "").replace(/\s*ago$/, ""));
  return ago === undefined || ago === Number.POSITIVE_INFINITY ? undefined : options.now - ago;
}

/**
 * Milliseconds of microseconds; whole ones, rounded down, where a number has no room for more.
 */
function millisOf(micros: bigint): number {
  const number = Number(micros);
  return Number.isSafeInteger(number) ? number / 1000 : Number(wholeMillis(micros));
}

/** Milliseconds of microseconds, rounded down. */
function wholeMillis(micros: bigint): bigint {
  return micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n);
}

/**
 * Canonical text of an instant: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always 27 characters for years 0 to
 * 9999.
 */
export function formatMicros(micros: number | bigint): string {
  const number = Number(micros);
  if (Number.isSafeInteger(number)) {
    const ms = Math.floor(number / 1000);
    return instantText(ms, number - ms * 1000);
  }
  const ms = wholeMillis(BigInt(micros));
  return instantText(Number(ms), Number(BigInt(micros) - ms * 1000n));
}

function instantText(ms: number, microsBelow: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}${String(microsBelow).padStart(3, "0")}Z`;
}

/**
 * RFC 3339 in UTC without needless digits, for people: `2024-05-01T12:00:00Z`,
 * `2024-05-01T12:00:00.25Z`.
 */
export function formatTimestamp(epochMs: number): string {
  return withoutZeros(new Date(epochMs).toISOString());
}

/** As `formatTimestamp`, for microseconds since 1970. */
export function formatInstant(micros: bigint): string {
  return withoutZeros(formatMicros(micros));
}

/** A text that ends in a fraction of seconds and `Z`, without the fraction's last zeros. */
function withoutZeros(text: string): string {
  let end = text.length - 1;
  while (text[end - 1] === "0") end--;
  if (text[end - 1] === ".") end--;
  return `${text.slice(0, end)}Z`;
}
