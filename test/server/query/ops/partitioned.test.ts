import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { ResolverCall } from "../../../../src/server/python/pool.ts";
import type { BulkAnswer } from "../../../../src/server/query/bulk.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { bulkColumn, type QueryRequest } from "../../../../src/server/query/request/request.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import { seeded } from "../../../harness/seed.ts";
import { featureClass, graph, python } from "../graphs.ts";
import { ask, later, World } from "../worlds.ts";

/** Rows of a query together with the count of those of their country. */
const USER = featureClass("user", {
  id: "int",
  code: "int",
  country: { type: "str?", stale: "1h" },
  rank: "int",
  score: "int",
  home_id: { type: "int", stale: "1h" },
  home: { to: "home", on: [["home_id", "id"]] },
  kids: { many: "kid", on: [["id", "parent"]] },
});
const HOME = featureClass("home", { id: "int", town: "str", size: "int" });
const KID = featureClass("kid", { id: "int", parent: "int", school: "str", mates: "int" });

const TABLES = {
  user: python("m.rank", [{ table: ["user.id", "user.country"] }], ["user.id", "user.rank"], {
    rows: true,
    partitionedBy: ["user.country"],
  }),
  home: python("m.size", [{ table: ["home.id", "home.town"] }], ["home.id", "home.size"], { rows: true, partitionedBy: ["home.town"] }),
  kid: python("m.mates", [{ table: ["kid.id", "kid.school"] }], ["kid.id", "kid.mates"], { rows: true, partitionedBy: ["kid.school"] }),
};

/** The columns of the table of a call. */
function tableOf({ tables = {} }: ResolverCall): Readonly<Record<string, readonly FeatureValue[]>> {
  return Object.values(tables)[0] ?? {};
}

/** How many rows of the call have the value of each row: what a function of a table computes. */
function counted(key: string, by: string, out: string): (args: unknown, call: ResolverCall) => unknown {
  return (_, call) => {
    const table = tableOf(call);
    const values = table[by] ?? [];
    const seen = new Map<FeatureValue, number>();
    for (const value of values) seen.set(value, (seen.get(value) ?? 0) + 1);
    const rows = new Map((table[key] ?? []).map((id, at) => [id, { [key]: id, [out]: seen.get(values[at] as FeatureValue) ?? 0 }]));
    return [...rows.values()];
  };
}

function world(options: { readonly slow?: boolean } = {}): World {
  const made = graph(
    [USER, HOME, KID],
    [
      TABLES.user,
      TABLES.home,
      TABLES.kid,
      python("m.country", ["user.code"], ["user.country"]),
      python("m.home", ["user.code"], ["user.home_id"]),
      python("m.score", ["user.rank"], ["user.score"]),
      python("m.town", ["home.id"], ["home.town"]),
      python("m.kids", ["user.id"], ["kid.id", "kid.school"], { relation: "user.kids" }),
    ],
  );
  const store = openSqliteOnlineStore(":memory:");
  return new World(made, {
    online: options.slow ? later(store) : store,
    python: {
      "m.rank": counted("user.id", "user.country", "user.rank"),
      "m.size": counted("home.id", "home.town", "home.size"),
      "m.mates": counted("kid.id", "kid.school", "kid.mates"),
      "m.country": ([code]) => `c${Number(code) % 5}`,
      "m.score": ([rank]) => rank as FeatureValue,
      "m.home": ([code]) => code as FeatureValue,
      "m.town": ([id]) => `t${Number(id) % 3}`,
      "m.kids": ([id]) => [{ "kid.id": Number(id) * 10, "kid.school": `s${Number(id) % 2}` }],
    },
  });
}

function bulk(
  of: World,
  inputs: Readonly<Record<string, readonly unknown[]>>,
  outputs: readonly string[],
  more: Partial<QueryRequest> = {},
) {
  const columns = Object.entries(inputs).map(([name, values]) => bulkColumn(name, values));
  return of.engine.answerBulk(of.deployment, { request: ask({}, outputs, more), columns }, of.now);
}

function column(answer: BulkAnswer, path: string): readonly FeatureValue[] {
  return answer.columns.find((one) => one.path === path)?.values ?? [];
}

/** The values of a column in each call of a resolver. */
function callsOf(of: World, resolver: string, name: string): readonly (readonly FeatureValue[])[] {
  return of.pool.calls.filter((call) => call.resolver === resolver).map((call) => tableOf(call)[name] ?? []);
}

