import type { Database } from "bun:sqlite";
import { daysBetween } from "../../../domain/day.ts";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, oneOf, real, rowCodec, text } from "../sqlite/row-codec.ts";
import { NO_USE, type UsageRecord, type UsageStore } from "./usage.ts";

/** The rows of a day. */
const DAYS = rowCodec<UsageRecord>("usage_day", {
  day: text,
  environmentId: text,
  resourceGroup: text,
  kind: oneOf(),
  cpuMs: integer,
  wallMs: integer,
  memoryByteMs: real,
  queries: integer,
  rows: integer,
  errors: integer,
  storageByteMs: real,
});

/** The figures of a row, each with what is added to it. */
const SUMS = Object.keys(DAYS.assignments(NO_USE).parameters).map((column) => `${column} = ${column} + excluded.${column}`);

/** The use of the SQLite driver. */
export interface SqliteUsage {
  readonly usage: UsageStore;
  /** Adds use within the transaction of another write. */
  readonly addUse: (used: readonly UsageRecord[]) => void;
}

/** Makes the use of the SQLite driver. */
export function usageQueries(db: Database, writer: Writer, now: () => number): SqliteUsage {
  const addUse = (used: readonly UsageRecord[]): void => {
    for (const record of used) db.query(`${DAYS.insert} on conflict do update set ${SUMS.join(", ")}`).run(DAYS.parameters(record));
  };
  return {
    addUse,
    usage: {
      add: (used) => writer.write(() => addUse(used)),

      hold: (place, held, longestMs) =>
        writer.write(() => {
          const at = now();
          const before = db.query<{ at: number }, [string]>("select at from usage_held where place = ?").get(place)?.at ?? at;
          db.query("insert into usage_held (place, at) values (?1, ?2) on conflict do update set at = ?2").run(place, at);
          for (const { day, ms } of daysBetween(Math.max(before, at - longestMs), at))
            addUse(held.map(({ bytes, ...of }) => ({ ...NO_USE, ...of, day, storageByteMs: bytes * ms })));
        }),

      async between(from, until) {
        return db
          .query<object, [string, string]>(
            "select * from usage_day where day >= ? and day <= ? order by day, environment_id, resource_group, kind",
          )
          .all(from, until)
          .map(DAYS.record);
      },
    },
  };
}
