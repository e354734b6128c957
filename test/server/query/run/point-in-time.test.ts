import { expect, test } from "bun:test";
import fc from "fast-check";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { agg, type FeatureSpec, featureClass, fn, graph, lit, python, queryNow, sql, windowStart } from "../graphs.ts";
import { ask, MemorySource, World } from "../worlds.ts";

const START = Date.parse("2024-01-01T00:00:00Z");
const MINUTE = 60_000;
const WINDOWS = [60, 600, 86_400] as const;

interface Event {
  readonly id: number;
  readonly user: number | null;
  readonly kind: number | null;
  /** Null = unknown. */
  readonly amount: number | null;
  /** Minutes after the start; null = the row has no time. */
  readonly at: number | null;
}

interface RandomWorld {
  readonly users: readonly number[];
  readonly events: readonly Event[];
  readonly kinds: readonly { readonly id: number; readonly weight: number; readonly at: number }[];
  readonly source: "sql" | "placeholder" | "scan" | "relation";
  readonly limit: number;
  readonly stale: boolean;
}

const minutes = fc.integer({ min: 0, max: 3_000 });
const worlds: fc.Arbitrary<RandomWorld> = fc.record({
  users: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  events: fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: 200 }),
      user: fc.option(fc.integer({ min: 1, max: 5 })),
      kind: fc.option(fc.integer({ min: 1, max: 4 })),
      amount: fc.option(fc.integer({ min: -20, max: 100 })),
      at: fc.option(minutes, { freq: 8 }),
    }),
    { selector: (event) => event.id, maxLength: 25 },
  ),
  kinds: fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 4 }), weight: fc.integer({ min: 1, max: 9 }), at: minutes }), {
    selector: (kind) => kind.id,
  }),
  source: fc.constantFrom("sql", "placeholder", "scan", "relation"),
  limit: fc.integer({ min: -20, max: 100 }),
  stale: fc.boolean(),
});

const iso = (at: number) => new Date(START + at * MINUTE).toISOString();

/** Users with events of a kind; kinds are rows with a time as well. */
function make({ events, kinds, source, limit, stale }: RandomWorld): World {
  const inWindow = [fn("gt", "at", windowStart), fn("le", "at", queryNow)];
  const stored = stale ? { stale: "infinity" } : {};
  const windows: Record<string, FeatureSpec> = Object.fromEntries(
    WINDOWS.flatMap((seconds) => [
      [`spend__${seconds}__`, { type: "int", window: `${seconds}s`, expression: agg("sum", "events", "amount", ...inWindow) }],
      [`seen__${seconds}__`, { type: "int", window: `${seconds}s`, expression: agg("count", "events", undefined, ...inWindow) }],
    ]),
  );
  const made = graph(
    [
      featureClass("kind", { id: "int", weight: "int?", at: { type: "datetime", time: true } }),
      featureClass("event", {
        id: "int",
        user_id: "int?",
        user: { to: "user", on: [["user_id", "id"]], optional: true },
        kind_id: "int?",
        kind: { to: "kind", on: [["kind_id", "id"]], optional: true },
        amount: "int?",
        at: { type: "datetime?", time: true },
        weighted: { type: "int?", expression: fn("mul", "amount", "kind.weight") },
        python: { type: "int", ...stored },
      }),
      featureClass("user", {
        id: "int",
        events: { many: "event", on: [["id", "user_id"]] },
        total: { type: "int", expression: agg("sum", "events", "amount") },
        big: { type: "int", expression: agg("count", "events", undefined, fn("gt", "amount", lit(limit))) },
        most: { type: "int?", expression: agg("max", "events", "weighted") },
        twice: { type: "int", expression: fn("add", "total", "total") },
        pythons: { type: "int", expression: agg("sum", "events", "python") },
        told: "int",
        ...windows,
      }),
    ],
    [
      sql("kinds", "select id, weight, at from kinds", { "kind.id": "id", "kind.weight": "weight", "kind.at": "at" }),
      python("m.python", ["event.id", "event.amount?"], ["event.python"]),
      python("m.told", [{ rows: "user.events", columns: ["event.amount"], filters: [fn("gt", "amount", lit(limit))] }], ["user.told"]),
      ...sourceOf(source),
    ],
  );
  const value = (one: number | null) => (one === null ? "null" : String(one));
  const rows = events.map(
    (e) => `(${e.id}, ${value(e.user)}, ${value(e.kind)}, ${value(e.amount)}, ${e.at === null ? "null" : `'${iso(e.at)}'`})`,
  );
  const kindRows = kinds.map((kind) => `(${kind.id}, ${kind.weight}, '${iso(kind.at)}')`);
  const insert = (table: string, lines: readonly string[]) => (lines.length > 0 ? `insert into ${table} values ${lines.join(", ")};` : "");
  const database = new MemorySource(
    "db",
    `create table events (id integer, user_id integer, kind_id integer, amount integer, at text); ${insert("events", rows)}
     create table kinds (id integer, weight integer, at text); ${insert("kinds", kindRows)}`,
  );
  const fields = (event: Event) => ({
    "event.id": event.id,
    "event.user_id": event.user,
    "event.kind_id": event.kind,
    "event.amount": event.amount,
    "event.at": event.at === null ? null : iso(event.at).replace("Z", "000Z"),
  });
  return new World(made, {
    sources: [database],
    python: {
      "m.python": ([id, amount]) => Number(id) + Number(amount ?? 0),
      "m.told": ([given]) => (given as unknown as readonly unknown[]).length,
      "m.scan": () => events.map(fields),
      "m.events": ([id]) => events.filter((event) => event.user === id).map(fields),
    },
  });
}

