import { describe, expect, test } from "bun:test";
import { agg, featureClass, fn, graph, lit, python, queryNow, ref, sql, windowStart } from "../graphs.ts";
import { failureOf, fieldOf, MemorySource, World } from "../worlds.ts";

describe("features with an expression", () => {
  const made = graph(
    [
      featureClass("bank", { id: "int", fee: "float" }),
      featureClass("user", {
        id: "int",
        bank_id: "int?",
        bank: { to: "bank", on: [["bank_id", "id"]], optional: true },
        total: "float",
        tax: "float",
        net: { type: "float", expression: fn("sub", "total", "tax"), stale: "1h" },
        after_fee: { type: "float?", expression: fn("sub", "net", "bank.fee") },
        ratio: { type: "float", expression: fn("div", "total", "tax") },
        covered: { type: "float", expression: fn("div", "total", "tax"), default: -1 },
        both: { type: "float", expression: fn("mul", "total", lit(2)) },
        strict: { type: "float", expression: fn("add", "after_fee", lit(0)) },
        far: { type: "float", expression: fn("add", "unmade", lit(1)) },
        unmade: "float",
      }),
    ],
    [
      python("m.total", ["user.id"], ["user.total"]),
      python("m.tax", ["user.id"], ["user.tax"]),
      python("m.fee", ["bank.id"], ["bank.fee"]),
      python("m.both", ["user.id"], ["user.both"]),
    ],
  );
  const world = () =>
    new World(made, {
      python: { "m.total": ([id]) => Number(id) * 10, "m.tax": ([id]) => Number(id) - 1, "m.fee": () => 0.5, "m.both": () => 0 },
    });

  test("are computed from other features, through relations too, without Python", async () => {
    const one = world();
    expect(await one.values({ "user.id": 3, "user.bank_id": 7 }, ["user.net", "user.after_fee"])).toEqual({
      "user.net": 28,
      "user.after_fee": 27.5,
    });
    expect(one.pool.called().sort()).toEqual(["m.fee", "m.tax", "m.total"]);
  });

  test("come before resolvers, and after given values and the store", async () => {
    const one = world();
    expect(await one.values({ "user.id": 3 }, ["user.both"])).toEqual({ "user.both": 60 });
    expect(await one.values({ "user.id": 3, "user.net": 1 }, ["user.net"])).toEqual({ "user.net": 1 });
    await one.ask({ "user.id": 3 }, ["user.net"]);
    one.pool.calls.length = 0;
    expect(fieldOf(await one.ask({ "user.id": 3 }, ["user.net"]), "user.net")).toMatchObject({ value: 28, hit: true });
    expect(one.pool.calls).toEqual([]);
  });

  test("a null is passed on, and an error where the feature is not optional", async () => {
    const answer = await world().ask({ "user.id": 3, "user.bank_id": null }, ["user.after_fee", "user.strict"]);
    expect(fieldOf(answer, "user.after_fee")).toMatchObject({ value: null, failure: undefined });
    expect(failureOf(answer, "user.strict").message).toBe(
      "user.strict: expected float, got null from its expression, and the feature is not optional",
    );
  });

  test("what goes wrong is the row's error, or its default", async () => {
    const answer = await world().ask({ "user.id": 1 }, ["user.ratio", "user.covered"]);
    expect(fieldOf(answer, "user.covered").value).toBe(-1);
    expect(failureOf(answer, "user.ratio").message).toContain("user.ratio: ");
  });

  test("an input that nothing provides is said", async () => {
    expect((await world().refusal({ "user.id": 1 }, ["user.far"])).message).toContain("its expression: it needs user.unmade");
  });

  test("the explanation shows them", async () => {
    const { explanation } = await world().ask({ "user.id": 3 }, ["user.both"], { explain: true });
    expect(explanation).toContain("Expr user.both  rows 1 -> 1");
    expect(explanation).toContain("not m.both (m.py:1): its expression gives the value");
  });
});

