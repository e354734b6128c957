/** Dates and instants, in UTC. */

import { type FeatureValue, normalizeInt } from "../../value.ts";
import { defineFamily, type Int } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { addDays, dayNumber, daysBetween, microsOf, textOfMicros } from "../instant.ts";
import { lengthOfSeconds, secondsOf } from "../length.ts";

const HOUR = 3_600_000_000n;
const FIXED_UNITS: Readonly<Record<string, bigint>> = {
  microsecond: 1n,
  millisecond: 1000n,
  second: 1_000_000n,
  minute: 60_000_000n,
  hour: HOUR,
  day: 24n * HOUR,
  week: 168n * HOUR,
};

const weekday = (text: string): number => ((((dayNumber(text) + 3) % 7) + 7) % 7) + 1;
const part = (from: number, to: number) => (text: string) => Number(text.slice(from, to));
const floorDivide = (a: bigint, b: bigint): bigint => (a % b < 0n ? a / b - 1n : a / b);

function unitOf(word: string): string {
  const unit = word.toLowerCase().replace(/s$/, "");
  if (unit in FIXED_UNITS || ["month", "quarter", "year"].includes(unit)) return unit;
  throw new EvaluationError(
    `unknown unit ${JSON.stringify(word)}: year, quarter, month, week, day, hour, minute, second, millisecond or microsecond`,
  );
}

function checkUnit([unit]: readonly (FeatureValue | undefined)[]): void {
  if (typeof unit === "string") unitOf(unit);
}

function truncate(unit: string, at: string): string {
  if (unit === "year") return `${at.slice(0, 4)}-01-01`;
  if (unit === "quarter") return `${at.slice(0, 5)}${String(Math.floor((Number(at.slice(5, 7)) - 1) / 3) * 3 + 1).padStart(2, "0")}-01`;
  if (unit === "month") return `${at.slice(0, 7)}-01`;
  return addDays(at.slice(0, 10), unit === "week" ? 1 - weekday(at) : 0);
}