/** Whether each value is in one call. */
function isWhole(calls: readonly (readonly FeatureValue[])[]): boolean {
  const callOf = new Map<FeatureValue, number>();
  return calls.every((values, call) => values.every((value) => (callOf.get(value) ?? callOf.set(value, call).get(value)) === call));
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe("rows of a partition are in one call", () => {
  for (const times of [1, 2, 4, 8, 16])
    test(`of a query ${times} times as large as a call`, async () => {
      const countries = fc.array(fc.option(fc.constantFrom("a", "b", "c", "d", "e", "f", "g")), {
        minLength: 6 * times,
        maxLength: 6 * times,
      });
      await fc.assert(
        fc.asyncProperty(countries, async (given) => {
          const one = world();
          const answer = await bulk(one, { "user.id": numbers(given.length), "user.country": given }, ["user.rank"], {
            plannerOptions: { max_batch_rows: "6" },
          });
          expect(answer.failures).toEqual([]);
          expect(column(answer, "user.rank")).toEqual(given.map((country) => given.filter((other) => other === country).length));
          const calls = callsOf(one, "m.rank", "user.country");
          expect(isWhole(calls)).toBe(true);
          for (const call of calls) expect(call.length <= 6 || new Set(call).size === 1).toBe(true);
        }),
        seeded(10),
      );
    });

  test("where the online store knows some of the countries, and others are computed", async () => {
    const one = world({ slow: true });
    const ids = numbers(30);
    const some = ids.filter((id) => id % 2 === 0);
    await bulk(one, { "user.id": some, "user.code": some }, ["user.country"]);
    const answer = await bulk(one, { "user.id": ids, "user.code": ids }, ["user.rank"]);
    expect(column(answer, "user.rank")).toEqual(ids.map(() => 6));
    expect(isWhole(callsOf(one, "m.rank", "user.country"))).toBe(true);
  });

  test("where the rows of some are known before those of others", async () => {
    const one = world({ slow: true });
    const ids = numbers(30);
    const some = ids.filter((id) => id % 2 === 0);
    await bulk(one, { "user.id": some, "user.code": some }, ["user.home_id"]);
    const answer = await bulk(one, { "user.id": ids, "user.code": ids }, ["user.home.size"]);
    expect(column(answer, "user.home.size")).toEqual(ids.map(() => 10));
    expect(one.pool.calls.filter(({ resolver }) => resolver === "m.town")).toHaveLength(2);
    expect(callsOf(one, "m.size", "home.town")).toHaveLength(1);
  });

  test("of rows that a relation leads to", async () => {
    const one = world();
    const answer = await bulk(one, { "user.id": numbers(24), "user.home_id": numbers(24) }, ["user.home.size"], {
      plannerOptions: { max_batch_rows: "4" },
    });
    expect(column(answer, "user.home.size")).toEqual(numbers(24).map(() => 8));
    expect(callsOf(one, "m.size", "home.town").map((call) => new Set(call).size)).toEqual([1, 1, 1]);
  });

  test("of child rows of all rows", async () => {
    const one = world();
    const answer = await bulk(one, { "user.id": numbers(3_000) }, ["user.kids"]);
    expect(answer.failures).toEqual([]);
    expect(callsOf(one, "m.mates", "kid.school").map((call) => call.length)).toEqual([1_500, 1_500]);
    const mates = column(answer, "user.kids").map((kids) => (kids as { mates: number }[]).map((kid) => kid.mates));
    expect(mates.every(([count]) => count === 1_500)).toBe(true);
  });

  test("not of other times", async () => {
    const one = world();
    const now = numbers(6).map((at) => BigInt(one.now) * 1000n - BigInt(at % 2) * 1_000_000n);
    const columns = [
      bulkColumn("user.id", numbers(6)),
      bulkColumn(
        "user.country",
        numbers(6).map(() => "a"),
      ),
    ];
    const answer = await one.engine.answerBulk(one.deployment, { request: ask({}, ["user.rank"]), columns, now }, one.now);
    expect(column(answer, "user.rank")).toEqual([3, 3, 3, 3, 3, 3]);
  });
});

describe("a query of more rows than run together", () => {
  const ROWS = 25_000;
  const ids = numbers(ROWS);

  test("computes what rows are alike in first, and leaves partitions whole", async () => {
    const one = world();
    const answer = await bulk(one, { "user.id": ids, "user.code": ids }, ["user.rank", "user.country"]);
    expect(answer.failures).toEqual([]);
    expect(new Set(column(answer, "user.rank"))).toEqual(new Set([5_000]));
    expect(column(answer, "user.country").slice(0, 6)).toEqual(["c0", "c1", "c2", "c3", "c4", "c0"]);
    expect(callsOf(one, "m.rank", "user.country").map((call) => call.length)).toEqual([5_000, 5_000, 5_000, 5_000, 5_000]);
  });

  test("computes a partition that is larger than that by itself", async () => {
    const one = world();
    const countries = ids.map((id) => (id < 12_000 ? "large" : `c${id % 4}`));
    const answer = await bulk(one, { "user.id": ids, "user.country": countries }, ["user.rank"]);
    expect(answer.failures).toEqual([]);
    expect(new Set(column(answer, "user.rank"))).toEqual(new Set([12_000, 3_250]));
  });

  test("fails the rows of a partition that is larger than rows can be together", async () => {
    const one = world();
    const many = numbers(100_005);
    const answer = await bulk(one, { "user.id": many, "user.country": many.map((id) => (id < 3 ? "small" : "large")) }, ["user.rank"]);
    expect(column(answer, "user.rank").slice(0, 5)).toEqual([3, 3, 3, null, null]);
    expect(answer.failures).toHaveLength(100_002);
    expect(answer.failures[0]?.message).toBe(
      "m.rank is given all rows with the same user.country in one call, and 100,002 rows have: at most 100,000 can; partition it by more columns",
    );
  });

  test("is refused where the rows are those of parents", async () => {
    const refused = await bulk(world(), { "user.id": ids }, ["user.kids"]).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(QueryRefused);
    expect((refused as Error).message).toBe(
      "m.mates is given all rows with the same kid.school in one call, and this query asks for those of 25,000 rows, of which at most 10,000 are computed together: ask for fewer",
    );
  });
});

test("rows of which not the same is given are refused, because they have several plans", async () => {
  const homes = [{ id: 1, town: "a" }, { id: 2 }];
  const ask = (given: readonly object[]) => bulk(world(), { "user.id": [1, 2], "user.home": given }, ["user.home.size"]);
  const refused = await ask(homes).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QueryRefused);
  expect((refused as Error).message).toBe(
    "m.size is given all rows with the same home.town in one call, and the rows of this query are given in different forms: give each the same features",
  );
  const answer = await ask(homes.map((home) => ({ ...home, town: "a" })));
  expect(column(answer, "user.home.size")).toEqual([2, 2]);
});