const COLUMNS = { "event.id": "id", "event.user_id": "user_id", "event.kind_id": "kind_id", "event.amount": "amount", "event.at": "at" };

function sourceOf(source: RandomWorld["source"]) {
  const columns = "select id, user_id, kind_id, amount, at from events";
  switch (source) {
    case "sql":
      return [sql("events", columns, COLUMNS)];
    case "placeholder":
      return [sql("events", `${columns} where user_id = \${event.user_id}`, COLUMNS, { count: 3 })];
    case "scan":
      return [python("m.scan", [], Object.keys(COLUMNS), { rows: true })];
    case "relation":
      return [python("m.events", ["user.id"], Object.keys(COLUMNS), { relation: "user.events" })];
  }
}

/** What a user's features are at a time, by going through everything one by one. */
function oracle({ events, kinds, limit }: RandomWorld, user: number, now: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const seen: Event[] = [];
  for (const event of events) if (event.user === user && (event.at === null || event.at <= now)) seen.push(event);
  let total = 0;
  let big = 0;
  let most: number | null = null;
  let pythons = 0;
  for (const event of seen) {
    if (event.amount !== null) total += event.amount;
    if (event.amount !== null && event.amount > limit) big++;
    pythons += event.id + (event.amount ?? 0);
    const kind = kinds.find((one) => one.id === event.kind && one.at <= now);
    if (event.amount !== null && kind && (most === null || event.amount * kind.weight > most)) most = event.amount * kind.weight;
  }
  Object.assign(result, {
    "user.total": total,
    "user.big": big,
    "user.most": most,
    "user.twice": 2 * total,
    "user.pythons": pythons,
    "user.told": big,
  });
  for (const seconds of WINDOWS) {
    let spend = 0;
    let count = 0;
    for (const event of seen) {
      if (event.at === null || event.at * 60 <= now * 60 - seconds) continue;
      spend += event.amount ?? 0;
      count++;
    }
    result[`user.spend__${seconds}__`] = spend;
    result[`user.seen__${seconds}__`] = count;
  }
  result["user.events.amount"] = [...seen].sort((a, b) => a.id - b.id).map((event) => event.amount);
  return result;
}

const OUTPUTS = [
  "user.total",
  "user.big",
  "user.most",
  "user.twice",
  "user.pythons",
  "user.told",
  "user.spend",
  "user.seen",
  "user.events.amount",
];

test(
  "no answer knows anything of what comes after its time, and all of it is what one by one gives",
  async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.array(minutes, { minLength: 1, maxLength: 4 }), async (random, times) => {
        const sorted = { ...random, events: [...random.events].sort((a, b) => a.id - b.id) };
        const world = make(sorted);
        for (const minute of times) {
          const now = BigInt(START + minute * MINUTE) * 1000n;
          const answers = random.users.map((user) => oracle(sorted, user, minute));
          for (const [at, user] of random.users.entries())
            expect(await world.values({ "user.id": user }, OUTPUTS, { now })).toEqual(answers[at] as never);
          const bulk = await world.engine.answerBulk(
            world.deployment,
            { request: ask({}, OUTPUTS, { now }), columns: [bulkColumn("user.id", random.users)] },
            world.now,
          );
          expect(bulk.failures).toEqual([]);
          for (const { path, values } of bulk.columns)
            expect([path, values]).toEqual([path, answers.map((answer) => answer[path]) as never]);
        }
        const rows = random.users.flatMap((user) => times.map((minute) => ({ user, minute })));
        const apart = await world.engine.answerBulk(
          world.deployment,
          {
            request: ask({}, OUTPUTS),
            columns: [
              bulkColumn(
                "user.id",
                rows.map(({ user }) => user),
              ),
            ],
            now: rows.map(({ minute }) => BigInt(START + minute * MINUTE) * 1000n),
          },
          world.now,
        );
        expect(apart.failures).toEqual([]);
        const wanted = rows.map(({ user, minute }) => oracle(sorted, user, minute));
        for (const { path, values } of apart.columns) expect([path, values]).toEqual([path, wanted.map((answer) => answer[path]) as never]);
      }),
      seeded(150, 20_000),
    );
  },
  patience(300_000),
);
