import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { Resolver } from "../../../../gen/svc/v1/graph_pb.ts";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import { QueryBulkRequestSchema, QueryInputSchema, QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import type { Value } from "../../../../gen/svc/v1/value_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { answerToProto } from "../../../../src/server/query/answer/answer.ts";
import { bulkAnswerToProto } from "../../../../src/server/query/bulk.ts";
import { bulkColumn, bulkColumnsFromProto, bulkRequestFromProto, requestFromProto } from "../../../../src/server/query/request/request.ts";
import { agg, type FeatureSpec, featureClass, fn, graph, lit, python, type RowsSpec, sql } from "../graphs.ts";
import { ask, failureOf, fieldOf, MemorySource, type Played, PlayedError, World } from "../worlds.ts";

const TABLES = `
  create table users (id integer primary key, name text);
  insert into users values (1, 'ann'), (2, 'bob'), (3, 'eve');
  create table txns (id integer primary key, user_id integer, amount real, merchant integer, at text);
  insert into txns values (10, 1, 5, 1, '2024-01-01T00:00:00Z'), (11, 1, 50, 2, '2024-02-01T00:00:00Z'), (12, 2, 7, 1, '2024-01-05T00:00:00Z'),
    (13, 1, 500, 9, '2024-06-01T00:00:00Z'), (14, 1, 20, 1, '2024-04-01T00:00:00Z');
  create table merchants (id integer primary key, name text);
  insert into merchants values (1, 'shop'), (2, 'bar');
`;

const TXNS = sql("txns", "select id, user_id, amount, merchant, at from txns order by id", {
  "txn.id": "id",
  "txn.user_id": "user_id",
  "txn.amount": "amount",
  "txn.merchant_id": "merchant",
  "txn.at": "at",
});
const MERCHANTS = sql("merchants", "select id, name from merchants", { "merchant.id": "id", "merchant.name": "name" });
const USERS = sql("users", "select id, name from users", { "user.id": "id", "user.name": "name" });

interface Many extends World {
  readonly source: MemorySource;
}

/** Users with transactions at merchants. */
function world(
  resolvers: readonly Resolver[] = [TXNS, MERCHANTS, USERS],
  functions: Readonly<Record<string, Played>> = {},
  more: Readonly<Record<string, FeatureSpec>> = {},
): Many {
  const made = graph(
    [
      featureClass("merchant", { id: "int", name: "str" }),
      featureClass("txn", {
        id: "int",
        user_id: "int",
        user: { to: "user", on: [["user_id", "id"]] },
        amount: "float",
        merchant_id: "int",
        merchant: { to: "merchant", on: [["merchant_id", "id"]], optional: true },
        at: { type: "datetime", time: true },
        risk: { type: "float", stale: "1h" },
        cents: { type: "float", expression: fn("mul", "amount", lit(100)) },
        of: { type: "float", expression: fn("div", "amount", "user.total") },
        unmade: "str",
      }),
      featureClass("user", {
        id: "int",
        name: "str",
        txns: { many: "txn", on: [["id", "user_id"]] },
        total: { type: "float", expression: agg("sum", "txns", "amount") },
        big: { type: "int", expression: agg("count", "txns", undefined, fn("gt", "cents", lit(1000))) },
        max: { type: "float?", expression: agg("max", "txns", "amount") },
        risky: { type: "float", expression: agg("sum", "txns", "risk") },
        label: "str",
        circle: { type: "float", expression: agg("sum", "txns", "of") },
        ...more,
      }),
    ],
    [python("m.risk", ["txn.amount"], ["txn.risk"]), ...resolvers],
  );
  const source = new MemorySource("db", TABLES);
  const one = new World(made, { sources: [source], python: { "m.risk": ([amount]) => Number(amount) / 1000, ...functions } });
  return Object.assign(one, { source });
}

const row = (id: number, amount: number, merchant_id: number, at: string): Record<string, FeatureValue> => ({
  "txn.id": id,
  "txn.user_id": 1,
  "txn.amount": amount,
  "txn.merchant_id": merchant_id,
  "txn.at": at,
});

describe("the rows of a has-many relation", () => {
  test("are answered as objects and as lists, without those that lie ahead of the time", async () => {
    const one = world();
    const values = await one.values({ "user.id": 1 }, ["user.txns", "user.txns.amount", "user.txns.merchant.name", "user.txns.risk"]);
    expect(values["user.txns.amount"]).toEqual([5, 50, 20]);
    expect(values["user.txns.merchant.name"]).toEqual(["shop", "bar", "shop"]);
    expect(values["user.txns.risk"]).toEqual([0.005, 0.05, 0.02]);
    expect((values["user.txns"] as unknown[])[0]).toEqual({
      id: 10,
      user_id: 1,
      amount: 5,
      merchant_id: 1,
      at: "2024-01-01T00:00:00.000000Z",
      risk: 0.005,
      cents: 500,
      of: 5 / 75,
    });
    const tables = one.source.statements.map(({ text }) => /from (\w+)/.exec(text)?.[1]);
    expect(tables.sort()).toEqual(["merchants", "txns", "txns", "users"]);
    expect(await one.values({ "user.id": 3 }, ["user.txns", "user.txns.amount"])).toEqual({ "user.txns": [], "user.txns.amount": [] });
  });

  test("only the columns that are needed are read, by the join", async () => {
    const one = world();
    await one.ask({ "user.id": 1 }, ["user.txns.amount"]);
    const { text } = one.source.statements[0] as { text: string };
    expect(text).toContain('select q."user_id", q."amount", q."at" from');
    expect(text).toContain('where q."user_id" = ?1');
  });

  test("are hidden when they lie ahead of another time", async () => {
    const now = BigInt(Date.parse("2024-01-15T00:00:00Z")) * 1000n;
    expect(await world().values({ "user.id": 1 }, ["user.txns.amount", "user.total"], { now })).toEqual({
      "user.txns.amount": [5],
      "user.total": 5,
    });
  });

  test("are aggregated, with conditions, with features that other resolvers give, and over nothing", async () => {
    const one = world();
    const outputs = ["user.total", "user.big", "user.max", "user.risky"];
    expect(await one.values({ "user.id": 1 }, outputs)).toEqual({ "user.total": 75, "user.big": 2, "user.max": 50, "user.risky": 0.075 });
    expect(await one.values({ "user.id": 3 }, outputs)).toEqual({ "user.total": 0, "user.big": 0, "user.max": null, "user.risky": 0 });
  });

  test("know their own features: stored by their own key, and the way back to the parent", async () => {
    const one = world();
    await one.ask({ "user.id": 1 }, ["user.txns.risk"]);
    expect(fieldOf(await one.ask({ "txn.id": 11, "txn.amount": 0 }, ["txn.risk"]), "txn.risk")).toMatchObject({ value: 0.05, hit: true });
    expect(await one.values({ "user.id": 1 }, ["user.txns.user.name"])).toEqual({ "user.txns.user.name": ["ann", "ann", "ann"] });
    expect((await one.values({ "user.id": 1 }, ["user.circle"]))["user.circle"]).toBeCloseTo(1);
  });

  test("a failed child row fails what needs it, and is null and said in a list", async () => {
    const one = world(undefined, {
      "m.risk": ([amount]) => {
        if (amount === 50) throw new PlayedError("no risk");
        return 1;
      },
    });
    const answer = await one.ask({ "user.id": 1 }, ["user.risky", "user.total", "user.txns.risk"]);
    expect(failureOf(answer, "user.risky")).toMatchObject({ code: "UPSTREAM_FAILED" });
    expect(fieldOf(answer, "user.total").value).toBe(75);
    expect(fieldOf(answer, "user.txns.risk").value).toEqual([1, null, 1]);
    expect(answer.failures.map((failure) => failure.message)).toContain("no risk");
  });

  test("in bulk, all parents' rows are found and computed together", async () => {
    const one = world();
    const answer = await one.engine.answerBulk(
      one.deployment,
      { request: ask({}, ["user.total", "user.txns.amount", "user.risky"]), columns: [bulkColumn("user.id", [2, 1, 3, 1])] },
      one.now,
    );
    expect(answer.columns.map((column) => column.values)).toEqual([
      [7, 75, 0, 75],
      [[7], [5, 50, 20], [], [5, 50, 20]],
      [0.007, 0.075, 0, 0.075],
    ]);
    expect(one.source.statements).toHaveLength(1);
    expect(one.pool.calls.map((call) => call.rows)).toEqual([4]);
  });

  test("go out as messages: lists, and in bulk tables with their parents", async () => {
    const one = world();
    const request = create(QueryRequestSchema, {
      inputs: [{ feature: "user.id", value: { case: "text", value: "2" } }],
      outputs: ["user.txns", "user.txns.merchant.name"],
    });
    const answer = answerToProto(await one.engine.answer(one.deployment, requestFromProto(request), one.now), false);
    const [rows, names] = answer.data.map((field) => fromProtoValue(field.value as Value));
    expect(names).toEqual(["shop"]);
    expect(rows).toMatchObject([{ id: 12, amount: 7, cents: 700 }]);
    const query = create(QueryRequestSchema, { outputs: ["user.txns", "user.txns.amount"] });
    const bulkRequest = create(QueryBulkRequestSchema, {
      inputs: [
        { feature: "user.id", values: [2, 3, 1].map((id) => create(QueryInputSchema, { value: { case: "text", value: String(id) } })) },
      ],
    });
    const bulk = bulkAnswerToProto(
      await one.engine.answerBulk(one.deployment, bulkRequestFromProto(query, bulkColumnsFromProto(bulkRequest), []), one.now),
    );
    expect(bulk.columns.map((column) => [column.field, column.values.map((value) => fromProtoValue(value))])).toEqual([
      ["user.txns.amount", [[7], [], [5, 50, 20]]],
    ]);
    const [table] = bulk.tables;
    expect(table).toMatchObject({ field: "user.txns", parents: [0, 2, 2, 2] });
    expect(table?.columns.find((column) => column.field === "id")?.values.map((value) => fromProtoValue(value))).toEqual([12, 10, 11, 14]);
  });

  test("many parents are found in parts, each row in its place", async () => {
    const one = world();
    const ids = Array.from({ length: 2_500 }, (_, i) => (i % 7 === 0 ? 1 : i + 10));
    const answer = await one.engine.answerBulk(
      one.deployment,
      { request: ask({}, ["user.total"]), columns: [bulkColumn("user.id", ids)] },
      one.now,
    );
    expect(answer.columns[0]?.values).toEqual(ids.map((id) => (id === 1 ? 75 : 0)));
    expect(one.source.statements).toHaveLength(3);
  });

  test("a feature of theirs that nothing gives is refused by name, and left out of whole rows", async () => {
    expect((await world().refusal({ "user.id": 1 }, ["user.txns.unmade"])).message).toContain("no resolver produces txn.unmade");
  });

  test("the explanation names the source and the number of rows", async () => {
    const { explanation } = await world().ask({ "user.id": 1 }, ["user.total"], { explain: true });
    expect(explanation).toContain("user.txns = 3 rows");
    expect(explanation).toContain("Rows of user.txns, SqlResolver txns (txns.svc.sql:1)  rows 1 -> 4");
    const nested = (await world().ask({ "user.id": 1 }, ["user.risky"], { explain: true })).explanation;
    expect(nested).toContain("the first of 3 rows:");
    expect(nested).toContain("txn.risk = 0.005");
    expect(nested).toContain("PyResolver m.risk (m.py:1)  rows 3 -> 3");
  });
});

describe("where rows come from", () => {
  test("given rows replace all others, and what they lack is computed", async () => {
    const one = world();
    const txns = [
      { id: 1, amount: 3, at: "2024-01-01" },
      { id: 2, amount: 4, at: "2025-01-01" },
    ];
    expect(await one.values({ "user.id": 1, "user.txns": txns }, ["user.total", "user.txns.risk", "user.txns.cents"])).toEqual({
      "user.total": 3,
      "user.txns.risk": [0.003],
      "user.txns.cents": [300],
    });
    expect(one.source.statements).toEqual([]);
    expect((await one.refusal({ "user.id": 1, "user.txns": [{ id: 1 }, {}] }, ["user.total"])).message).toContain(
      "user.txns[1].id is missing",
    );
    expect((await one.refusal({ "user.id": 1, "user.txns": [{ amuont: 1 }] }, ["user.total"])).message).toContain("did you mean 'amount'");
    expect((await one.refusal({ "user.id": 1, "user.txns": 5 }, ["user.total"])).message).toContain("expected a list of rows of Txn");
  });

  test("given rows may have the rows that their has-one relations lead to", async () => {
    const one = world();
    const outputs = ["user.txns.merchant.name", "user.txns.merchant.id", "user.txns.merchant_id", "user.txns.user_id", "user.total"];
    const txns = [
      { id: 1, amount: 5, at: "2024-01-01", merchant: { id: 7, name: "kiosk" } },
      { id: 2, amount: 6, at: "2024-01-01", merchant: { id: 8, name: "bank" } },
    ];
    expect(await one.values({ "user.id": 1, "user.txns": txns }, ["user.txns.merchant.name", "user.txns.user_id", "user.total"])).toEqual({
      "user.txns.merchant.name": ["kiosk", "bank"],
      "user.txns.user_id": [1, 1],
      "user.total": 11,
    });
    expect(one.source.statements).toHaveLength(0);
    const keys = txns.map(({ merchant, ...rest }) => ({ ...rest, merchant_id: merchant.id - 6, merchant: { id: merchant.id - 6 } }));
    expect(await one.values({ "user.id": 1, "user.txns": keys }, outputs)).toEqual({
      "user.txns.merchant.name": ["shop", "bar"],
      "user.txns.merchant.id": [1, 2],
      "user.txns.merchant_id": [1, 2],
      "user.txns.user_id": [1, 1],
      "user.total": 11,
    });
    const none = txns.map(({ merchant, ...rest }) => ({ ...rest, merchant: null }));
    expect(await one.values({ "user.id": 1, "user.txns": none }, ["user.txns.merchant.name"])).toEqual({
      "user.txns.merchant.name": [null, null],
    });
    expect(await one.values({ "user.id": 1, "user.txns": [] }, outputs)).toEqual({
      "user.txns.merchant.name": [],
      "user.txns.merchant.id": [],
      "user.txns.merchant_id": [],
      "user.txns.user_id": [],
      "user.total": 0,
    });
    const refused = async (rows: unknown) => (await one.refusal({ "user.id": 1, "user.txns": rows }, ["user.total"])).message;
    expect(await refused([txns[0], none[1]])).toBe(
      "user.txns[1].merchant is null, and other rows have one; give a row in each, or null in each",
    );
    expect(await refused([{ id: 1, merchant: { nmae: "x" } }])).toBe(
      "unknown feature 'user.txns.merchant.nmae' in the inputs; did you mean 'merchant.name'?",
    );
    expect(await refused([{ id: 1, merchant: 7 }])).toBe("user.txns[0].merchant: expected a row of Merchant as an object, got int 7");
    expect(await refused([{ id: 1, user: null }])).toBe(
      "user.txns[0].user: expected a row of User, got null, and the relation is not optional",
    );
    expect(await refused([{ id: 1, user: { txns: [] } }])).toBe(
      "user.txns: 'user.txns' is a has-many relation; rows of user.txns are given without rows of their own",
    );
    expect(
      await refused([
        { id: 1, merchant: { id: 1, name: "a" } },
        { id: 2, merchant: { id: 1 } },
      ]),
    ).toBe("user.txns[1].merchant.name is missing, and other rows have it; give it in every row or in none");
  });

  test("given rows that lack what a resolver takes of them: the refusal says what, and from what", async () => {
    const named = python("m.named", [{ rows: "user.txns", columns: ["txn.id"], filters: [] }], ["user.label"]);
    const one = world([MERCHANTS, USERS, named]);
    expect((await one.refusal({ "user.id": 1, "user.txns": [{ amount: 5 }] }, ["user.label"])).message).toMatch(
      /^no resolver can produce user\.label from user\.id, user\.txns:\n {2}- m\.named.*: txn\.id is the primary key, which was not given and which no resolver produces$/,
    );
  });

  test("given lists of their features are rows, too", async () => {
    const one = world();
    const inputs = { "user.id": 1, "user.txns.amount": [3, 4], "user.txns.id": [1, "2"] };
    expect(await one.values(inputs, ["user.total", "user.txns.id", "user.txns.risk"])).toEqual({
      "user.total": 7,
      "user.txns.id": [1, 2],
      "user.txns.risk": [0.003, 0.004],
    });
    const refused = async (given: Record<string, unknown>) => (await one.refusal({ "user.id": 1, ...given }, ["user.total"])).message;
    expect(await refused({ "user.txns.amount": [1], "user.txns.id": [1, 2] })).toContain(
      "user.txns.amount has 1 values, user.txns.id has 2",
    );
    expect(await refused({ "user.txns.amount": 1 })).toContain("expected a list with a value for each row of user.txns, got int 1");
    expect(await refused({ "user.txns.amount": [1], "user.txns": [] })).toBe("user.txns is given twice");
    expect(await refused({ "user.txns.merchant.name": ["x"] })).toContain("own features of Txn");
  });

  test("a resolver of the relation comes before queries", async () => {
    const rows = [row(1, 9, 1, "2024-01-01T00:00:00Z"), row(2, 1, 2, "2024-01-01T00:00:00Z")];
    const one = world([TXNS, MERCHANTS, python("m.txns", ["user.id"], Object.keys(rows[0] as object), { relation: "user.txns" })], {
      "m.txns": ([id]) => {
        if (id === 2) throw new PlayedError("no rows");
        return rows;
      },
    });
    expect(await one.values({ "user.id": 1 }, ["user.total", "user.txns.merchant.name"])).toEqual({
      "user.total": 10,
      "user.txns.merchant.name": ["shop", "bar"],
    });
    expect(failureOf(await one.ask({ "user.id": 2 }, ["user.total"]), "user.total").message).toContain("no rows");
  });

  test("a query with a placeholder for the join", async () => {
    const body = "select id, amount, merchant, at from txns where user_id = ${txn.user_id} and at <= ${now}";
    const columns = { "txn.id": "id", "txn.amount": "amount", "txn.merchant_id": "merchant", "txn.at": "at" };
    const one = world([sql("mine", body, columns, { count: RowCount.ALL }), MERCHANTS, USERS]);
    expect(await one.values({ "user.id": 1 }, ["user.txns.amount", "user.txns.user_id"])).toEqual({
      "user.txns.amount": [5, 50, 20],
      "user.txns.user_id": [1, 1, 1],
    });
  });

  test("rows of the class that Python gives are filtered by the join, run once for a query", async () => {
    const rows = [row(1, 9, 1, "2024-01-01T00:00:00Z"), { ...row(2, 1, 2, "2024-01-01T00:00:00Z"), "txn.user_id": 2 }];
    const one = world([MERCHANTS, python("m.all", [], Object.keys(rows[0] as object), { rows: true })], { "m.all": () => rows });
    expect(await one.values({ "user.id": 2 }, ["user.total", "user.txns.id", "user.txns.merchant.name"])).toEqual({
      "user.total": 1,
      "user.txns.id": [2],
      "user.txns.merchant.name": ["bar"],
    });
    expect(one.pool.calls).toHaveLength(1);
    expect(await one.values({ "txn.id": 2 }, ["txn.amount", "txn.merchant.name"])).toEqual({ "txn.amount": 1, "txn.merchant.name": "bar" });
  });

  test("the way through a relation that is not on the key takes rows that Python gives, too", async () => {
    const made = graph(
      [
        featureClass("card", { id: "int", owner: "int", limit: "float" }),
        featureClass("user", { id: "int", card: { to: "card", on: [["id", "owner"]], optional: true } }),
      ],
      [python("m.cards", [], ["card.id", "card.owner", "card.limit"], { rows: true, total: true })],
    );
    const cards = [
      { "card.id": 7, "card.owner": 1, "card.limit": 10 },
      { "card.id": 8, "card.owner": 2, "card.limit": 20 },
      { "card.id": 9, "card.owner": 2, "card.limit": 30 },
    ];
    const one = new World(made, { python: { "m.cards": () => cards } });
    expect(await one.values({ "user.id": 1 }, ["user.card.limit"])).toEqual({ "user.card.limit": 10 });
    expect(await one.values({ "user.id": 5 }, ["user.card.limit"])).toEqual({ "user.card.limit": null });
    expect(failureOf(await one.ask({ "user.id": 2 }, ["user.card.limit"]), "user.card.limit").message).toBe(
      "m.cards gave 2 rows, expected at most one, with card.owner = 2",
    );
    expect(failureOf(await one.ask({ "card.id": 1 }, ["card.limit"]), "card.limit")).toEqual({
      code: "RESOLVER_FAILED",
      message: "m.cards (m.py:1) found no row with card.id = 1",
    });
  });

  test("one of all rows comes before others; two are ambiguous, and so are two of some", async () => {
    const columns = { "txn.id": "id", "txn.user_id": "user_id", "txn.amount": "amount" };
    const some = sql("some", "select id, user_id, amount from txns where id < 12", columns);
    const all = sql("all", "select id, user_id, amount from txns", columns, { total: true });
    expect(await world([some, all]).values({ "user.id": 1 }, ["user.total"])).toEqual({ "user.total": 575 });
    const two = (await world([TXNS, some]).refusal({ "user.id": 1 }, ["user.total"])).message;
    expect(two).toContain("ambiguous: 2 resolvers can produce user.txns");
    const totals = (
      await world([all, sql("every", "select id, user_id, amount from txns", columns, { total: true }), some]).refusal({ "user.id": 1 }, [
        "user.total",
      ])
    ).message;
    expect(totals).toContain("all (all.svc.sql:1)");
    expect(totals).not.toContain("some");
  });

  test("several columns of a join are matched together", async () => {
    const made = graph(
      [
        featureClass("visit", { id: "int", org: "str", mail: "str" }),
        featureClass("user", {
          id: "int",
          org: "str",
          mail: "str",
          visits: {
            many: "visit",
            on: [
              ["org", "org"],
              ["mail", "mail"],
            ],
          },
        }),
      ],
      [sql("visits", "select id, org, mail from visits", { "visit.id": "id", "visit.org": "org", "visit.mail": "mail" })],
    );
    const source = new MemorySource(
      "db",
      "create table visits (id integer, org text, mail text); insert into visits values (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'x')",
    );
    const one = new World(made, { sources: [source] });
    expect(await one.values({ "user.org": "a", "user.mail": "x" }, ["user.visits.id"])).toEqual({ "user.visits.id": [1] });
    const orgs = Array.from({ length: 1_500 }, (_, i) => (i % 500 === 0 ? "b" : `o${i}`));
    const answer = await one.engine.answerBulk(
      one.deployment,
      { request: ask({}, ["user.visits.id"]), columns: [bulkColumn("user.org", orgs), bulkColumn("user.mail", ["x"])] },
      one.now,
    );
    expect(answer.failures).toEqual([]);
    expect(answer.columns[0]?.values).toEqual(orgs.map((org) => (org === "b" ? [3] : [])));
  });

  test("what a database says is the field's error", async () => {
    const broken = sql("broken", "select id, user_id, amount from nowhere", {
      "txn.id": "id",
      "txn.user_id": "user_id",
      "txn.amount": "amount",
    });
    const answer = await world([broken]).ask({ "user.id": 1 }, ["user.txns.amount", "user.total"]);
    expect(failureOf(answer, "user.txns.amount")).toEqual({ code: "RESOLVER_FAILED", message: "broken: no such table: nowhere" });
    expect(failureOf(answer, "user.total").code).toBe("UPSTREAM_FAILED");
  });
});

describe("resolvers that take rows", () => {
  const label = (rows: RowsSpec) => [TXNS, MERCHANTS, USERS, python("m.label", ["user.name", rows], ["user.label"])];
  const print: Played = ([name, rows]) => `${name}: ${JSON.stringify(rows)}`;

  test("get them filtered, projected and cut to the newest", async () => {
    const big = { rows: "user.txns", columns: ["txn.amount"], filters: [fn("gt", "amount", lit(10))] };
    expect(await world(label(big), { "m.label": print }).values({ "user.id": 1 }, ["user.label"])).toEqual({
      "user.label": 'ann: [{"txn.amount":50},{"txn.amount":20}]',
    });
    const newest = { rows: "user.txns", columns: ["user.txns.merchant.name"], limit: 2 };
    expect(await world(label(newest), { "m.label": print }).values({ "user.id": 1 }, ["user.label"])).toEqual({
      "user.label": 'ann: [{"user.txns.merchant.name":"shop"},{"user.txns.merchant.name":"bar"}]',
    });
  });

  test("do not run when rows failed, unless they are optional", async () => {
    const functions = {
      "m.label": print,
      "m.risk": () => {
        throw new PlayedError("no risk");
      },
    };
    const risky = { rows: "user.txns", columns: ["txn.risk"] };
    expect(failureOf(await world(label(risky), functions).ask({ "user.id": 1 }, ["user.label"]), "user.label").code).toBe(
      "UPSTREAM_FAILED",
    );
    const broken = sql("txns", "select id, user_id, risk from nowhere", { "txn.id": "id", "txn.user_id": "user_id", "txn.risk": "risk" });
    const optional = [broken, USERS, python("m.label", ["user.name", { ...risky, optional: true }], ["user.label"])];
    expect(await world(optional, functions).values({ "user.id": 1 }, ["user.label"])).toEqual({ "user.label": "ann: []" });
  });

  test("rows of a class that a resolver makes of its inputs are matched by key; later ones are not seen", async () => {
    const made = graph(
      [featureClass("user", { id: "int", name: "str", label: "str?", at: { type: "datetime?", time: true } })],
      [python("m.rows", ["user.name"], ["user.id", "user.label", "user.at"], { rows: true })],
    );
    const one = new World(made, {
      python: {
        "m.rows": ([name]) => [
          { "user.id": 1, "user.label": `old ${name}`, "user.at": "2024-01-01T00:00:00.000000Z" },
          { "user.id": 2, "user.label": `new ${name}`, "user.at": "2030-01-01T00:00:00.000000Z" },
        ],
      },
    });
    expect(await one.values({ "user.id": 1, "user.name": "a" }, ["user.label"])).toEqual({ "user.label": "old a" });
    expect(await one.values({ "user.id": 2, "user.name": "a" }, ["user.label"])).toEqual({ "user.label": null });
  });

  test("tables: one call for the whole batch, its rows matched by key", async () => {
    const resolvers = [USERS, python("m.table", [{ table: ["user.name"] }], ["user.id", "user.label"], { rows: true })];
    const one = world(resolvers, {
      "m.table": ([table], call) => {
        const names = (table as unknown as Record<string, string[]>)["user.name"] as string[];
        expect(call.rows).toBe(3);
        return names
          .map((name, i) => ({ "user.id": i + 1, "user.label": `${name}!` }))
          .reverse()
          .slice(0, 2);
      },
    });
    const answer = await one.engine.answerBulk(
      one.deployment,
      { request: ask({}, ["user.label"]), columns: [bulkColumn("user.id", [1, 2, 3])] },
      one.now,
    );
    expect(answer.columns[0]?.values).toEqual([null, "bob!", "eve!"]);
    expect(one.pool.calls).toHaveLength(1);
  });
});
