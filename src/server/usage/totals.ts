/** Use added up by period and label. */

import { NO_USE, type UsageFigures, type UsageRecord } from "../stores/metadata/usage.ts";

/** What one label used in one period. */
export interface UsageTotal extends UsageFigures {
  /** `YYYY-MM-DD` or `YYYY-MM`. */
  readonly date: string;
  readonly label: string;
  /** The queries among `queries` that were for many rows. */
  readonly bulkQueries: number;
}

/** How use is added up. */
export interface Totalling {
  readonly period: "day" | "month";
  readonly label: (record: UsageRecord) => string;
}

/** Adds use up by period and label, sorted by both. */
export function addUpUsage(records: readonly UsageRecord[], { period, label }: Totalling): UsageTotal[] {
  const totals = new Map<string, UsageTotal>();
  for (const record of records) {
    const date = period === "day" ? record.day : record.day.slice(0, 7);
    const key = `${date} ${label(record)}`;
    const before = totals.get(key) ?? { date, label: label(record), bulkQueries: 0, ...NO_USE };
    totals.set(key, {
      ...before,
      ...addFigures(before, record),
      bulkQueries: before.bulkQueries + (record.kind === "bulk_query" ? record.queries : 0),
    });
  }
  return [...totals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total);
}

function addFigures(one: UsageFigures, other: UsageFigures): UsageFigures {
  const sums = (Object.keys(NO_USE) as (keyof UsageFigures)[]).map((name) => [name, one[name] + other[name]] as const);
  return Object.fromEntries(sums) as unknown as UsageFigures;
}
