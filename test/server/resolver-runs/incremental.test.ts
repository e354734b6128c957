/**
 * Incremental runs of SQL resolvers on a real server over real databases: they read what is new,
 * lose nothing that came late, and nothing when they are killed.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { IncrementalService } from "../../../gen/svc/v1/incremental_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../src/domain/proto-time.ts";
import { lacksPostgres, startPostgres } from "../../harness/postgres.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ended, history } from "./worlds.ts";

const T0 = Date.parse("2026-01-01T00:00:00Z");
const HOUR_MS = 3_600_000;

/** A database with a table of events. */
interface Events {
  readonly source: string;
  readonly env: Readonly<Record<string, string>>;
  /** Puts an event: its key, value, and the time at which it changed; null = none. */
  put(id: number, value: number, at: number | null): Promise<void>;
  stop(): Promise<void>;
}

function sqliteEvents(folder: string): Events {
  const path = join(folder, "events.db");
  const db = new Database(path);
  db.run("create table event (id integer primary key, value integer, changed_at text)");
  return {
    source: `SQLiteSource(name="events", path=${JSON.stringify(path)})`,
    env: {},
    async put(id, value, at) {
      // As SQLite's own functions write times: neither a T nor a zone.
      const text = at === null ? null : new Date(at).toISOString().replace("T", " ").replace("Z", "");
      db.run("insert or replace into event values (?, ?, ?)", [id, value, text]);
    },
    async stop() {
      db.close();
    },
  };
}

async function postgresEvents(): Promise<Events> {
  const server = await startPostgres();
  const { host, port, user, password, database } = server;
  const admin = new Bun.SQL({ adapter: "postgres", hostname: host, port, username: user, password: () => password, database, max: 1 });
  await admin.unsafe("create table event (id bigint primary key, value bigint, changed_at timestamptz)");
  return {
    source: 'PostgreSQLSource(name="events")',
    env: {
      EVENTS_PGHOST: host,
      EVENTS_PGPORT: String(port),
      EVENTS_PGUSER: user,
      EVENTS_PGPASSWORD: password,
      EVENTS_PGDATABASE: database,
    },
    async put(id, value, at) {
      await admin`insert into event values (${id}, ${value}, ${at === null ? null : new Date(at)})
        on conflict (id) do update set value = excluded.value, changed_at = excluded.changed_at`;
    },
    async stop() {
      await admin.close();
      await server.stop();
    },
  };
}

const project = (source: string) => ({
  "features.py": `from svc.features import FeatureTime, features
from svc.sources import PostgreSQLSource, SQLiteSource

events = ${source}

@features
class Event:
    id: int
    value: int
    twice: int
    many: int
`,
  "by_row.svc.sql": `-- resolves: Event
-- source: events
-- incremental:
--   mode: row
--   incremental_column: changed_at
--   lookback_period: 1h
select id, value, changed_at from event
`,
  "by_group.svc.sql": `-- resolves: Event
-- source: events
-- type: offline
-- incremental: {mode: group, incremental_column: latest}
select id % 10 as id, count(*) as many, max(changed_at) as latest from event group by id % 10
`,
  "by_parameter.svc.sql": `-- resolves: Event
-- source: events
-- type: offline
-- incremental: {mode: parameter, incremental_timestamp: resolver_execution_time}
select id, value * 2 as twice from event where \${svc_incremental_timestamp} < '2026-06-01' or id > 100
`,
});

const DATABASES = [
  { name: "SQLite", isAbsent: false, start: async (folder: string) => sqliteEvents(folder) },
  { name: "PostgreSQL", isAbsent: lacksPostgres(), start: () => postgresEvents() },
];

