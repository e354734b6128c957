import { describe, expect, test } from "bun:test";
import { PLANNER_OPTIONS, plannerOptionLines, readPlannerOptions } from "../../../../src/domain/planner-options.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { featureClass, graph, python } from "../graphs.ts";
import { ask, World } from "../worlds.ts";

function stored(): World {
  const made = graph(
    [featureClass("a", { id: "int", x: { type: "int", stale: "1h" }, y: { type: "int", stale: "1h" } })],
    [python("m.x", ["a.id"], ["a.x"])],
  );
  let runs = 0;
  return new World(made, { python: { "m.x": () => ++runs } });
}

const given = (plannerOptions: Record<string, string>) => ({ plannerOptions });

describe("the table", () => {
  test("has a line of help for every option", () => {
    const lines = plannerOptionLines();
    expect(lines.flatMap((line) => /^ {2}(\w+)=<.+>$/.exec(line)?.[1] ?? [])).toEqual(Object.keys(PLANNER_OPTIONS));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });
  test("words for true and false, and nothing else", () => {
    const read = (text: string) => readPlannerOptions({ disable_cache_reads: text });
    expect(["true", "1", "True ", "false", "0"].map((text) => read(text).options.disableCacheReads)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(read("yes").problems).toEqual(["planner option 'disable_cache_reads': expected true|false, got 'yes'"]);
  });
  test("rows of a batch lie between one and what a call takes", () => {
    const read = (text: string) => readPlannerOptions({ max_batch_rows: text });
    expect([read("1").options.maxBatchRows, read("1000").options.maxBatchRows]).toEqual([1, 1000]);
    for (const text of ["0", "1001", "-1", "1.5", "", "ten"])
      expect(read(text).problems).toEqual([`planner option 'max_batch_rows': expected 1 to 1000, got '${text}'`]);
  });
  test("names of objects' own members are no options", () => {
    expect(readPlannerOptions({ constructor: "1" }).problems[0]).toStartWith("unknown planner option 'constructor'; the options are ");
  });
});

describe("a query", () => {
  test("with an unknown option is refused with the closest names", async () => {
    const refused = await stored().refusal({ "a.id": 1 }, ["a.x"], given({ disable_cache_read: "true", zzzzzzzz: "1" }));
    expect(refused.errors.map(({ message }) => message)).toEqual([
      "unknown planner option 'disable_cache_read'; did you mean 'disable_cache_reads' or 'disable_cache_writes'?",
      `unknown planner option 'zzzzzzzz'; the options are ${Object.keys(PLANNER_OPTIONS).join(", ")}`,
    ]);
  });

  test("without cache reads computes anew, and stores", async () => {
    const world = stored();
    const value = async (more = {}) => (await world.values({ "a.id": 1 }, ["a.x"], more))["a.x"];
    expect([await value(), await value()]).toEqual([1, 1]);
    expect(await value(given({ disable_cache_reads: "true" }))).toBe(2);
    expect(await value()).toBe(2);
    const { explanation } = await world.ask({ "a.id": 1 }, ["a.x"], { ...given({ disable_cache_reads: "true" }), explain: true });
    expect(explanation).toContain("CacheRead skipped: the planner option disable_cache_reads");
    const refused = await world.refusal({ "a.id": 1 }, ["a.y"], given({ disable_cache_reads: "true" }));
    expect(refused.message).toContain(
      "no resolver produces a.y, and the planner option disable_cache_reads keeps the query from the online store",
    );
  });

  test("without cache writes leaves the store as it was, also where the query itself asks for staleness", async () => {
    const world = stored();
    const value = async (more = {}) => (await world.values({ "a.id": 1 }, ["a.x"], { ...more, staleness: { "a.x": 60_000 } }))["a.x"];
    expect([await value(given({ disable_cache_writes: "true" })), await value(given({ disable_cache_writes: "1" }))]).toEqual([1, 2]);
    expect([await value(), await value()]).toEqual([3, 3]);
    world.now += 1;
    expect(await value(given({ disable_cache_reads: "true", disable_cache_writes: "true" }))).toBe(4);
    expect(await value()).toBe(3);
  });

  test("in bulk calls Python with no more rows than it says, and gives every row its own answer", async () => {
    const made = graph([featureClass("a", { id: "int", x: "int" })], [python("m.x", ["a.id"], ["a.x"])]);
    const world = new World(made, { python: { "m.x": ([id]) => Number(id) * 10 } });
    const ids = Array.from({ length: 10 }, (_, i) => i);
    const columns = [bulkColumn("a.id", ids)];
    const answer = await world.engine.answerBulk(world.deployment, { request: ask({}, ["a.x"], given({ max_batch_rows: "4" })), columns });
    expect(world.pool.calls.map((call) => call.rows)).toEqual([4, 4, 2]);
    expect(answer.columns[0]?.values).toEqual(ids.map((id) => id * 10));
  });
});

test("rows of a relation are asked for in batches too, and each row keeps its own", async () => {
  const made = graph(
    [
      featureClass("a", { id: "int", n: "int", bs: { many: "b", on: [["id", "a_id"]] } }),
      featureClass("b", { id: "int", a_id: "int", v: "int" }),
    ],
    [python("m.bs", ["a.id"], ["b.id", "b.v"], { relation: "a.bs" })],
  );
  const rowsOf = (id: number) => Array.from({ length: id % 3 }, (_, i) => ({ "b.id": id * 10 + i, "b.v": id * 100 + i }));
  const world = new World(made, { python: { "m.bs": ([id]) => rowsOf(Number(id)) } });
  const ids = Array.from({ length: 7 }, (_, i) => i);
  const columns = [bulkColumn("a.id", ids)];
  const more = given({ max_batch_rows: "3" });
  const answer = await world.engine.answerBulk(world.deployment, { request: ask({}, ["a.bs.v"], more), columns }, world.now);
  expect(world.pool.calls.map((call) => call.rows)).toEqual([3, 3, 1]);
  expect(answer.columns[0]?.values).toEqual(ids.map((id) => rowsOf(id).map((row) => row["b.v"])));
});

describe("a named query's options", () => {
  const world = (options: Record<string, string>) => {
    const made = graph(
      [featureClass("a", { id: "int", x: { type: "int", stale: "1h" } })],
      [python("m.x", ["a.id"], ["a.x"])],
      [{ name: "n", inputs: ["a.id"], outputs: ["a.x"], plannerOptions: options }],
    );
    let runs = 0;
    return new World(made, { python: { "m.x": () => ++runs } });
  };
  test("hold, and the request's come before them", async () => {
    const one = world({ disable_cache_reads: "true" });
    const value = async (more = {}) => (await one.values({ "a.id": 1 }, [], { queryName: "n", ...more }))["a.x"];
    expect([await value(), await value()]).toEqual([1, 2]);
    expect(await value(given({ disable_cache_reads: "false" }))).toBe(2);
  });
  test("that there are not are told with the query's name, unless the request says them anew", async () => {
    const one = world({ max_batch_rows: "many", nonsense: "1" });
    const refused = await one.refusal({ "a.id": 1 }, [], { queryName: "n" });
    expect(refused.errors.map(({ message }) => message)).toEqual([
      "named query 'n': planner option 'max_batch_rows': expected 1 to 1000, got 'many'",
      expect.stringContaining("named query 'n': unknown planner option 'nonsense'"),
    ]);
  });
});
