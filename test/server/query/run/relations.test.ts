import { describe, expect, test } from "bun:test";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import { featureClass, graph, python, sql } from "../graphs.ts";
import { failureOf, fieldOf, MemorySource, valuesOf, World } from "../worlds.ts";

const AIRPORTS = `
  create table airports (code text primary key, latitude real, nickname text, country text);
  insert into airports values ('LAX', 33.9, null, 'US'), ('JFK', 40.6, 'Kennedy', 'US');
  create table flights (id integer primary key, origin text, dest text);
  insert into flights values (1, 'LAX', 'JFK'), (2, 'LAX', 'ZZZ'), (3, 'LAX', null);
`;

/** Flights from a required origin to an optional destination. */
function world(more: { readonly count?: RowCount; readonly total?: boolean } = {}): World & { source: MemorySource } {
  const made = graph(
    [
      featureClass("country", { code: { type: "str", primary: true }, name: "str" }),
      featureClass("airport", {
        code: { type: "str", primary: true },
        latitude: "float",
        nickname: "str?",
        kind: { type: "str", default: "civil" },
        country_code: "str",
        country: { to: "country", on: [["country_code", "code"]] },
        north: "bool",
        seen: { type: "int", stale: "1h" },
      }),
      featureClass("flight", {
        id: "int",
        origin_code: "str?",
        dest_code: "str?",
        origin: { to: "airport", on: [["origin_code", "code"]] },
        dest: { to: "airport", on: [["dest_code", "code"]], optional: true },
        gap: "float",
        label: "str",
      }),
    ],
    [
      sql(
        "airports",
        "select code, latitude, nickname, country from airports",
        { "airport.code": "code", "airport.latitude": "latitude", "airport.nickname": "nickname", "airport.country_code": "country" },
        more,
      ),
      sql("flights", "select id, origin, dest from flights", {
        "flight.id": "id",
        "flight.origin_code": "origin",
        "flight.dest_code": "dest",
      }),
      python("geo.north", ["airport.latitude"], ["airport.north"]),
      python("geo.country", ["country.code"], ["country.name"]),
      python("geo.seen", ["airport.code"], ["airport.seen"]),
      python("geo.gap", ["flight.origin.latitude", "flight.dest.latitude?"], ["flight.gap"]),
      python("geo.label", ["flight.origin.latitude", "flight.dest.latitude"], ["flight.label"]),
    ],
  );
  const source = new MemorySource("db", AIRPORTS);
  const one = new World(made, {
    sources: [source],
    python: {
      "geo.north": ([latitude]) => (latitude as number) > 35,
      "geo.country": ([code]) => `name of ${code}`,
      "geo.seen": () => 5,
      "geo.gap": ([a, b]) => (b === null ? -1 : Math.abs((a as number) - (b as number))),
      "geo.label": (args) => JSON.stringify(args),
    },
  });
  return Object.assign(one, { source });
}