for (const { name, isAbsent, start } of DATABASES)
  describe.skipIf(isAbsent)(`incremental runs over ${name}`, () => {
    let folder: TempFolder;
    let server: TestServer;
    let events: Events;
    let runs: Client<typeof ResolverRunService>;
    let progress: Client<typeof IncrementalService>;
    const run = async (resolver: string, options: { persistOffline?: boolean } = {}) =>
      ended(runs, (await runs.triggerResolver({ resolver, ...options })).run?.id ?? "");
    const rows = async (resolver: string) => Number((await run(resolver)).rows);
    const maxIngested = async (resolverName: string) => {
      const found = (await progress.getIncrementalProgress({ subject: { resolverName } })).progress?.maxIngestedAt;
      return found && timestampToMs(found);
    };
    const valuesOf = (id: number) =>
      history(folder.path, "event.value")
        .filter((row) => row.id === id)
        .map(({ value }) => value);

    beforeAll(async () => {
      folder = new TempFolder();
      events = await start(folder.path);
      server = await TestServer.start(folder.path, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...events.env } });
      for (const id of [1, 2, 3]) await events.put(id, id * 10, T0 + id * HOUR_MS);
      await events.put(4, 40, null);
      expectLive(await deploy(server, project(events.source)));
      runs = server.client(ResolverRunService);
      progress = server.client(IncrementalService);
    }, 300_000);
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
      await events.stop();
      folder[Symbol.dispose]();
    });

    /** The steps follow each other. */
    test("the first reads everything, also rows without a time; the next only what is new, with the lookback", async () => {
      expect(await maxIngested("by_row")).toBeUndefined();
      expect(await rows("by_row")).toBe(4);
      expect(await maxIngested("by_row")).toBe(T0 + 3 * HOUR_MS);
      await events.put(1, 11, T0 + 4 * HOUR_MS);
      await events.put(5, 50, T0 + 5 * HOUR_MS);
      expect(await rows("by_row")).toBe(4);
      expect([valuesOf(1), valuesOf(3), valuesOf(4)]).toEqual([[10, 11], [30, 30], [40]]);
      expect(await maxIngested("by_row")).toBe(T0 + 5 * HOUR_MS);
      // Keys 1 and 5 lie within the hour before the bound.
      expect(await rows("by_row")).toBe(2);
    });

    test("a row that comes late, within the lookback, is read; one that comes later than that is not", async () => {
      await events.put(6, 60, T0 + 4.5 * HOUR_MS);
      await events.put(7, 70, T0 + 3.9 * HOUR_MS);
      await rows("by_row");
      expect([valuesOf(6), valuesOf(7)]).toEqual([[60], []]);
    });

    test("a time in the future hides nothing that comes before it", async () => {
      await events.put(8, 80, Date.now() + 48 * HOUR_MS);
      await rows("by_row");
      expect(await maxIngested("by_row")).toBeLessThanOrEqual(Date.now());
      await events.put(9, 90, Date.now());
      await rows("by_row");
      expect([valuesOf(8).length > 0, valuesOf(9)]).toEqual([true, [90]]);
    });

    test("groups that have a new row are read whole", async () => {
      expect(await rows("by_group")).toBe(9);
      await events.put(11, 1, Date.now());
      expect(await rows("by_group")).toBeLessThan(9);
      expect(history(folder.path, "event.many").findLast(({ id }) => id === 1)?.value).toBe(2);
    });

    test("a statement is given the bound, the beginning of 1970 at first; other queries too", async () => {
      expect(await rows("by_parameter")).toBe(10);
      expect(await rows("by_parameter")).toBe(0);
      const [found] = (await progress.getIncrementalProgress({ subject: { resolverName: "by_parameter" } })).progress
        ? [await progress.getIncrementalProgress({ subject: { resolverName: "by_parameter" } })]
        : [];
      expect(found?.progress?.lastExecutionAt).toBeDefined();
    });

    test("progress that is dropped or set is what the next run goes on from; a run that stores not all has none", async () => {
      expect(await progress.dropIncrementalProgress({ subject: { resolverName: "by_row" } })).toMatchObject({ dropped: true });
      expect(await progress.dropIncrementalProgress({ subject: { resolverName: "by_row" } })).toMatchObject({ dropped: false });
      expect(Number((await run("by_row", { persistOffline: false })).rows)).toBe(10);
      expect(await maxIngested("by_row")).toBeUndefined();
      await progress.setIncrementalProgress({ subject: { resolverName: "by_row" }, maxIngestedAt: msToTimestamp(T0 + 5 * HOUR_MS) });
      const found = await run("by_row");
      expect([found.state, Number(found.rows)]).toEqual([ResolverRunState.SUCCEEDED, 6]);
    });

    test("what has no progress is refused by name", async () => {
      const refused = async (subject: { resolverName?: string; scheduledQueryName?: string }) =>
        progress.getIncrementalProgress({ subject }).then(
          () => "",
          (error: Error) => error.message,
        );
      expect(await refused({ resolverName: "nowhere" })).toContain("There is no resolver 'nowhere'");
      expect(await refused({ scheduledQueryName: "nowhere" })).toContain("There is no scheduled query 'nowhere'");
      expect(await refused({})).toContain("either a resolver or a scheduled query");
      expect(await refused({ resolverName: "a", scheduledQueryName: "b" })).toContain("either");
    });
  });
