/** Canonical text of datetimes and dates as numbers, without the general parser. */

import { formatMicros } from "../timestamp.ts";
import { EvaluationError } from "./evaluation-error.ts";

const FIRST = microsOf("0001-01-01T00:00:00.000000Z");
const LAST = microsOf("9999-12-31T23:59:59.999999Z");
const DAY_MS = 86_400_000;

/** Microseconds since 1970 of a canonical datetime. */
export function microsOf(text: string): bigint {
  const ms =
    millisOfDay(text) + Number(text.slice(11, 13)) * 3_600_000 + Number(text.slice(14, 16)) * 60_000 + Number(text.slice(17, 19)) * 1000;
  const below = Number(text.slice(20, 26));
  const micros = ms * 1000 + below;
  return Number.isSafeInteger(micros) ? BigInt(micros) : BigInt(ms) * 1000n + BigInt(below);
}

/** Milliseconds from 1970 to the beginning of the day that a date or datetime names. */
function millisOfDay(text: string): number {
  const year = Number(text.slice(0, 4));
  const [month, day] = [Number(text.slice(5, 7)) - 1, Number(text.slice(8, 10))];
  if (year > 99) return Date.UTC(year, month, day);
  const date = new Date(0);
  return date.setUTCFullYear(year, month, day);
}

/** Canonical text of an instant; throws when it is outside of the years 1 to 9999. */
export function textOfMicros(micros: bigint): string {
  if (micros < FIRST || micros > LAST) throw new EvaluationError("the time is outside of the years 1 to 9999");
  return formatMicros(micros);
}

/** Days since 1970 of a date (or of a datetime's date). */
export function dayNumber(text: string): number {
  return millisOfDay(text) / DAY_MS;
}

/** Whole days from one date to another. */
export function daysBetween(from: string, to: string): number {
  return dayNumber(to) - dayNumber(from);
}

/** The date so many days later; throws when it is outside of the years 1 to 9999. */
export function addDays(day: string, days: number): string {
  const ms = millisOfDay(day) + days * DAY_MS;
  if (!(Math.abs(ms) <= 8.64e15)) throw new EvaluationError("the date is outside of the years 1 to 9999");
  return textOfMicros(BigInt(ms) * 1000n).slice(0, 10);
}
