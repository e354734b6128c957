/**
 * Bulk queries whose rows have times of their own: every row is what a query of it alone with that
 * time is, whatever its values are made of.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { BulkAnswer } from "../../../../src/server/query/bulk.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore, RowsWrite, ValueWrite } from "../../../../src/server/stores/online/store.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { agg, type FeatureSpec, featureClass, fn, graph, lit, python, queryNow, sql, windowStart } from "../graphs.ts";
import { ask, later, MemorySource, PlayedError, valuesOf, World } from "../worlds.ts";

const ARRIVAL = Date.parse("2024-05-01T12:00:00Z");
const HOUR = 3_600_000;
const iso = (hour: number) => new Date(ARRIVAL + hour * HOUR).toISOString();
const micros = (hour: number) => BigInt(ARRIVAL + hour * HOUR) * 1000n;
const hourOf = (now: unknown) => (Date.parse(String(now)) - ARRIVAL) / HOUR;

/**
 * Each output is made in another way that knows the time; those of a relation by another source of
 * its rows.
 */
const EVENT_COLUMNS = ["id", "user_id", "amount", "at"];
const events = (relation: string, more: Readonly<Record<string, FeatureSpec>> = {}) => [
  featureClass(relation, { id: "int", user_id: "int", amount: "int", at: { type: "datetime", time: true }, ...more }),
];
const ofEvents = (relation: string, ...more: string[]) =>
  Object.fromEntries([...EVENT_COLUMNS, ...more].map((name) => [`${relation}.${name}`, name]));
const many = (relation: string, stale?: string): FeatureSpec => ({ many: relation, on: [["id", "user_id"]], ...(stale ? { stale } : {}) });
const sum = (relation: string) => ({
  type: "int" as const,
  expression: agg("sum", relation, "amount", fn("gt", "at", windowStart), fn("le", "at", queryNow)),
  window: "36000s",
});

const made = graph(
  [
    ...["scanned", "bound", "related", "kept", "plain"].flatMap((relation) => events(relation)),
    ...events("queried", { seen: "datetime", noted: { type: "int", stale: "60h" } }),
    featureClass("profile", { id: "int", name: "str", since: { type: "datetime", time: true } }),
    featureClass("user", {
      id: "int",
      asked: "datetime",
      merged: "int",
      fragile: "int",
      table: "datetime",
      keyed: "str?",
      listed: "str?",
      looked: "str?",
      bodied: "str?",
      stored: { type: "int", stale: "30h" },
      aged: { type: "int", stale: "120h" },
      late: { type: "bool", expression: fn("gt", queryNow, lit(iso(-30))) },
      lately: { type: "int", default: -1 },
      scans: many("scanned"),
      queries: many("queried"),
      bounds: many("bound"),
      relations: many("related"),
      keeps: many("kept", "30h"),
      plains: many("plain"),
      profile: { to: "profile", on: [["id", "id"]], optional: true },
      scan_sum__36000__: sum("scans"),
      query_sum__36000__: sum("queries"),
      bound_sum__36000__: sum("bounds"),
      relation_sum__36000__: sum("relations"),
      keep_sum__36000__: sum("keeps"),
      plain_sum__36000__: sum("plains"),
      told: "int",
    }),
  ],
  [
    python("m.asked", ["now", "user.id"], ["user.asked"]),
    python("m.merged", ["user.id"], ["user.merged"]),
    python("m.fragile", ["user.id", "now"], ["user.fragile"]),
    python("m.table", [{ table: ["user.id"] }, "now"], ["user.table"]),
    python("m.keyed", [{ table: ["user.id"] }, "now"], ["user.id", "user.keyed"], { rows: true }),
    python("m.listed", ["now"], ["user.id", "user.listed"], { rows: true }),
    sql("looked", "select id, name || ${now} as looked from users where ${now} <> ''", { "user.id": "id", "user.looked": "looked" }),
    sql("bodied", "select name || ${now} as bodied from users where id = ${user.id} and since <= ${now}", { "user.bodied": "bodied" }),
    python("m.stored", ["user.id", "now"], ["user.stored"]),
    python("m.aged", ["user.id", "now"], ["user.aged"]),
    python("m.lately", ["user.id", "now"], ["user.lately"]),
    python("m.scan", ["now"], Object.keys(ofEvents("scanned")), { rows: true }),
    sql("queries", "select id, user_id, amount, at from events where at <= ${now}", ofEvents("queried")),
    sql("bounds", "select id, user_id, amount, at from events where user_id = ${bound.user_id} and at <= ${now}", ofEvents("bound"), {
      count: 3,
    }),
    python("m.relation", ["user.id", "now"], Object.keys(ofEvents("related")), { relation: "user.relations" }),
    python("m.seen", ["queried.id", "now"], ["queried.seen"]),
    python("m.noted", ["queried.id", "now"], ["queried.noted"]),
    sql("plains", "select id, user_id, amount, at from events", ofEvents("plain")),
    sql("profiles", "select id, name, since from users", { "profile.id": "id", "profile.name": "name", "profile.since": "since" }),
    sql("keeps", "select id, user_id, amount, at from events", ofEvents("kept")),
    python("m.told", [{ rows: "user.queries", columns: ["queried.amount"], filters: [fn("gt", "at", queryNow)] }, "now"], ["user.told"]),
  ],
);
const OUTPUTS = [
  "user",
  "user.scans",
  "user.queries.at",
  "user.bounds.amount",
  "user.relations.id",
  "user.keeps.amount",
  "user.queries.seen",
  "user.queries.noted",
  "user.profile.name",
];