/** Functions of dates and instants. */
export const DATES = defineFamily("dates", {
  from_unix_seconds: {
    doc: "The instant so many seconds after 1970-01-01 00:00 UTC.",
    example: "F.from_unix_seconds(_.created)",
    parameters: ["seconds"],
    overloads: [
      ["int -> datetime", (seconds: Int) => textOfMicros(BigInt(seconds) * 1_000_000n)],
      [
        "float -> datetime",
        (seconds: number) => {
          if (!Number.isFinite(seconds)) throw new EvaluationError(`from_unix_seconds of ${seconds}`);
          const whole = Math.floor(seconds);
          return textOfMicros(BigInt(whole) * 1_000_000n + BigInt(Math.round((seconds - whole) * 1e6)));
        },
      ],
    ],
  },
  from_unix_milliseconds: {
    doc: "The instant so many milliseconds after 1970-01-01 00:00 UTC.",
    example: "F.from_unix_milliseconds(_.created)",
    parameters: ["milliseconds"],
    overloads: [["int -> datetime", (ms: Int) => textOfMicros(BigInt(ms) * 1000n)]],
  },
  unix_seconds: {
    doc: "Seconds from 1970-01-01 00:00 UTC to the instant, with a fraction.",
    example: "F.unix_seconds(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> float", (at: string) => secondsOf(normalizeInt(microsOf(at)))]],
  },
  unix_milliseconds: {
    doc: "Whole milliseconds from 1970-01-01 00:00 UTC to the instant, rounded down.",
    example: "F.unix_milliseconds(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> int", (at: string) => normalizeInt(floorDivide(microsOf(at), 1000n))]],
  },
  year: {
    doc: "The year.",
    example: "F.year(_.at)",
    parameters: ["at"],
    overloads: [
      ["datetime -> int", part(0, 4)],
      ["date -> int", part(0, 4)],
    ],
  },
  month: {
    doc: "The month, 1 to 12.",
    example: "F.month(_.at)",
    parameters: ["at"],
    overloads: [
      ["datetime -> int", part(5, 7)],
      ["date -> int", part(5, 7)],
    ],
  },
  day: {
    doc: "The day of the month, 1 to 31.",
    example: "F.day(_.at)",
    parameters: ["at"],
    overloads: [
      ["datetime -> int", part(8, 10)],
      ["date -> int", part(8, 10)],
    ],
  },
  hour: {
    doc: "The hour, 0 to 23.",
    example: "F.hour(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> int", part(11, 13)]],
  },
  minute: {
    doc: "The minute, 0 to 59.",
    example: "F.minute(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> int", part(14, 16)]],
  },
  second: {
    doc: "The second, 0 to 59.",
    example: "F.second(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> int", part(17, 19)]],
  },
  day_of_week: {
    doc: "The day of the week: Monday is 1, Sunday is 7.",
    example: "F.day_of_week(_.at)",
    parameters: ["at"],
    overloads: [
      ["datetime -> int", weekday],
      ["date -> int", weekday],
    ],
  },
  day_of_year: {
    doc: "The day of the year, 1 to 366.",
    example: "F.day_of_year(_.at)",
    parameters: ["at"],
    overloads: [
      ["datetime -> int", (at: string) => dayNumber(at) - dayNumber(`${at.slice(0, 4)}-01-01`) + 1],
      ["date -> int", (at: string) => dayNumber(at) - dayNumber(`${at.slice(0, 4)}-01-01`) + 1],
    ],
  },
  to_date: {
    doc: "The date of an instant.",
    example: "F.to_date(_.at)",
    parameters: ["at"],
    overloads: [["datetime -> date", (at: string) => at.slice(0, 10)]],
  },
  to_datetime: {
    doc: "The first instant of a date.",
    example: "F.to_datetime(_.birthday)",
    parameters: ["day"],
    overloads: [["date -> datetime", (day: string) => `${day}T00:00:00.000000Z`]],
  },
  date_trunc: {
    doc: "The beginning of the year, quarter, month, week (Monday), day, hour, minute or second that an instant or a date is in.",
    example: 'F.date_trunc("hour", _.at)',
    parameters: ["unit", "at"],
    checkConstants: checkUnit,
    overloads: [
      [
        "str, datetime -> datetime",
        (word: string, at: string) => {
          const unit = unitOf(word);
          const size = FIXED_UNITS[unit];
          if (!size || size >= 24n * HOUR) return `${truncate(unit, at)}T00:00:00.000000Z`;
          return textOfMicros(floorDivide(microsOf(at), size) * size);
        },
      ],
      ["str, date -> date", (word: string, day: string) => truncate(unitOf(word), day)],
    ],
  },
  date_diff: {
    doc: "How many whole units lie between two instants or dates; negative when the second is the earlier one.",
    example: 'F.date_diff("day", _.created, _.closed)',
    parameters: ["unit", "start", "end"],
    checkConstants: checkUnit,
    overloads: [
      ["str, datetime, datetime -> int", difference],
      ["str, date, date -> int", (unit: string, start: string, end: string) => difference(unit, atMidnight(start), atMidnight(end))],
    ],
  },
  days_between: {
    doc: "Days from one date to another.",
    example: "F.days_between(_.born, F.to_date(_.at))",
    parameters: ["start", "end"],
    overloads: [["date, date -> int", daysBetween]],
  },
  total_seconds: {
    doc: "A length of time in seconds, with a fraction.",
    example: "F.total_seconds(_.closed - _.created)",
    parameters: ["length"],
    overloads: [["timedelta -> float", secondsOf]],
  },
  seconds: {
    doc: "A length of time from seconds.",
    example: "_.at + F.seconds(_.delay)",
    parameters: ["count"],
    overloads: [["float -> timedelta", lengthOfSeconds]],
  },
});

function atMidnight(day: string): string {
  return `${day}T00:00:00.000000Z`;
}

function difference(word: string, start: string, end: string): Int {
  const unit = unitOf(word);
  const micros = microsOf(end) - microsOf(start);
  const size = FIXED_UNITS[unit];
  if (size) return normalizeInt(micros / size);
  if (micros < 0n) return 0 - Number(difference(word, end, start));
  const months = (Number(end.slice(0, 4)) - Number(start.slice(0, 4))) * 12 + Number(end.slice(5, 7)) - Number(start.slice(5, 7));
  const whole = end.slice(8) < start.slice(8) ? months - 1 : months;
  return Math.floor(whole / (unit === "year" ? 12 : unit === "quarter" ? 3 : 1));
}
