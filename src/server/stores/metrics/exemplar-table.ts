/** Traces of the greatest values of series, by hour and power of two. */

import type { Database } from "bun:sqlite";
import { type Exemplar, MAX_EXEMPLARS } from "./store.ts";

/** Bound of powers of two that are told apart, in both directions: 2 to the 40th seconds. */
const MOST_MAGNITUDE = 40;

/** The traces of all series. Every method throws what SQLite does. */
export class ExemplarTable {
  constructor(private readonly db: Database) {}

  /**
   * Keeps the trace of a value of a series in an hour, unless a greater one of its power of two is
   * there. One without a value that is a number is left out.
   */
  add(series: number, hour: number, { at, traceId, value }: Exemplar): void {
    if (!Number.isFinite(value)) return;
    this.db
      .query(
        `insert into exemplar (series, hour, magnitude, value, trace_id, at) values (?, ?, ?, ?, ?, ?)
         on conflict do update set value = excluded.value, trace_id = excluded.trace_id, at = excluded.at where excluded.value > value`,
      )
      .run(series, hour, magnitudeOf(value), value, traceId, Math.floor(at));
  }

  /** Those of a series whose time is in a range, from an hour on; the greatest first. */
  read(series: number, hour: number, from: number, before: number): Exemplar[] {
    return this.db
      .query<Exemplar, [number, number, number, number, number]>(
        `select value, trace_id as traceId, at from exemplar where series = ? and hour >= ? and at >= ? and at < ?
         order by value desc, at limit ?`,
      )
      .all(series, hour, from, before, MAX_EXEMPLARS);
  }

  /** Removes the hours before one. */
  removeBefore(hour: number): void {
    this.db.query("delete from exemplar where hour < ?").run(hour);
  }

  /** Removes the oldest tenth of the hours, one at least. */
  removeTenth(hourMs: number): void {
    const { first, last } = this.db
      .query<{ first: number | null; last: number | null }, []>("select min(hour) as first, max(hour) as last from exemplar")
      .get() ?? { first: null, last: null };
    if (first !== null && last !== null) this.removeBefore(Math.floor((first + (last - first) / 10) / hourMs) * hourMs + hourMs);
  }
}

/** The power of two below a value, within bounds; the least one for what is not above zero. */
function magnitudeOf(value: number): number {
  return value > 0 ? Math.min(Math.max(Math.floor(Math.log2(value)), -MOST_MAGNITUDE), MOST_MAGNITUDE) : -MOST_MAGNITUDE;
}