interface Event {
  readonly user: number;
  readonly amount: number;
  readonly at: number;
}

/** A store that tells what was written. */
class WatchedStore {
  readonly values: ValueWrite[] = [];
  readonly relations: RowsWrite[] = [];
  readonly store: OnlineStore;

  constructor() {
    const inner = openSqliteOnlineStore(":memory:", { now: () => ARRIVAL });
    this.store = {
      ...later(inner),
      read: (...args) => inner.read(...args),
      put: (scope, writes) => {
        this.values.push(...writes.values);
        this.relations.push(...writes.rows);
        inner.put(scope, writes);
      },
    };
  }

  /** The newest of what was written for each key, as a store keeps it. */
  static newest(writes: readonly ValueWrite[]): Map<string, ValueWrite> {
    const newest = new Map<string, ValueWrite>();
    for (const write of writes) {
      const at = `${write.namespace} ${write.key} ${write.featureId}`;
      if ((newest.get(at)?.observedAt ?? Number.NEGATIVE_INFINITY) <= write.observedAt) newest.set(at, write);
    }
    return newest;
  }
}

async function makeWorld(list: readonly Event[], seenBefore: readonly (readonly [user: number, hour: number])[]) {
  const values = list.map(({ user, amount, at }, id) => `(${id}, ${user}, ${amount}, '${iso(at)}')`).join(", ");
  const source = new MemorySource(
    "db",
    `create table users (id integer, name text, since text); insert into users values (1, 'ann', '${iso(-50)}'), (2, 'bob', '${iso(0)}');
     create table events (id integer, user_id integer, amount integer, at text); ${values && `insert into events values ${values};`}`,
  );
  const rowsOf = (relation: string, user: (one: Event) => boolean) =>
    list.flatMap((event, id) =>
      user(event)
        ? [
            {
              [`${relation}.id`]: id,
              [`${relation}.user_id`]: event.user,
              [`${relation}.amount`]: event.amount,
              [`${relation}.at`]: iso(event.at).replace("Z", "000Z"),
            },
          ]
        : [],
    );
  const watched = new WatchedStore();
  const hourAndId = ([id, now]: readonly FeatureValue[]) => Number(id) * 10_000 + hourOf(now);
  const world = new World(made, {
    sources: [source],
    online: watched.store,
    python: {
      "m.asked": ([now]) => now ?? null,
      "m.merged": ([id]) => Number(id),
      "m.fragile": ([id, now]) => {
        if (hourOf(now) % 2 !== 0) throw new PlayedError(`not at ${String(now)} for ${String(id)}`);
        return hourOf(now);
      },
      "m.table": ([, now]) => now ?? null,
      "m.keyed": ([ids, now]) =>
        [...new Set((ids as unknown as { readonly "user.id": readonly FeatureValue[] })["user.id"])]
          .filter((id) => Number(id) !== 3)
          .map((id) => ({ "user.id": id, "user.keyed": `${String(id)} at ${String(now)}` })),
      "m.listed": ([now]) => [1, 2].map((id) => ({ "user.id": id, "user.listed": String(now) })),
      "m.stored": hourAndId,
      "m.aged": hourAndId,
      "m.lately": ([, now]) => (hourOf(now) < -40 ? null : 1),
      "m.seen": ([, now]) => now ?? null,
      "m.noted": hourAndId,
      "m.scan": ([now]) => rowsOf("scanned", ({ at }) => at >= hourOf(now) - 20),
      "m.relation": ([id, now]) => rowsOf("related", ({ user, at }) => user === Number(id) && at >= hourOf(now) - 20),
      "m.told": ([rows, now]) => (rows as unknown as readonly unknown[]).length * 1000 + hourOf(now),
    },
  });
  world.now = ARRIVAL;
  for (const [user, hour] of seenBefore)
    await world.ask({ "user.id": user }, ["user.stored", "user.aged", "user.keeps.amount"], { now: micros(hour) });
  watched.values.length = 0;
  watched.relations.length = 0;
  return { world, watched, source };
}

const hour = fc.integer({ min: -60, max: 5 });
const user = fc.integer({ min: 1, max: 3 });
const event = fc.record({ user, amount: fc.integer({ min: 1, max: 50 }), at: fc.integer({ min: -70, max: 10 }) });

