/** Schedules: five-field cron expressions in UTC, or a duration between runs. */

import { parseDuration } from "./duration.ts";

/** The grammar, for messages about a schedule that was not understood. */
export const SCHEDULE_GRAMMAR = 'a cron expression of five fields such as "30 2 * * *", or a duration such as 15m or 1d';

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
const NAMED = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);

/** Says what is wrong with a schedule; undefined when it is one. */
export function scheduleProblem(text: string): string | undefined {
  const source = text.trim().toLowerCase();
  if (source === "") return "it is empty";
  if (NAMED.has(source)) return undefined;
  const duration = parseDuration(source);
  if (duration !== undefined)
    return duration > 0 && Number.isFinite(duration) ? undefined : "the time between runs must be longer than zero";
  const parts = source.split(/\s+/);
  if (parts.length !== FIELDS.length) return `it has ${parts.length} ${parts.length === 1 ? "field" : "fields"}`;
  for (const [index, field] of FIELDS.entries()) {
    const part = parts[index] as string;
    const problem = part
      .split(",")
      .map((range) => rangeProblem(range, field))
      .find((found) => found !== undefined);
    if (problem) return `${field.name} '${part}' ${problem}`;
  }
  return undefined;
}

function rangeProblem(text: string, field: Field): string | undefined {
  const match = /^(\*|\w+(?:-\w+)?)(?:\/(\w+))?$/.exec(text);
  if (!match) return "is not understood";
  const [, range = "", step] = match;
  if (step !== undefined && (!/^\d+$/.test(step) || Number(step) < 1)) return "has a step that is no number above zero";
  if (range === "*") return undefined;
  const ends = range.split("-").map((end) => fieldValue(end, field));
  if (ends.some((end) => end === undefined)) return `is outside of ${field.min}-${field.max}`;
  const [from, to] = ends as [number, number | undefined];
  return to !== undefined && to < from ? "runs backwards" : undefined;
}

function fieldValue(text: string, field: Field): number | undefined {
  const word = field.words?.indexOf(text) ?? -1;
  if (word >= 0) return field.words === MONTHS ? word + 1 : word;
  if (!/^\d{1,4}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= field.min && value <= field.max ? value : undefined;
}
