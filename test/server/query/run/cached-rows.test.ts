import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Resolver } from "../../../../gen/svc/v1/graph_pb.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore } from "../../../../src/server/stores/online/store.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { agg, featureClass, fn, graph, lit, python, sql } from "../graphs.ts";
import { ask, fieldOf, later, MemorySource, type Played, World } from "../worlds.ts";

const MINUTE = 60_000;
const START = Date.parse("2024-05-01T12:00:00Z");
const COLUMNS = { "txn.id": "id", "txn.user_id": "user_id", "txn.amount": "amount", "txn.at": "at" };
const BY_JOIN = sql("txns", "select id, user_id, amount, at from txns", COLUMNS);
const BY_PLACEHOLDER = sql("txns", `select id, user_id, amount, at from txns where user_id = \${txn.user_id}`, COLUMNS, { count: 3 });
const BY_SCAN = python("m.scan", [], Object.keys(COLUMNS), { rows: true });
const BY_RELATION = python("m.txns", ["user.id", "user.mood"], ["txn.id", "txn.amount", "txn.at"], { relation: "user.txns" });
const SOURCES = { join: BY_JOIN, placeholder: BY_PLACEHOLDER, scan: BY_SCAN, relation: BY_RELATION };

interface Txn {
  readonly id: number;
  readonly user_id: number;
  readonly amount: number | null;
  /** Minutes after the start. */
  readonly at: number;
}

const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString().replace("Z", "000Z");

interface Cached extends World {
  /** What the source has. */
  readonly table: Txn[];
  /** How often the source was asked. */
  asked(): number;
}

/** Users whose transactions are cached for ten minutes. */
function world(
  resolver: Resolver = BY_JOIN,
  options: { stale?: string; online?: OnlineStore; played?: Record<string, Played> } = {},
): Cached {
  const made = graph(
    [
      featureClass("txn", {
        id: "int",
        user_id: "int",
        user: { to: "user", on: [["user_id", "id"]] },
        amount: "int?",
        at: { type: "datetime", time: true },
        double: { type: "int?", expression: fn("mul", "amount", lit(2)) },
        score: "int",
      }),
      featureClass("user", {
        id: "int",
        email: "str",
        mood: "str",
        txns: { many: "txn", on: [["id", "user_id"]], ...(options.stale === "" ? {} : { stale: options.stale ?? "10m" }) },
        total: { type: "int", expression: agg("sum", "txns", "amount") },
        big: { type: "int", expression: agg("count", "txns", undefined, fn("gt", "amount", lit(10))) },
        doubled: { type: "int?", expression: agg("max", "txns", "double") },
        scored: { type: "int", expression: agg("sum", "txns", "score") },
        told: "int",
      }),
    ],
    [
      resolver,
      python("m.mood", ["user.id"], ["user.mood"]),
      python("m.score", ["txn.id", "txn.user.id"], ["txn.score"]),
      python("m.told", [{ rows: "user.txns", columns: ["txn.amount"], filters: [fn("gt", "amount", lit(10))] }], ["user.told"]),
    ],
  );
  const table: Txn[] = [];
  const database = new MemorySource("db", "create table txns (id integer primary key, user_id integer, amount integer, at text)");
  let asked = 0;
  const query = database.query.bind(database);
  database.query = async (statement, parameters) => {
    asked++;
    database.db.run("delete from txns");
    for (const { id, user_id, amount, at } of table)
      database.db.run("insert into txns values (?, ?, ?, ?)", [id, user_id, amount, iso(at)]);
    return query(statement, parameters);
  };
  const fields = ({ id, user_id, amount, at }: Txn) => ({ "txn.id": id, "txn.user_id": user_id, "txn.amount": amount, "txn.at": iso(at) });
  const played: Record<string, Played> = {
    "m.mood": () => "fine",
    "m.score": ([id, user]) => Number(id) + Number(user) * 1000,
    "m.told": ([rows]) => (rows as unknown as readonly unknown[]).length,
    "m.scan": () => {
      asked++;
      return table.map(fields);
    },
    "m.txns": ([id]) => {
      asked++;
      return table.filter((txn) => txn.user_id === id).map(fields);
    },
    ...options.played,
  };
  const one = new World(made, { sources: [database], python: played, ...(options.online ? { online: options.online } : {}) });
  one.now = START;
  return Object.assign(one, { table, asked: () => asked });
}

