import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { createSqlSources } from "../../../../src/server/sql/create-sources.ts";
import type { SqlSources } from "../../../../src/server/sql/source.ts";
import { lacksPostgres, startPostgres, type TestPostgres } from "../../../harness/postgres.ts";
import { agg, featureClass, graph, sql } from "../graphs.ts";
import { ask, failureOf, fieldOf, World } from "../worlds.ts";

const user = featureClass("user", {
  id: "int",
  email: "str",
  displayName: "str",
  ratio: "float",
  at: { type: "datetime", time: true },
  kept: { type: "bool", stale: "1h" },
  big: "int",
  asked: "datetime",
});
const COLUMNS = {
  "user.id": "Id",
  "user.email": "Email",
  "user.displayName": "displayName",
  "user.at": "at",
  "user.kept": "kept",
  "user.big": "big",
};
const BODY = 'select uid as Id, email as Email, display as "displayName", at, kept, big from users -- everybody\n;';

describe.skipIf(lacksPostgres())("SQL resolvers on PostgreSQL", () => {
  let server: TestPostgres;
  let sources: SqlSources;

  beforeAll(async () => {
    server = await startPostgres();
    const { host, port, user: name, password, database } = server;
    const admin = new Bun.SQL({ adapter: "postgres", hostname: host, port, username: name, password, database });
    await admin.unsafe("create table users (uid bigint primary key, email text, display text, at timestamptz, kept boolean, big bigint)");
    await admin.unsafe(
      `insert into users values (1, 'a@example.com', 'Ann', '2024-04-01 02:00:00+02', true, 9007199254740993), (2, 'b@example.com', 'Ben', null, false, 1)`,
    );
    await admin.unsafe("create table visits (id integer primary key, org text, day date, at timestamptz, cost numeric)");
    await admin.unsafe(
      `insert into visits values (1, 'a', '2024-01-01', '2024-01-01 10:00:00+00', 1.5), (2, 'a', '2024-01-02', '2024-01-02 10:00:00+00', 2),
         (3, 'b', '2024-01-01', '2024-01-01 11:00:00+00', 4), (4, 'a', '2024-01-01', '2025-01-01 10:00:00+00', 8)`,
    );
    await admin.close();
    const env = { DB_PGHOST: host, DB_PGPORT: String(port), DB_PGUSER: name, DB_PGPASSWORD: password, DB_PGDATABASE: database };
    sources = createSqlSources({ declared: [], env });
  }, 300_000);

  afterAll(async () => {
    await sources?.close();
    await server?.stop();
  }, 300_000);

  const world = (...resolvers: ReturnType<typeof sql>[]) => new World(graph([user], resolvers), { sources: [sources.get("db")] });

  test("columns are found whether the database folded their names or not", async () => {
    const one = world(sql("get_user", BODY, COLUMNS));
    const answer = await one.ask({ "user.id": 1 }, ["user.email", "user.displayName", "user.kept", "user.big", "user.at"]);
    expect(answer.fields.map((field) => field.value)).toEqual([
      "a@example.com",
      "Ann",
      true,
      9007199254740993n,
      "2024-04-01T00:00:00.000000Z",
    ]);
    expect(fieldOf(answer, "user.kept").observedAt).toBe(Date.parse("2024-04-01T00:00:00Z"));
  });

  test("placeholders are bound: text, whole floats, and the time", async () => {
    const one = world(
      sql("by_email", "select uid from users where email = ${user.email}", { "user.id": "uid" }),
      sql("half", "select ${user.ratio} / 2 > 2.4 as kept, cast(${now} as timestamptz) as asked", {
        "user.kept": "kept",
        "user.asked": "asked",
      }),
    );
    expect(await one.values({ "user.email": "b@example.com", "user.ratio": 5 }, ["user.id", "user.kept", "user.asked"])).toEqual({
      "user.id": 2,
      "user.kept": true,
      "user.asked": "2024-05-01T12:00:00.000000Z",
    });
  });

  test("rows of a relation of two columns are found for many parents at once, and aggregated", async () => {
    const visits = sql("visits", "select id, org, day, at, cost from visits", {
      "visit.id": "id",
      "visit.org": "org",
      "visit.day": "day",
      "visit.at": "at",
      "visit.cost": "cost",
    });
    const visit = featureClass("visit", { id: "int", org: "str", day: "date", at: { type: "datetime", time: true }, cost: "float" });
    const place = featureClass("place", {
      id: "int",
      org: "str",
      day: "date",
      visits: {
        many: "visit",
        on: [
          ["org", "org"],
          ["day", "day"],
        ],
      },
      cost: { type: "float", expression: agg("sum", "visits", "cost") },
    });
    const one = new World(graph([visit, place], [visits]), { sources: [sources.get("db")] });
    const orgs = Array.from({ length: 1_200 }, (_, i) => (i === 7 ? "a" : i === 9 ? "b" : `o${i}`));
    const answer = await one.engine.answerBulk(
      one.deployment,
      {
        request: ask({}, ["place.cost", "place.visits.id"]),
        columns: [bulkColumn("place.org", orgs), bulkColumn("place.day", ["2024-01-01"])],
      },
      one.now,
    );
    expect(answer.failures).toEqual([]);
    expect(answer.columns[0]?.values.map((value, row) => [row, value]).filter(([, value]) => value !== 0)).toEqual([
      [7, 1.5],
      [9, 4],
    ]);
    expect(answer.columns[1]?.values.slice(6, 10)).toEqual([[], [1], [], [3]]);
  });

  test("what the database says comes back with its line", async () => {
    const one = world(sql("broken", "select uid as id,\n  nope\nfrom users", { "user.id": "id", "user.email": "nope" }));
    const answer = await one.ask({ "user.id": 1 }, ["user.email"]);
    expect(failureOf(answer, "user.email").message).toBe('broken: column "nope" does not exist');
    expect(fieldOf(answer, "user.email").failure?.exception).toMatchObject({ file: "broken.svc.sql", line: 4 });
  });
});
