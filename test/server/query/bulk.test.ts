import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import type { BulkAnswer } from "../../../src/server/query/bulk.ts";
import { QueryRefused } from "../../../src/server/query/refusal.ts";
import { bulkColumn, type QueryRequest } from "../../../src/server/query/request/request.ts";
import type { QueryRecord } from "../../../src/server/query-log/recorder.ts";
import { readQueryRun } from "../../../src/server/wire/query/logged-run.ts";
import { seeded } from "../../harness/seed.ts";
import { jsonEndpoints } from "../wire/query/json-endpoints.ts";
import { featureClass, graph, python, sql } from "./graphs.ts";
import { ask, MemorySource, PlayedError, World } from "./worlds.ts";

/** Users of banks; a score that fails for some, a cached rank, a bank's name from SQL. */
function world(): World & { source: MemorySource } {
  const made = graph(
    [
      featureClass("bank", { id: "int", name: "str", size: { type: "int", stale: "1h" } }),
      featureClass("user", {
        id: "int",
        bank_id: "int?",
        bank: { to: "bank", on: [["bank_id", "id"]], optional: true },
        score: "int",
        rank: { type: "int", stale: "1h" },
        label: "str",
        plan: { type: "int", default: 7 },
      }),
    ],
    [
      sql("banks", "select id, name from banks", { "bank.id": "id", "bank.name": "name" }),
      sql("users", "select id, bank from users", { "user.id": "id", "user.bank_id": "bank" }),
      python("m.size", ["bank.id"], ["bank.size"]),
      python("m.score", ["user.id"], ["user.score"]),
      python("m.rank", ["user.score", "user.bank.size?"], ["user.rank"]),
      python("m.label", ["user.id", "user.bank.name"], ["user.label"]),
      python("m.plan", ["user.id"], ["user.plan"]),
    ],
  );
  const users = Array.from({ length: 40 }, (_, i) => `(${i}, ${i % 5 === 0 ? "null" : i % 7})`).join(", ");
  const source = new MemorySource(
    "db",
    `create table banks (id integer primary key, name text); insert into banks values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
     create table users (id integer primary key, bank integer); insert into users values ${users};`,
  );
  const one = new World(made, {
    sources: [source],
    python: {
      "m.size": ([id]) => Number(id) * 100,
      "m.score": ([id]) => {
        if (Number(id) % 6 === 5) throw new PlayedError(`no score for ${id}`);
        return Number(id) * 2;
      },
      "m.rank": ([score, size]) => Number(score) + Number(size ?? -1),
      "m.label": ([id, name]) => `${id}/${name}`,
      "m.plan": ([id]) => (Number(id) % 2 === 0 ? null : 1),
    },
  });
  return Object.assign(one, { source });
}

function bulk(
  of: World,
  inputs: Readonly<Record<string, readonly unknown[]>>,
  outputs: readonly string[],
  more: Partial<QueryRequest> = {},
): Promise<BulkAnswer> {
  const columns = Object.entries(inputs).map(([name, values]) => bulkColumn(name, values));
  return of.engine.answerBulk(of.deployment, { request: ask({}, outputs, more), columns }, of.now);
}

function column(answer: BulkAnswer, path: string): readonly FeatureValue[] {
  const found = answer.columns.find((one) => one.path === path);
  if (!found) throw new Error(`the answer has no ${path}`);
  return found.values;
}

