import { describe, expect, test } from "bun:test";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { MAX_STAGE_ROWS, type Stage } from "../../../../src/server/query/answer/stages.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { agg, featureClass, graph, python, sql } from "../graphs.ts";
import { ask, MemorySource, type Played, PlayedError, World } from "../worlds.ts";

const TABLES = `
  create table users (id integer primary key, name text);
  insert into users values (1, 'ann'), (2, 'bob');
  create table txns (id integer primary key, user_id integer, amount real);
  insert into txns values (10, 1, 5), (11, 1, 50), (12, 2, 7);
`;

function world(play: Readonly<Record<string, Played>> = {}, tables = TABLES): World {
  const made = graph(
    [
      featureClass("user", {
        id: "int",
        name: { type: "str", stale: "1h" },
        score: "int",
        big: "int",
        txns: { many: "txn", on: [["id", "user_id"]] },
        cents: { type: "float", expression: agg("sum", "txns", "cents") },
      }),
      featureClass("txn", { id: "int", user_id: "int", amount: "float", cents: "float" }),
    ],
    [
      sql("users", "select id, name from users", { "user.id": "id", "user.name": "name" }),
      sql("txns", "select id, user_id, amount from txns order by id", { "txn.id": "id", "txn.user_id": "user_id", "txn.amount": "amount" }),
      python("m.score", ["user.id"], ["user.score"]),
      python("m.cents", ["txn.amount"], ["txn.cents"]),
      python("m.big", ["user.id"], ["user.big"]),
    ],
  );
  const functions: Record<string, Played> = {
    "m.score": ([id]) => Number(id) * 10,
    "m.cents": ([amount]) => Number(amount) * 100,
    "m.big": () => 9007199254740993n,
    ...play,
  };
  return new World(made, { python: functions, sources: [new MemorySource("db", tables)] });
}

const more = { storePlanStages: true };
const rowsOf = ({ lines }: Stage) => lines.map((line) => JSON.parse(line) as [number, FeatureValue[], Record<string, string>]);
const summary = (stages: readonly Stage[]) => stages.map(({ kind, provider, path, rows }) => `${kind} ${provider} of ${path}: ${rows}`);

function stageOf(stages: readonly Stage[], provider: string): Stage {
  const found = stages.find((stage) => stage.provider === provider);
  if (!found) throw new Error(`no stage of ${provider} among ${summary(stages).join(", ")}`);
  return found;
}