test("a run of another resolver is refused where its parts would divide partitions", async () => {
  const one = world();
  const signal = new AbortController().signal;
  const into = { online: false, offline: false };
  const run = one.engine.runResolver(one.deployment, { resolver: "m.score", now: one.now, into, signal } as never);
  const [rank] = run.inputs;
  if (!rank) throw new Error("the run has no input");
  const rows = { keys: [1, 2], inputs: new Map([[rank, [undefined, undefined]]]) };
  const refused = await run.compute(rows, true).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QueryRefused);
  expect((refused as Error).message).toBe(
    "m.rank is given all rows with the same user.country in one call, and m.score is computed for a part of its rows at a time: store what the first one gives before",
  );
  const known = { keys: [1, 2], inputs: new Map([[rank, [7, 8]]]) };
  expect(await run.compute(known, true)).toEqual({ rows: 2, failedRows: 0, error: "" });
});

describe("a run of the resolver by itself", () => {
  const known = (one: World, keys: readonly number[], countries: (id: number) => FeatureValue | undefined) => {
    const signal = new AbortController().signal;
    const run = one.engine.runResolver(one.deployment, {
      ...{ resolver: "m.rank", now: one.now, into: { online: false, offline: false }, signal },
    } as never);
    const country = run.inputs[0];
    if (!country) throw new Error("the run has no input");
    return { run, of: (part: readonly number[]) => ({ keys: part, inputs: new Map([[country, part.map(countries)]]) }), keys };
  };

  test("is given the same inputs for all rows, so that partitions are whole", async () => {
    const one = world();
    const { of, run } = known(one, numbers(8), (id) => (id % 2 === 0 ? "c0" : undefined));
    expect(await run.compute(of(numbers(8)), false)).toEqual({ rows: 8, failedRows: 0, error: "" });
    expect(callsOf(one, "m.rank", "user.country")).toEqual([["c0", null, "c0", null, "c0", null, "c0", null]]);
  });

  test("is divided by partitions where it has more rows than a part", async () => {
    const one = world();
    const { of, run } = known(one, [], (id) => (id % 30 < 20 ? "large" : `c${id % 3}`));
    const keys = numbers(25_000).map((id) => `i:${id}`);
    const idOf = (key: string) => Number(key.slice(2));
    const divided = await run.divide?.(keys, async (part) => of(part.map(idOf)));
    expect(divided?.failedRows).toBe(0);
    const parts = divided?.parts ?? [];
    expect(parts.flat().sort()).toEqual([...keys].sort());
    const countryOf = (key: string) => (idOf(key) % 30 < 20 ? "large" : `c${idOf(key) % 3}`);
    expect(isWhole(parts.map((part) => part.map(countryOf)))).toBe(true);
    expect(Math.max(...parts.map((part) => part.length))).toBe(keys.filter((key) => countryOf(key) === "large").length);
  });
});
