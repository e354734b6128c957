import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { flag, integer, json, optional, rowCodec, text } from "../sqlite/row-codec.ts";
import type { JobRecord, NewJob } from "./jobs.ts";
import type { RunJob, ScheduleKey, ScheduleRecord, ScheduleStore } from "./schedules.ts";

const SCHEDULES = rowCodec<ScheduleRecord>("schedule", {
  kind: text,
  key: text,
  text,
  scope: text,
  payload: json<unknown>(),
  isEnabled: flag,
  anchorAt: integer,
  nextAt: optional(integer),
  plannedAt: integer,
  lastAt: optional(integer),
  runs: integer,
  revision: integer,
});

/** The schedules of the SQLite backend. */
export function scheduleQueries(db: Database, writer: Writer, now: () => number, insertJob: (job: NewJob) => JobRecord): ScheduleStore {
  const find = ({ kind, key }: ScheduleKey): ScheduleRecord | undefined => {
    const row = db.query<object, [string, string]>("select * from schedule where kind = ? and key = ?").get(kind, key);
    return row ? SCHEDULES.record(row) : undefined;
  };
  const update = ({ kind, key }: ScheduleKey, patch: Partial<ScheduleRecord>): void => {
    const { sql, parameters } = SCHEDULES.assignments(patch);
    db.query(`update schedule set ${sql} where kind = $of_kind and key = $of_key`).run({ ...parameters, of_kind: kind, of_key: key });
  };
  const waits = ({ kind, group }: RunJob): boolean =>
    db.query("select 1 from job where state = 'queued' and kind = ? and resource_group = ?").get(kind, group.name) !== null;

  return {
    put: ({ kind, key, text: wanted, scope = "", payload, isEnabled: isWanted }) =>
      writer.write(() => {
        const known = find({ kind, key });
        const isEnabled = isWanted ?? known?.isEnabled ?? true;
        const at = now();
        if (!known) {
          const made: ScheduleRecord = {
            ...{ kind, key, text: wanted, scope, payload, isEnabled, anchorAt: at, plannedAt: at, runs: 0, revision: 1 },
            nextAt: undefined,
            lastAt: undefined,
          };
          db.query(SCHEDULES.insert).run(SCHEDULES.parameters(made));
          return;
        }
        const isMoved = known.text !== wanted || known.isEnabled !== isEnabled;
        if (!isMoved && JSON.stringify(known.payload) === JSON.stringify(payload)) return;
        update(known, {
          ...{ text: wanted, payload, isEnabled, revision: known.revision + 1 },
          ...(known.text === wanted ? {} : { anchorAt: at }),
          ...(isMoved ? { nextAt: undefined } : {}),
        });
      }),

    setEnabled: (key, isEnabled) =>
      writer.write(() => {
        const known = find(key);
        if (known && known.isEnabled !== isEnabled) update(known, { isEnabled, nextAt: undefined, revision: known.revision + 1 });
        return known !== undefined;
      }),

    async schedule(key) {
      return find(key);
    },

    async list(kind) {
      return db
        .query<object, [string | null]>("select * from schedule where kind = coalesce(?, kind) order by kind, key")
        .all(kind ?? null)
        .map((row) => SCHEDULES.record(row));
    },

    delete: ({ kind, key }) => writer.write(() => db.query("delete from schedule where kind = ? and key = ?").run(kind, key).changes === 1),

    async due(limit, setBackMs) {
      const at = now();
      const rows = db
        .query<object, [number, number, number]>(
          `select * from schedule where is_enabled = 1 and (next_at is null or next_at <= ? or planned_at > ?)
           order by next_at, kind, key limit ?`,
        )
        .all(at, at + setBackMs, limit);
      return { schedules: rows.map((row) => SCHEDULES.record(row)), now: at };
    },

    async nextDueIn() {
      const next = db
        .query<{ at: number | null }, []>("select min(coalesce(next_at, 0)) as at from schedule where is_enabled = 1")
        .get()?.at;
      return next === null || next === undefined ? undefined : Math.max(0, next - now());
    },

    advance: (schedule, nextAt, run) =>
      writer.write(() => {
        if (find(schedule)?.revision !== schedule.revision) return { isLost: true, job: undefined };
        const job = run === undefined || waits(run) ? undefined : insertJob(run);
        const ran = job === undefined ? {} : { lastAt: schedule.nextAt, runs: schedule.runs + 1 };
        update(schedule, { nextAt, plannedAt: now(), revision: schedule.revision + 1, ...ran });
        return { isLost: false, job };
      }),
  };
}