describe("a bulk query", () => {
  const FRESH = { staleness: { "user.rank": 0, "bank.size": 0 } };
  const OUTPUTS = ["user.score", "user.rank", "user.label", "user.plan", "user.bank.name", "user.bank_id"];

  test("of n rows is the same as n queries", async () => {
    const id = fc.oneof(fc.integer({ min: 0, max: 45 }), fc.constantFrom("x", null, "7"));
    const bank = fc.constantFrom(undefined, null, { id: 2 }, { name: "given" }, { id: 3, size: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(id, bank), { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        fc.subarray(OUTPUTS, { minLength: 1 }),
        async (rows, withBank, outputs) => {
          const many = world();
          const single = world();
          const inputs: Record<string, unknown[]> = { "user.id": rows.map(([one]) => one) };
          if (withBank) inputs["user.bank"] = rows.map(([, one]) => one ?? null);
          const answer = await bulk(many, inputs, outputs, FRESH);
          expect(answer.rows).toBe(rows.length);
          for (const row of rows.keys()) {
            const given = Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, values[row]]));
            const failures = answer.failures.filter((failure) => failure.row === row).map(({ code, message }) => ({ code, message }));
            try {
              const alone = await single.ask(given, outputs, FRESH);
              expect(answer.columns.map((one) => [one.path, one.values[row] as FeatureValue])).toEqual(
                alone.fields.map((field) => [field.path, field.value]),
              );
              expect(failures).toEqual(alone.failures.map(({ code, message }) => ({ code, message })));
            } catch (error) {
              if (!(error instanceof QueryRefused)) throw error;
              expect(failures.map((failure) => failure.message)).toEqual(error.errors.map((one) => one.message ?? ""));
            }
          }
        },
      ),
      seeded(60, 20_000),
    );
  });

  test("looks equal keys up once, those of rows that do not exist not at all, writes and reads them together", async () => {
    const one = world();
    const ids = Array.from({ length: 3_000 }, (_, i) => i % 40);
    const answer = await bulk(one, { "user.id": ids }, ["user.rank", "user.bank.name"]);
    expect(column(answer, "user.rank").filter((value) => value === null)).toHaveLength(ids.filter((i) => i % 6 === 5).length);
    expect(one.source.statements.map((statement) => statement.parameters.length)).toEqual([64, 8]);
    expect(one.pool.calls.map((call) => [call.resolver, call.rows]).sort()).toEqual([
      ["m.rank", 34],
      ["m.score", 40],
      ["m.size", 4],
    ]);
    const again = await bulk(one, { "user.id": ids }, ["user.rank"]);
    expect(column(again, "user.rank")).toEqual(column(answer, "user.rank"));
    expect(again.columns[0]?.hits.filter(Boolean)).toHaveLength(ids.filter((i) => i % 6 !== 5).length);
  });

  test("keeps statements and calls at most a thousand keys long", async () => {
    const one = world();
    const ids = Array.from({ length: 2_500 }, (_, i) => i);
    const answer = await bulk(one, { "user.id": ids }, ["user.score", "user.bank_id"]);
    expect(column(answer, "user.score")[2_498]).toBe(4_996);
    expect(one.source.statements.map((statement) => statement.parameters.length).sort((a, b) => a - b)).toEqual([512, 1_000, 1_000]);
    expect(one.pool.calls.map((call) => call.rows).sort((a, b) => a - b)).toEqual([500, 1_000, 1_000]);
  });

  test("a call of many rows has a resolver's time for each of them", async () => {
    const made = graph([featureClass("a", { id: "int", x: "int" })], [python("m.x", ["a.id"], ["a.x"], { timeout: "2s" })]);
    const one = new World(made, { python: { "m.x": ([id]) => id } });
    for (const rows of [1, 10, 1_000]) await bulk(one, { "a.id": Array.from({ length: rows }, (_, i) => i) }, ["a.x"]);
    expect(one.pool.calls.map((call) => call.deadlineMs)).toEqual([2_000, 20_000, 120_000]);
  });

  test("a column of one value stands for every row; other lengths are refused with both names", async () => {
    const one = world();
    const answer = await bulk(one, { "user.id": [1, 2, 3], "user.bank_id": [4] }, ["user.label"]);
    expect(column(answer, "user.label")).toEqual(["1/d", "2/d", "3/d"]);
    const refused = bulk(one, { "user.id": [1, 2, 3], "user.score": [1, 2] }, ["user.label"]);
    await expect(refused).rejects.toThrow("user.id has 3, user.score has 2");
    expect((await bulk(one, { "user.id": [] }, ["user.label"])).rows).toBe(0);
  });

  test("a value that does not fit is its row's error", async () => {
    const answer = await bulk(world(), { "user.id": [1, "x", 2] }, ["user.score"]);
    expect(column(answer, "user.score")).toEqual([2, null, 4]);
    expect(answer.failures).toMatchObject([{ row: 1, code: ErrorCode.PARSE_FAILED, feature: "user.id" }]);
  });

  test("of more rows than a batch is answered in the order of the rows", async () => {
    const made = graph([featureClass("a", { id: "int", x: "int" })], [python("m.x", ["a.id"], ["a.x"])]);
    const one = new World(made, { python: { "m.x": ([id]) => Number(id) + 1 } });
    const ids = Array.from({ length: 25_000 }, (_, i) => i);
    const answer = await bulk(one, { "a.id": ids }, ["a.x"]);
    expect(column(answer, "a.x")).toEqual(ids.map((id) => id + 1));
    expect(Math.max(...one.pool.calls.map((call) => call.rows))).toBe(1_000);
  });
});

