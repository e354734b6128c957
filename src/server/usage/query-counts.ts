/**
 * The count of this node's queries, in memory: counting one costs a look-up and some additions.
 * What was counted is added to the store again and again, and a last time at the end; a process
 * that is killed loses what it counted since, and nothing counts twice.
 */

import type { Clock } from "../../context/clock.ts";
import { DAY_MS, dayOf } from "../../domain/day.ts";
import type { Log } from "../log.ts";
import { DEFAULT_RESOURCE_GROUP, NO_USE, type QueryKind, type UsageStore } from "../stores/metadata/usage.ts";

/** Milliseconds between two additions to the store. */
const FLUSH_MS = 10_000;

/** A query that has ended. */
export interface EndedQuery {
  readonly kind: QueryKind;
  readonly environmentId: string;
  /** When it ended, epoch milliseconds. */
  readonly endedAt: number;
  /** Rows that were answered. */
  readonly rows: number;
  /** Whether it was answered without errors. */
  readonly isOk: boolean;
}

/** The count of queries. */
export interface QueryCounts {
  /** Counts a query. */
  count(query: EndedQuery): void;
  /** Adds what was counted to the store. Never rejects: what cannot be written stays counted. */
  flush(): Promise<void>;
  /** Adds what was counted a last time. */
  close(): Promise<void>;
}

/** What was counted of one kind, environment and day. */
interface Tally {
  readonly kind: QueryKind;
  readonly environmentId: string;
  /** Days since 1970. */
  readonly day: number;
  queries: number;
  rows: number;
  errors: number;
}

/** Begins to count. */
export function createQueryCounts({
  store,
  clock,
  log,
}: {
  readonly store: Pick<UsageStore, "add">;
  readonly clock: Clock;
  readonly log: Log;
}): QueryCounts {
  /** The tallies that are added to, by environment, and all that are not written yet. */
  const current: Readonly<Record<QueryKind, Map<string, Tally>>> = { query: new Map(), bulk_query: new Map() };
  let unwritten: Tally[] = [];
  let written = Promise.resolve();
  const stopping = new AbortController();

  const tallyOf = (kind: QueryKind, environmentId: string, day: number): Tally => {
    const found = current[kind].get(environmentId);
    if (found?.day === day) return found;
    const tally = { kind, environmentId, day, queries: 0, rows: 0, errors: 0 };
    current[kind].set(environmentId, tally);
    unwritten.push(tally);
    return tally;
  };
  const write = async (): Promise<void> => {
    const taken = unwritten;
    if (taken.length === 0) return;
    unwritten = [];
    for (const tallies of Object.values(current)) tallies.clear();
    try {
      await store.add(
        taken.map(({ day, ...counted }) => ({
          ...NO_USE,
          ...counted,
          ...{ day: dayOf(day * DAY_MS), resourceGroup: DEFAULT_RESOURCE_GROUP },
        })),
      );
    } catch (error) {
      for (const { kind, environmentId, day, queries, rows, errors } of taken) {
        const tally = tallyOf(kind, environmentId, day);
        tally.queries += queries;
        tally.rows += rows;
        tally.errors += errors;
      }
      log.warning("the count of queries could not be written and is kept", { error: String(error) });
    }
  };
  const flush = (): Promise<void> => {
    written = written.then(write);
    return written;
  };
  const flushing = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(FLUSH_MS, stopping.signal).catch(() => undefined);
      await flush();
    }
  })();

  return {
    count({ kind, environmentId, endedAt, rows, isOk }) {
      const tally = tallyOf(kind, environmentId, Math.floor(endedAt / DAY_MS));
      tally.queries++;
      tally.rows += rows;
      if (!isOk) tally.errors++;
    },
    flush,
    async close() {
      stopping.abort();
      await flushing;
    },
  };
}
