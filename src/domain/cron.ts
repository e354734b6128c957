/** Schedules: five-field cron expressions in UTC, or a duration between runs. */

import { parseDuration } from "./duration.ts";

/** The grammar, for messages about a schedule that was not understood. */
export const SCHEDULE_GRAMMAR = 'a cron expression of five fields such as "30 2 * * *", or a duration such as 15m or 1d';

/**
 * The times at which something runs: every so many milliseconds (above zero, finite), or those of a
 * cron expression.
 */
export type ScheduleTimes =
  | { readonly everyMs: number }
  /**
   * Five fields in a form that every reader of cron understands alike: `*`, or a list of numbers
   * (Sunday is 0). When day of month and day of week are both lists, a day of either is meant.
   */
  | { readonly cron: string };

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, words: MONTHS },
  { name: "day of week", min: 0, max: 7, words: DAYS },
];
const NAMED: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** The error of a schedule that is not understood; its message says what is wrong. */
class NotUnderstood extends Error {}

/** The problem of a text that should be a schedule, for messages; undefined when it is one. */
export function scheduleProblem(text: string): string | undefined {
  try {
    readSchedule(text);
    return undefined;
  } catch (error) {
    if (error instanceof NotUnderstood) return error.message;
    throw error;
  }
}

/** The times of a schedule. Throws an error with the message that `scheduleProblem` gives. */
export function readSchedule(text: string): ScheduleTimes {
  const source = text.trim().toLowerCase();
  if (source === "") throw new NotUnderstood("it is empty");
  const named = NAMED[source];
  if (named !== undefined) return { cron: named };
  const everyMs = parseDuration(source);
  if (everyMs !== undefined) {
    if (everyMs > 0 && Number.isFinite(everyMs)) return { everyMs };
    throw new NotUnderstood("the time between runs must be longer than zero");
  }
  const parts = source.split(/\s+/);
  if (parts.length !== FIELDS.length) throw new NotUnderstood(`it has ${parts.length} ${parts.length === 1 ? "field" : "fields"}`);
  return { cron: FIELDS.map((field, index) => readField(parts[index] as string, field)).join(" ") };
}

function readField(text: string, field: Field): string {
  if (text === "*") return text;
  const days = field.words === DAYS;
  const values = text.split(",").flatMap((range) => valuesOf(range, field, text));
  return [...new Set(values.map((value) => (days ? value % 7 : value)))].sort((a, b) => a - b).join(",");
}

/**
 * The values of a range: `*`, `5`, `1-5`, each with a step behind a slash; `5/15` goes on to the
 * field's end.
 */
function valuesOf(text: string, field: Field, whole: string): number[] {
  const refused = (problem: string) => new NotUnderstood(`${field.name} '${whole}' ${problem}`);
  const match = /^(\*|\w+(?:-\w+)?)(?:\/(\w+))?$/.exec(text);
  if (!match) throw refused("is not understood");
  const [, range = "", step] = match;
  if (step !== undefined && (!/^\d+$/.test(step) || Number(step) < 1)) throw refused("has a step that is no number above zero");
  const [first, last] = range === "*" ? [field.min, field.max] : range.split("-").map((end) => endOf(end, field));
  if (first === undefined || (range.includes("-") && last === undefined)) throw refused(`is outside of ${field.min}-${field.max}`);
  const end = last ?? (step === undefined ? first : field.max);
  if (end < first) throw refused("runs backwards");
  const by = Number(step ?? 1);
  return Array.from({ length: Math.floor((end - first) / by) + 1 }, (_, index) => first + index * by);
}

function endOf(text: string, field: Field): number | undefined {
  const word = field.words?.indexOf(text) ?? -1;
  if (word >= 0) return field.words === MONTHS ? word + 1 : word;
  if (!/^\d{1,4}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= field.min && value <= field.max ? value : undefined;
}