describe("has-one", () => {
  test("outputs and resolvers read through it, each row in one statement", async () => {
    const one = world();
    const answer = await one.ask({ "flight.id": 1 }, ["flight.gap", "flight.origin.north", "flight.dest.north", "flight.dest.nickname"]);
    expect(valuesOf(answer)).toEqual({
      "flight.gap": 40.6 - 33.9,
      "flight.origin.north": false,
      "flight.dest.north": true,
      "flight.dest.nickname": "Kennedy",
    });
    expect(one.source.statements).toHaveLength(3);
    expect(fieldOf(answer, "flight.dest.north").key?.value).toBe("JFK");
  });

  test("it goes on through further relations", async () => {
    expect(await world().values({ "flight.id": 1 }, ["flight.origin.country.name"])).toEqual({
      "flight.origin.country.name": "name of US",
    });
  });

  test("a row that an optional relation has not is null, without errors, and nothing is called for it", async () => {
    for (const id of [2, 3]) {
      const one = world();
      const answer = await one.ask({ "flight.id": id }, [
        "flight.dest.latitude",
        "flight.dest.north",
        "flight.dest.nickname",
        "flight.dest.country.name",
      ]);
      expect(Object.values(valuesOf(answer))).toEqual([null, null, null, null]);
      expect(answer.failures).toEqual([]);
      expect(one.pool.called()).toEqual([]);
    }
  });

  test("with a null key the database is not asked, and a default does not invent a row", async () => {
    const one = world();
    expect(await one.values({ "flight.id": 3 }, ["flight.dest.code", "flight.dest.kind"])).toEqual({
      "flight.dest.code": null,
      "flight.dest.kind": null,
    });
    expect(one.source.statements).toHaveLength(1);
  });

  test("reads through it are nullable: resolvers above run with null", async () => {
    for (const id of [2, 3]) {
      const answer = await world().ask({ "flight.id": id }, ["flight.gap", "flight.label"]);
      expect(valuesOf(answer)).toEqual({ "flight.gap": -1, "flight.label": "[33.9,null]" });
    }
  });

  test("a row that a required relation has not fails its features", async () => {
    const one = world();
    one.source.db.run("insert into flights values (4, 'ZZZ', 'JFK')");
    const answer = await one.ask({ "flight.id": 4 }, [
      "flight.origin.latitude",
      "flight.origin.nickname",
      "flight.gap",
      "flight.dest.latitude",
    ]);
    for (const feature of ["latitude", "nickname"])
      expect(failureOf(answer, `flight.origin.${feature}`)).toEqual({
        code: "UPSTREAM_FAILED",
        message:
          'flight.origin has no row: airports (airports.svc.sql:1) found none with airport.code = "ZZZ", and the relation is not optional',
      });
    expect(failureOf(answer, "flight.gap").code).toBe("UPSTREAM_FAILED");
    expect(fieldOf(answer, "flight.dest.latitude").value).toBe(40.6);
  });

  test("where the resolver promised a row, even nullable features fail", async () => {
    for (const more of [{ count: RowCount.ONE }, { total: true }]) {
      const one = world(more);
      one.source.db.run("insert into flights values (4, 'ZZZ', 'JFK')");
      expect(failureOf(await one.ask({ "flight.id": 4 }, ["flight.origin.nickname"]), "flight.origin.nickname").code).toBe(
        "RESOLVER_FAILED",
      );
    }
  });

  test("a null key of a required relation is said", async () => {
    const one = world();
    one.source.db.run("insert into flights values (5, null, null)");
    const answer = await one.ask({ "flight.id": 5 }, ["flight.origin.latitude", "flight.gap"]);
    expect(failureOf(answer, "flight.origin.latitude").message).toContain(
      "flight.origin has no row, because flight.origin_code is null and the relation is not optional",
    );
    expect(failureOf(answer, "flight.gap").code).toBe("UPSTREAM_FAILED");
  });

  test("values of the other class are stored under its own key, and served to whoever reaches that row", async () => {
    const one = world();
    await one.ask({ "flight.id": 1 }, ["flight.origin.seen"]);
    expect(fieldOf(await one.ask({ "airport.code": "LAX" }, ["airport.seen"]), "airport.seen").hit).toBe(true);
    expect(fieldOf(await one.ask({ "flight.id": 2 }, ["flight.origin.seen"]), "flight.origin.seen").hit).toBe(true);
    expect(fieldOf(await one.ask({ "flight.id": 1 }, ["flight.dest.seen"]), "flight.dest.seen").hit).toBe(false);
  });
});

