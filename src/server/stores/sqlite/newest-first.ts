/**
 * Records of a table in the order of their arrival, looked through from the newest on in steps of
 * bounded size. Each has a `seq`, which grows, and a time, which nearly does.
 */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { Condition } from "../../../domain/search/condition.ts";

/** Records that one step looks at, and milliseconds after which a page ends without more. */
const STEP_ROWS = 20_000;
const PAGE_MS = 100;

/** What is looked for. */
export interface NewestFirst {
  readonly table: string;
  /** What is selected of a record; `seq` is among it. */
  readonly columns: string;
  /** The column with the time. */
  readonly time: string;
  /** How much later than others of their time records may arrive, in the unit of the time. */
  readonly late: number;
  /** Earliest time, inclusive, and latest, exclusive; default: unbounded. */
  readonly from?: number | undefined;
  readonly before?: number | undefined;
  readonly condition: Condition;
  /** Whether an index finds what fits the condition, so that no steps are needed. */
  readonly isIndexed?: boolean;
}

/**
 * At most `limit` records behind `beforeSeq`, newest first. `next` is where more may be; a page
 * with fewer records than were asked for may be followed by another.
 */
export function newestFirst<R extends { readonly seq: number }>(
  db: Database,
  { table, columns, time, late, from, before, condition, isIndexed = false }: NewestFirst,
  limit: number,
  beforeSeq = Number.MAX_SAFE_INTEGER,
): { records: R[]; next: number | undefined } {
  const { low: oldest, high: newest } = edgesOf(db, table);
  const least = Math.max(oldest, from === undefined ? 0 : firstSince(db, table, time, from - late)) - 1;
  let high = Math.min(beforeSeq, newest + 1, before === undefined ? Infinity : firstSince(db, table, time, before + late));
  const parts = [condition.sql, ...(from === undefined ? [] : [`${time} >= ?`]), ...(before === undefined ? [] : [`${time} < ?`])];
  const parameters = [...condition.parameters, ...[from, before].filter((one) => one !== undefined)];
  const query = db.query<R, SQLQueryBindings[]>(
    `select ${columns} from ${table} where seq > ? and seq < ? and ${parts.join(" and ")} order by seq desc limit ?`,
  );
  const records: R[] = [];
  const until = performance.now() + PAGE_MS;
  while (high > least + 1) {
    const low = isIndexed ? least : Math.max(least, high - 1 - STEP_ROWS);
    records.push(...query.all(low, high, ...parameters, limit - records.length));
    if (records.length >= limit) return { records, next: records.at(-1)?.seq };
    high = low + 1;
    if (performance.now() > until && high > least + 1) return { records, next: high };
  }
  return { records, next: undefined };
}

/** The places of the oldest and the newest record. */
function edgesOf(db: Database, table: string): { readonly low: number; readonly high: number } {
  const edge = (which: "min" | "max"): number =>
    db.query<{ seq: number | null }, []>(`select ${which}(seq) as seq from ${table}`).get()?.seq ?? 0;
  return { low: edge("min"), high: edge("max") };
}

/**
 * The place of the first record at or after a time, as if records came in the order of their times;
 * one behind the last when there is none.
 */
function firstSince(db: Database, table: string, column: string, at: number): number {
  const edges = edgesOf(db, table);
  const next = db.query<{ seq: number; at: number }, [number]>(
    `select seq, ${column} as at from ${table} where seq >= ? order by seq limit 1`,
  );
  let { low } = edges;
  let high = edges.high + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = next.get(middle);
    if (found && found.at < at) low = found.seq + 1;
    else high = middle;
  }
  return low;
}