function bulk(
  world: World,
  rows: readonly (readonly [user: unknown, hour: number])[],
  outputs: readonly string[] = OUTPUTS,
): Promise<BulkAnswer> {
  const columns = [
    bulkColumn(
      "user.id",
      rows.map(([id]) => id),
    ),
  ];
  return world.engine.answerBulk(
    world.deployment,
    { request: ask({}, outputs), columns, now: rows.map(([, at]) => micros(at)) },
    world.now,
  );
}

test(
  "of n rows it is what n queries with their times are, and stores what they would",
  async () => {
    const rows = fc.array(fc.tuple(fc.oneof({ weight: 9, arbitrary: user }, { weight: 1, arbitrary: fc.constant("x") }), hour), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(event, { maxLength: 12 }),
        fc.array(fc.tuple(user, hour), { maxLength: 4 }),
        async (asked, list, before) => {
          const { world, watched } = await makeWorld(list, before);
          const answer = await bulk(world, asked);
          const values: ValueWrite[] = [];
          const relations: RowsWrite[] = [];
          for (const [row, [id, at]] of asked.entries()) {
            const single = await makeWorld(list, before);
            const failures = answer.failures.filter((failure) => failure.row === row).map(({ code, message }) => ({ code, message }));
            try {
              const alone = await single.world.ask({ "user.id": id }, OUTPUTS, { now: micros(at) });
              const own = answer.columns.map((one) => [one.path, one.values[row], one.hits[row]]);
              expect([id, at, own]).toEqual([id, at, alone.fields.map(({ path, value, hit }) => [path, value, hit])]);
              expect([id, at, failures]).toEqual([id, at, alone.failures.map(({ code, message }) => ({ code, message }))]);
            } catch (error) {
              if (!(error instanceof QueryRefused)) throw error;
              expect(failures.map(({ message }) => message)).toEqual(error.errors.map((one) => one.message ?? ""));
            }
            values.push(...single.watched.values);
            relations.push(...single.watched.relations);
          }
          for (const write of [...watched.values, ...watched.relations]) expect(write.observedAt).toBeLessThanOrEqual(ARRIVAL);
          expect(WatchedStore.newest(watched.values)).toEqual(WatchedStore.newest(values));
          const stored = (writes: readonly RowsWrite[]) =>
            new Set(
              writes.map(({ key, observedAt, rows: count, columns }) => JSON.stringify([key, observedAt, count, [...columns.values()]])),
            );
          expect(stored(watched.relations)).toEqual(stored(relations));
        },
      ),
      seeded(60, 10_000),
    );
  },
  patience(300_000),
);

describe("rows with times of their own", () => {
  const rows = Array.from({ length: 60 }, (_, at) => [1 + (at % 3), -at] as const);

  test("share every step that is not told the time", async () => {
    const { world, source } = await makeWorld([], []);
    await bulk(world, rows, ["user.merged", "user.asked"]);
    expect(world.pool.calls.map(({ resolver, rows: count }) => [resolver, count]).sort()).toEqual([
      ["m.asked", 60],
      ["m.merged", 3],
    ]);
    await bulk(world, rows, ["user.keeps.amount"]);
    expect(source.statements).toHaveLength(1);
  });

  test("have the time that stands once for all rows", async () => {
    const { world } = await makeWorld([], []);
    const answer = await world.engine.answerBulk(
      world.deployment,
      { request: ask({}, ["user.asked"]), columns: [bulkColumn("user.id", [1, 2])], now: [micros(-7)] },
      world.now,
    );
    const alone = await world.ask({ "user.id": 1 }, ["user.asked"], { now: micros(-7) });
    expect(answer.columns[0]?.values).toEqual([1, 2].map(() => valuesOf(alone)["user.asked"] as FeatureValue));
  });

  test("may be one row at many times", async () => {
    const { world } = await makeWorld([], []);
    const columns = [bulkColumn("user.id", [1])];
    const answer = await world.engine.answerBulk(
      world.deployment,
      { request: ask({}, ["user.stored"]), columns, now: [-3, -2, -1].map(micros) },
      world.now,
    );
    expect([answer.rows, answer.columns[0]?.values]).toEqual([3, [9_997, 9_998, 9_999]]);
  });

  test("are as many as the rows, and lie between the years 1 and 9999", async () => {
    const { world } = await makeWorld([], []);
    const refused = async (now: readonly bigint[]) => {
      const columns = [bulkColumn("user.id", [1, 2, 3])];
      const asking = world.engine.answerBulk(world.deployment, { request: ask({}, ["user.asked"]), columns, now }, world.now);
      return asking.then(
        () => "answered",
        (error: QueryRefused) => error.errors[0]?.message,
      );
    };
    expect(await refused([1n, 2n])).toBe("inputs of a bulk query must have as many values as each other, or one: user.id has 3, now has 2");
    expect(await refused([])).toBe("inputs of a bulk query must have as many values as each other, or one: user.id has 3, now has 0");
    expect(await refused([1n, 2n ** 62n, 3n])).toBe("now must lie between the years 1 and 9999");
  });
});