const micros = (ms: number) => BigInt(ms) * 1000n;
const amounts = async (one: World, more: Parameters<World["values"]>[2] = {}) =>
  (await one.values({ "user.id": 1 }, ["user.txns.amount"], more))["user.txns.amount"];

describe("rows of a relation with a staleness", () => {
  test("are served as they were found while they are young enough, then replaced whole", async () => {
    for (const resolver of Object.values(SOURCES)) {
      const one = world(resolver);
      one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 }, { id: 2, user_id: 1, amount: 50, at: -1 });
      expect(await amounts(one)).toEqual([5, 50]);
      one.table.splice(0, 1);
      one.table.push({ id: 3, user_id: 1, amount: 7, at: -1 });
      one.now += 10 * MINUTE;
      const hit = await one.ask({ "user.id": 1 }, ["user.txns.amount", "user.total", "user.txns"]);
      expect(fieldOf(hit, "user.txns.amount")).toMatchObject({ value: [5, 50], hit: true, resolver: resolver.fqn, observedAt: START });
      expect(fieldOf(hit, "user.total").value).toBe(55);
      expect(one.asked()).toBe(1);
      one.now += 1;
      const miss = await one.ask({ "user.id": 1 }, ["user.txns.amount", "user.total"]);
      expect(fieldOf(miss, "user.txns.amount")).toMatchObject({ value: [50, 7], hit: false });
      expect(fieldOf(miss, "user.total").value).toBe(57);
      expect(await amounts(one)).toEqual([50, 7]);
      expect(one.asked()).toBe(2);
    }
  });

  test("serve any query, since whole rows are kept, with what is computed of them fresh", async () => {
    for (const resolver of Object.values(SOURCES)) {
      const one = world(resolver);
      one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 }, { id: 2, user_id: 1, amount: 50, at: -1 });
      expect(await one.values({ "user.id": 1 }, ["user.big"])).toEqual({ "user.big": 1 });
      one.table.length = 0;
      expect(await one.values({ "user.id": 1 }, ["user.total", "user.told", "user.doubled", "user.scored", "user.txns.id"])).toEqual({
        "user.total": 55,
        "user.told": 1,
        "user.doubled": 100,
        "user.scored": 2003,
        "user.txns.id": [1, 2],
      });
      expect(one.asked()).toBe(1);
    }
  });

  test("no rows are kept as well, and what its inputs would be is not computed on a hit", async () => {
    const one = world(BY_RELATION);
    expect(await amounts(one)).toEqual([]);
    one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
    expect(await amounts(one)).toEqual([]);
    expect(one.pool.called().filter((fqn) => fqn === "m.mood")).toHaveLength(1);
  });

  test("never show what lies ahead of the time asked about", async () => {
    const one = world();
    one.table.push(
      { id: 1, user_id: 1, amount: 1, at: -5 },
      { id: 2, user_id: 1, amount: 2, at: -1 },
      { id: 3, user_id: 1, amount: 3, at: 1 },
    );
    expect(await amounts(one)).toEqual([1, 2]);
    expect(await amounts(one, { now: micros(START - 2 * MINUTE) })).toEqual([1]);
    one.now += 2 * MINUTE;
    expect(await amounts(one)).toEqual([1, 2]);
    expect(await amounts(one, { staleness: { "user.txns": 0 } })).toEqual([1, 2, 3]);
    expect(await amounts(one, { now: micros(START - 2 * MINUTE) })).toEqual([1]);
    expect(await amounts(one)).toEqual([1, 2, 3]);
  });

  test("found for the past never replace newer ones", async () => {
    const one = world();
    one.table.push({ id: 1, user_id: 1, amount: 1, at: -5 });
    await amounts(one);
    one.table.push({ id: 2, user_id: 1, amount: 2, at: -6 });
    expect(await amounts(one, { now: micros(START - MINUTE) })).toEqual([1, 2]);
    expect(await amounts(one)).toEqual([1]);
  });

  test("a query says how old they may be, also of a relation that has no staleness itself", async () => {
    for (const stale of ["10m", ""]) {
      const one = world(BY_JOIN, { stale });
      one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
      const hour = { staleness: { "user.txns": 60 * MINUTE } };
      await amounts(one, hour);
      one.table.length = 0;
      one.now += 30 * MINUTE;
      expect(await amounts(one, hour)).toEqual([5]);
      expect(await amounts(one)).toEqual([]);
    }
  });

  test("a staleness of a feature of the rows is that feature's, not the relation's", async () => {
    const one = world(BY_JOIN, { stale: "" });
    one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
    const staleness = { "user.txns.score": 60 * MINUTE };
    for (let i = 0; i < 2; i++) expect(await one.values({ "user.id": 1 }, ["user.scored"], { staleness })).toEqual({ "user.scored": 1001 });
    expect([one.asked(), one.pool.called().filter((fqn) => fqn === "m.score").length]).toEqual([2, 1]);
  });

  test("scopes are apart", async () => {
    const online = openSqliteOnlineStore(":memory:");
    const [main, branch] = [world(BY_JOIN, { online }), world(BY_JOIN, { online })];
    Object.assign(branch.deployment, { scope: "my-branch" });
    main.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
    expect([await amounts(main), await amounts(branch)]).toEqual([[5], []]);
    expect([await amounts(main), await amounts(branch)]).toEqual([[5], []]);
    expect([main.asked(), branch.asked()]).toEqual([1, 1]);
  });

  test("given rows are neither replaced nor kept", async () => {
    const one = world();
    one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
    await amounts(one);
    const given = [{ id: 9, amount: 9, at: "2024-05-01T11:00:00Z" }];
    expect(await one.values({ "user.id": 1, "user.txns": given }, ["user.total"])).toEqual({ "user.total": 9 });
    expect(await one.values({ "user.id": 1 }, ["user.total"])).toEqual({ "user.total": 5 });
  });

  test("rows with a value that does not fit are not kept", async () => {
    const one = world(BY_RELATION, {
      played: { "m.txns": () => [{ "txn.id": 1, "txn.amount": "many", "txn.at": iso(-1) }] },
    });
    for (let i = 0; i < 2; i++)
      expect((await one.ask({ "user.id": 1 }, ["user.total"])).fields[0]?.failure?.message).toContain("expected int");
    expect(one.pool.called().filter((fqn) => fqn === "m.txns")).toHaveLength(2);
  });

  test("of many parents, those that are known are served and the others asked for, each once", async () => {
    for (const online of [openSqliteOnlineStore(":memory:"), later(openSqliteOnlineStore(":memory:"))]) {
      const one = world(BY_JOIN, { online });
      one.table.push(...[1, 2, 3].map((id) => ({ id, user_id: id, amount: id * 10, at: -1 })));
      await one.ask({ "user.id": 2 }, ["user.total"]);
      one.table.length = 0;
      one.table.push({ id: 3, user_id: 3, amount: 33, at: -1 });
      const bulk = await one.engine.answerBulk(
        one.deployment,
        { request: ask({}, ["user.total", "user.txns.id"]), columns: [bulkColumn("user.id", [1, 2, 3, 2])] },
        one.now,
      );
      expect(bulk.columns.map(({ values }) => values)).toEqual([
        [0, 20, 33, 20],
        [[], [2], [3], [2]],
      ]);
      expect(one.asked()).toBe(2);
    }
  });

  test("explain says what was served and why not", async () => {
    const one = world();
    one.table.push({ id: 1, user_id: 1, amount: 5, at: -2 });
    const explain = async (more = {}) => (await one.ask({ "user.id": 1 }, ["user.total"], { explain: true, ...more })).explanation;
    expect(await explain()).toContain("CacheRead user, at most 10m old: miss: not stored");
    one.now += 5 * MINUTE;
    const hit = await explain();
    expect(hit).toContain("CacheRead user, at most 10m old: hit, 5m old, by txns");
    expect(hit).not.toContain("SqlResolver");
    expect(await explain({ staleness: { "user.txns": MINUTE } })).toContain("at most 1m old: miss: 5m old, and at most 1m is served");
    expect(await explain({ staleness: { "user.txns": 0 } })).toContain("CacheRead skipped: staleness 0s asks for a fresh value");
  });
});