describe("stages", () => {
  test("are what every step gave, with the rows that it belongs to", async () => {
    const one = world();
    const { stages } = await one.ask({ "user.id": 1 }, ["user.name", "user.score", "user.cents"], more);
    expect(summary(stages).sort()).toEqual([
      "expression user.cents of user: 1",
      "python m.cents of txn: 2",
      "python m.score of user: 1",
      "rows txns of user.txns: 2",
      "sql users of user: 1",
    ]);
    expect(rowsOf(stageOf(stages, "m.cents"))).toEqual([
      [0, [500], {}],
      [1, [5000], {}],
    ]);
    const found = stageOf(stages, "txns");
    const at = found.columns.indexOf("user.txns.cents");
    expect(rowsOf(found).map(([row, values]) => [row, values[at]])).toEqual([
      [0, 500],
      [0, 5000],
    ]);
    expect(rowsOf(stageOf(stages, "user.cents"))).toEqual([[0, [5500], {}]]);
  });

  test("say what the online store served", async () => {
    const one = world();
    await one.ask({ "user.id": 2 }, ["user.name"]);
    const { stages } = await one.ask({ "user.id": 2 }, ["user.name"], more);
    expect(summary(stages)).toEqual(["stored online store of user: 1"]);
    expect(rowsOf(stages[0] as Stage)).toEqual([[0, ["bob"], {}]]);
  });

  test("keep values exactly and failures in words", async () => {
    const fails = world({
      "m.score": () => {
        throw new PlayedError("no luck");
      },
    });
    const { stages } = await fails.ask({ "user.id": 1 }, ["user.big", "user.score"], more);
    expect(rowsOf(stageOf(stages, "m.big"))).toEqual([[0, [{ $int: "9007199254740993" }], {}]]);
    expect(stageOf(stages, "m.big").types).toEqual([{ primitive: "PRIMITIVE_TYPE_INT64" }]);
    expect(rowsOf(stageOf(stages, "m.score"))).toEqual([[0, [null], { "user.score": "no luck" }]]);
  });

  test("of a bulk query name its rows, also where rows before were refused", async () => {
    const one = world();
    const bulk = { request: ask({}, ["user.score"], more), columns: [bulkColumn("user.id", [1, "x", 3])] };
    const { stages } = await one.engine.answerBulk(one.deployment, bulk, one.now);
    expect(rowsOf(stageOf(stages, "m.score"))).toEqual([
      [0, [10], {}],
      [2, [30], {}],
    ]);
  });

  test("have nothing of the query's context, nor of statements", async () => {
    const one = world();
    const { stages } = await one.ask({ "user.id": 1 }, ["user.name", "user.score"], { ...more, queryContext: { password: "hunter2" } });
    const text = JSON.stringify(stages);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain("select");
  });

  test("are not gathered unless asked for", async () => {
    expect((await world().ask({ "user.id": 1 }, ["user.score"])).stages).toEqual([]);
  });
});

describe("bounds", () => {
  test("a query of more rows is refused before anything is run", async () => {
    const one = world();
    const run = (count: number) => {
      const columns = [
        bulkColumn(
          "user.id",
          Array.from({ length: count }, (_, id) => id),
        ),
      ];
      return one.engine.answerBulk(one.deployment, { request: ask({}, ["user.score"], more), columns }, one.now);
    };
    const refused = await run(1_001).catch((error: unknown) => String(error));
    expect(refused).toContain("for queries of at most 1000 rows; this one has 1001: ask for fewer rows, or leave it out");
    expect(one.pool.calls).toEqual([]);
    expect((await run(1_000)).stages[0]?.rows).toBe(1_000);
  });

  test("a stage of more rows has its figures alone, and the query its answer", async () => {
    const count = MAX_STAGE_ROWS + 1;
    const many = `${TABLES} with recursive n(i) as (select 100 union all select i + 1 from n where i < ${99 + count}) insert into txns select i, 7, 1 from n;`;
    const one = world({}, many);
    const { stages, fields } = await one.ask({ "user.id": 7 }, ["user.cents"], more);
    expect(fields[0]?.value).toBe(count * 100);
    const found = stageOf(stages, "txns");
    expect([found.rows, found.lines, found.omitted]).toEqual([
      count,
      [],
      `it gave ${count} rows, and at most ${MAX_STAGE_ROWS} of a stage are kept`,
    ]);
    expect(rowsOf(stageOf(stages, "user.cents"))).toHaveLength(1);
  });

  test("a stage that does not fit beside the others has its figures alone", async () => {
    const made = graph(
      [featureClass("a", { id: "int", x: "str", y: "int" })],
      [python("m.x", ["a.id"], ["a.x"]), python("m.y", ["a.x"], ["a.y"])],
    );
    const one = new World(made, { python: { "m.x": () => "x".repeat(40_000), "m.y": () => 1 } });
    const columns = [
      bulkColumn(
        "a.id",
        Array.from({ length: 1_000 }, (_, id) => id),
      ),
    ];
    const { stages } = await one.engine.answerBulk(one.deployment, { request: ask({}, ["a.x", "a.y"], more), columns }, one.now);
    expect(stages.map(({ provider, omitted }) => [provider, omitted])).toEqual([
      ["m.x", "the stages of a query are kept up to 32 MiB"],
      ["m.y", ""],
    ]);
  });
});