describe("windowed features", () => {
  const inWindow = [fn("gt", "at", windowStart), fn("le", "at", queryNow)];
  const windowed = (window: string) => ({
    type: "int" as const,
    window,
    expression: agg("count", "logins", undefined, fn("eq", "ok", lit(false)), ...inWindow),
  });
  const made = graph(
    [
      featureClass("login", { id: "int", user_id: "int", ok: "bool", at: { type: "datetime", time: true } }),
      featureClass("user", {
        id: "int",
        logins: { many: "login", on: [["id", "user_id"]] },
        fails__600__: windowed("10m"),
        fails__604800__: windowed("7d"),
        twice: { type: "int", expression: fn("mul", "fails__600__", lit(2)) },
      }),
    ],
    [
      sql("logins", "select id, user_id, ok, at from logins", {
        "login.id": "id",
        "login.user_id": "user_id",
        "login.ok": "ok",
        "login.at": "at",
      }),
    ],
  );
  const world = () =>
    new World(made, {
      sources: [
        new MemorySource(
          "db",
          `create table logins (id integer, user_id integer, ok integer, at text);
           insert into logins values (1, 1, 0, '2024-05-01T11:55:00Z'), (2, 1, 0, '2024-05-01T11:40:00Z'), (3, 1, 1, '2024-05-01T11:59:00Z'),
             (4, 2, 0, '2024-05-01T11:59:00Z'), (5, 1, 0, '2024-05-01T11:50:00Z'), (6, 1, 0, '2024-05-01T12:00:01Z')`,
        ),
      ],
    });

  test("count what lies in each window before the time asked about", async () => {
    expect(await world().values({ "user.id": 1 }, ["user.fails"])).toEqual({ "user.fails__600__": 1, "user.fails__604800__": 3 });
    const now = BigInt(Date.parse("2024-05-01T11:50:00Z")) * 1000n;
    expect(await world().values({ "user.id": 1 }, ["user.fails[10m]", 'user.fails["1w"]', "user.twice"], { now })).toEqual({
      "user.fails__600__": 1,
      "user.fails__604800__": 2,
      "user.twice": 2,
    });
  });

  test("can be given, one or all under the bare name", async () => {
    expect(await world().values({ "user.id": 1, 'user.fails["10m"]': 4 }, ["user.twice"])).toEqual({ "user.twice": 8 });
    expect(await world().values({ "user.id": 1, "user.fails": { "600s": 5, "7d": 6 } }, ["user.twice", "user.fails[7d]"])).toEqual({
      "user.twice": 10,
      "user.fails__604800__": 6,
    });
    expect((await world().refusal({ "user.id": 1, "user.fails": { "1h": 5 } }, ["user.twice"])).message).toContain(
      "its windows are 10m, 7d",
    );
    expect(ref("a").node.case).toBe("feature");
  });

  test("are named in errors as they are written", async () => {
    const failing = (found: Parameters<typeof graph>[1]) =>
      new World(
        graph(
          [
            featureClass("login", { id: "int", user_id: "int", at: { type: "datetime", time: true } }),
            featureClass("user", {
              id: "int",
              logins: { many: "login", on: [["id", "user_id"]] },
              latest__600__: { type: "int", window: "10m", expression: agg("max", "logins", "id", ...inWindow) },
              next: { type: "int", expression: fn("add", "latest__600__", lit(1)) },
              unmade__600__: { type: "int", window: "10m" },
              more: { type: "int", expression: fn("add", "unmade__600__", lit(1)) },
            }),
          ],
          found,
        ),
        { sources: [new MemorySource("db", "create table logins (id integer, user_id integer, at text)")] },
      );
    const logins = sql("logins", "select id, user_id, at from logins", { "login.id": "id", "login.user_id": "user_id", "login.at": "at" });
    const answer = await failing([logins]).ask({ "user.id": 1 }, ["user.latest", "user.next"]);
    const cause = "user.latest[10m]: expected int, got null from its expression, and the feature is not optional";
    expect(failureOf(answer, "user.latest__600__").message).toBe(cause);
    expect(failureOf(answer, "user.next").message).toBe(`user.next needs user.latest[10m], which failed: ${cause}`);
    const { message } = await failing([]).refusal({ "user.id": 1 }, ["user.next", "user.unmade", "user.more"]);
    expect(message).toContain("it needs user.latest[10m], whose expression cannot be evaluated");
    expect(message).toContain("no resolver produces user.unmade[10m]: give user.unmade[10m] as an input, or write a resolver for it");
    expect(message).not.toContain("__");
    const { explanation } = await failing([]).ask({ "user.id": 1 }, ["user"], { explain: true });
    expect(explanation).toContain("─ user.unmade[10m]: no resolver produces user.unmade[10m]");
  });
});