describe("given through relations", () => {
  test("features by path replace what the row would say", async () => {
    const one = world();
    const inputs = { "flight.origin.latitude": 1, "flight.dest.latitude": 5 };
    expect(await one.values(inputs, ["flight.gap", "flight.origin.north"])).toEqual({ "flight.gap": 4, "flight.origin.north": false });
    expect(one.source.statements).toEqual([]);
    expect(await one.values({ "flight.id": 1, "flight.origin.latitude": 1 }, ["flight.gap", "flight.origin.nickname"])).toEqual({
      "flight.gap": 39.6,
      "flight.origin.nickname": null,
    });
  });

  test("a row given whole replaces the join", async () => {
    const one = world();
    const answer = await one.ask({ "flight.id": 1, "flight.origin": { code: "JFK" } }, [
      "flight.origin.latitude",
      "flight.gap",
      "flight.origin_code",
    ]);
    expect(valuesOf(answer)).toEqual({ "flight.origin.latitude": 40.6, "flight.gap": 0, "flight.origin_code": "LAX" });
    const refusal = await one.refusal({ "flight.id": 1, "flight.origin": { latitude: 1 } }, ["flight.origin.nickname"]);
    expect(refusal.message).toContain("it needs flight.origin.code, which was not given");
  });

  test("a row given as null is no row", async () => {
    const one = world();
    expect(await one.values({ "flight.id": 1, "flight.dest": null }, ["flight.gap", "flight.dest.kind"])).toEqual({
      "flight.gap": -1,
      "flight.dest.kind": null,
    });
  });
});

describe("joins that are not on the primary key", () => {
  const classes = [
    featureClass("account", { id: "int", owner: "int", day: "str", balance: "float", seen: { type: "int", stale: "1h" } }),
    featureClass("person", {
      id: "int",
      today: "str",
      account: { to: "account", on: [["id", "owner"]], optional: true },
      daily: {
        to: "account",
        on: [
          ["id", "owner"],
          ["today", "day"],
        ],
      },
    }),
  ];
  const accounts = sql("accounts", "select id, owner, day, balance from accounts", {
    "account.id": "id",
    "account.owner": "owner",
    "account.day": "day",
    "account.balance": "balance",
  });
  const rows = `create table accounts (id integer primary key, owner integer, day text, balance real);
    insert into accounts values (10, 1, 'mon', 5), (20, 2, 'mon', 6), (21, 2, 'tue', 7)`;
  const seen = python("m.seen", ["account.id"], ["account.seen"]);
  const made = graph(classes, [accounts, seen]);
  const open = () => new World(made, { sources: [new MemorySource("db", rows)], python: { "m.seen": ([id]) => id } });

  test("the row is looked up by the far column, and its key makes caching possible", async () => {
    const one = open();
    expect(await one.values({ "person.id": 1 }, ["person.account.balance", "person.account.id", "person.account.seen"])).toEqual({
      "person.account.balance": 5,
      "person.account.id": 10,
      "person.account.seen": 10,
    });
    expect(fieldOf(await one.ask({ "person.id": 1 }, ["person.account.seen"]), "person.account.seen").hit).toBe(true);
    expect(fieldOf(await one.ask({ "account.id": 10 }, ["account.seen"]), "account.seen").hit).toBe(true);
  });

  test("no row is null, two rows are an error", async () => {
    const none = await open().ask({ "person.id": 9 }, ["person.account.balance", "person.account.seen"]);
    expect([valuesOf(none), none.failures]).toEqual([{ "person.account.balance": null, "person.account.seen": null }, []]);
    const two = await open().ask({ "person.id": 2 }, ["person.account.balance"]);
    expect(failureOf(two, "person.account.balance")).toEqual({
      code: "RESOLVER_FAILED",
      message: "accounts gave 2 rows, expected at most one, with account.owner = 2",
    });
  });

  test("several columns are matched together", async () => {
    const ask = (today: string) => open().values({ "person.id": 2, "person.today": today }, ["person.daily.balance"]);
    expect(await ask("mon")).toEqual({ "person.daily.balance": 6 });
    expect(await ask("tue")).toEqual({ "person.daily.balance": 7 });
  });

  test("a resolver may give the key instead", async () => {
    const balances = sql("balances", "select id, balance from accounts", { "account.id": "id", "account.balance": "balance" });
    const one = new World(graph(classes, [python("m.find", ["account.owner"], ["account.id"]), balances]), {
      sources: [new MemorySource("db", rows)],
      python: { "m.find": ([owner]) => (owner as number) * 10 },
    });
    expect(await one.values({ "person.id": 2 }, ["person.account.balance"])).toEqual({ "person.account.balance": 6 });
  });
});