type Step =
  | { readonly kind: "change"; readonly txn: Txn }
  | { readonly kind: "remove"; readonly id: number }
  | { readonly kind: "wait"; readonly minutes: number }
  | { readonly kind: "ask"; readonly users: readonly number[]; readonly back: number; readonly staleness: number | undefined };

const user = fc.integer({ min: 1, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("change" as const),
      txn: fc.record({
        id: fc.integer({ min: 1, max: 8 }),
        user_id: user,
        amount: fc.option(fc.integer({ min: 0, max: 30 })),
        at: fc.integer({ min: -60, max: 60 }),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), id: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 0, max: 12 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      users: fc.array(user, { minLength: 1, maxLength: 3 }),
      back: fc.integer({ min: 0, max: 25 }),
      staleness: fc.option(fc.constantFrom(0, 5, 30), { nil: undefined }),
    }),
  },
);

test(
  "whatever happens to the source, answers are what a list of everything ever found gives",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(SOURCES)),
        fc.boolean(),
        fc.array(step, { maxLength: 30, size: "max" }),
        async (source, takesTurns, steps) => {
          const inner = openSqliteOnlineStore(":memory:");
          const one = world(SOURCES[source as keyof typeof SOURCES], { online: takesTurns ? later(inner) : inner });
          const found = new Map<number, { readonly at: number; readonly rows: readonly Txn[] }>();
          for (const event of steps) {
            if (event.kind === "wait") one.now += event.minutes * MINUTE;
            else if (event.kind !== "ask") {
              const id = event.kind === "remove" ? event.id : event.txn.id;
              const at = one.table.findIndex((txn) => txn.id === id);
              if (at >= 0) one.table.splice(at, 1);
              if (event.kind === "change") one.table.push(event.txn);
              one.table.sort((a, b) => a.id - b.id);
            } else {
              const now = one.now - event.back * MINUTE;
              const minute = (now - START) / MINUTE;
              const allowed = (event.staleness ?? 10) * MINUTE;
              const seen = (rows: readonly Txn[]) => rows.filter((txn) => txn.at <= minute);
              const before = new Map(found);
              const expected = event.users.map((id) => {
                const known = before.get(id);
                if (known && allowed > 0 && known.at <= now && now - known.at <= allowed) return seen(known.rows);
                const rows = seen(one.table.filter((txn) => txn.user_id === id));
                if (!known || known.at <= now) found.set(id, { at: now, rows });
                return rows;
              });
              const staleness: Record<string, number> = event.staleness === undefined ? {} : { "user.txns": event.staleness * MINUTE };
              const bulk = await one.engine.answerBulk(
                one.deployment,
                {
                  request: ask({}, ["user.txns.id", "user.total", "user.big"], { now: micros(now), staleness }),
                  columns: [bulkColumn("user.id", event.users)],
                },
                one.now,
              );
              expect(bulk.failures).toEqual([]);
              expect(bulk.columns.map(({ values }) => values)).toEqual([
                expected.map((rows) => rows.map((txn) => txn.id)),
                expected.map((rows) => rows.reduce((sum, txn) => sum + (txn.amount ?? 0), 0)),
                expected.map((rows) => rows.filter((txn) => (txn.amount ?? 0) > 10).length),
              ]);
            }
          }
        },
      ),
      seeded(150, 20_000),
    );
  },
  patience(300_000),
);