test("names that are wrong in every row are guessed for twenty rows", async () => {
  const one = world();
  const bank = (key: string) => [{ id: 1, [key]: "x" }];
  const rows = Array.from({ length: 50 }, () => bank("nmae"));
  const answer = await bulk(one, { "user.id": rows.map((_, i) => i), "user.bank": rows.flat() }, ["user.plan"]);
  const messages = answer.failures.map(({ row, message }) => [row, message.includes("did you mean 'user.bank.name'?")]);
  expect(messages).toEqual(rows.map((_, row) => [row, row < 20]));
});

test("the JSON endpoint answers with columns, and errors with their rows", async () => {
  const one = world();
  const records: QueryRecord[] = [];
  const send = jsonEndpoints(one, records);
  const post = async (given: unknown) => {
    const { status, text } = await send("bulk", JSON.stringify(given));
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };
  const { status, body } = await post({ inputs: { "user.id": [1, 5, 2] }, outputs: ["user.score"], include_meta: true });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    data: { "user.score": [2, null, 4] },
    hits: { "user.score": [false, false, false] },
    errors: [{ row: 1, code: "RESOLVER_FAILED", category: "FIELD", message: "no score for 5", feature: "user.score" }],
    meta: { rows: 3, deployment_id: "dpl_1" },
  });
  const run = readQueryRun(records[0] as QueryRecord);
  expect(run.request.outputs).toEqual(["user.score"]);
  expect(run.response?.errors).toHaveLength(1);
  expect(run.response?.data).toEqual([]);
  const refused = [
    { inputs: { "user.id": 1 } },
    { inputs: { "user.none": [1] } },
    { inputs: { "user.id": [1, 2], "user.score": [1, 2, 3] } },
  ];
  for (const wrong of refused) {
    const { status, body } = await post(wrong);
    expect(status).toBe(400);
    expect(body).toMatchObject({ data: {}, code: "invalid_argument", errors: [{ category: "REQUEST" }] });
  }
});

test.each([
  [
    ["2024-05-01T10:00:00Z", "2024-05-01T13:30:00+02:00"],
    [true, true],
  ],
  [
    ["2024-05-01T10:00:01Z", "2024-05-01T11:29:59Z"],
    [false, false],
  ],
  ["2024-05-01T10:00:00Z", [true, false]],
  [["2024-05-01T10:00:00Z"], [true, false]],
])("the JSON endpoint takes a time for each row, or one for all: %j", async (now, hits) => {
  const send = jsonEndpoints(world());
  const post = async (times: unknown) => {
    const body = { inputs: { "user.id": [1, 2] }, outputs: ["user.rank"], include_meta: true, now: times };
    return JSON.parse((await send("bulk", JSON.stringify(body))).text) as Record<string, unknown>;
  };
  await post(["2024-05-01T09:00:00Z", "2024-05-01T11:30:00Z"]);
  expect(await post(now)).toMatchObject({ hits: { "user.rank": hits } });
  expect((await post(["2024-05-01T10:00:00Z", null])).errors).toMatchObject([
    { message: "now[1]: expected an ISO 8601 time such as 2024-05-01T12:00:00Z, got null" },
  ]);
});
