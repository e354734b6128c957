/**
 * Values that are not what their type says, defaults in place of null, and rows that begin later:
 * real analyzer, real worker.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { featureClass, fn, graph, lit, python, ref, sql } from "../graphs.ts";
import { PythonWorld } from "../python-world.ts";
import { failureOf, fieldOf, MemorySource, valuesOf, World } from "../worlds.ts";

setDefaultTimeout(300_000);

const PROJECT = {
  "features.py": `
from datetime import datetime, timedelta
from typing import Any
from svc.features import DataFrame, FeatureTime, feature, features
from svc.sources import SQLiteSource

db = SQLiteSource(name="db", path="rows.db")

@features
class T:
    id: int
    half: float
    whole: int
    listed: list[int]
    counted: int
    shape: dict
    anything: Any
    span: timedelta
    echoed: timedelta
    seconds: float
    longest: timedelta

@features
class Row:
    id: int
    at: FeatureTime
    name: str

@features
class Made:
    id: int
    at: FeatureTime
    name: str
`,
  "resolvers.py": `
from datetime import datetime, timedelta
from features import Made, T
from svc import online
from svc.features import DataFrame

@online
def half(i: T.id) -> T.half:
    return i / 2

@online
def whole(i: T.id, h: T.half) -> T.whole:
    return h

@online
def listed(i: T.id, h: T.half) -> T.listed:
    return [i, h]

@online
def counted(i: T.id) -> T.counted:
    return float(i) if i > 100 else i

@online
def shape(i: T.id) -> T.shape:
    return {"a": i} if i == 1 else [i] if i == 2 else "x"

@online
def anything(i: T.id) -> T.anything:
    return [i]

@online
def span(i: T.id) -> T.span:
    return timedelta(days=730_000, microseconds=i)

@online
def echoed(span: T.span) -> T.echoed:
    return span + timedelta(microseconds=1)

@online
def seconds(span: T.span) -> T.seconds:
    return span.total_seconds()

@online
def longest(i: T.id) -> T.longest:
    return timedelta.max

@online(total=True)
def made() -> DataFrame[Made.id, Made.at, Made.name]:
    return DataFrame([Made(id=1, at=datetime(2020, 1, 1), name="old"), Made(id=2, at=datetime(2999, 1, 1), name="new")])
`,
  "rows.svc.sql": "-- resolves: Row\n-- source: db\nselect id, at, name from rows\n",
};

let world: PythonWorld;
beforeAll(async () => {
  world = await PythonWorld.start(PROJECT, (root) => {
    using db = new Database(join(root, "rows.db"), { create: true });
    db.run("create table rows (id integer primary key, at text, name text)");
    db.run("insert into rows values (1, '2020-01-01T00:00:00Z', 'old'), (2, '2999-01-01T00:00:00Z', 'new')");
    return { DB_SQLITE_PATH: join(root, "rows.db") };
  });
});
afterAll(() => world?.close());

describe("an int", () => {
  test.each([true, false])("is no float, whole or not, translated or not (%p)", async (disableTranslation) => {
    for (const [id, shown] of [
      [4, "2.0"],
      [5, "2.5"],
    ] as const) {
      const answer = await world.ask({ "t.id": id }, ["t.whole", "t.listed"], {
        plannerOptions: disableTranslation ? { disable_translation: "true" } : {},
      });
      for (const name of ["t.whole", "t.listed"]) expect(failureOf(answer, name).message).toContain(`expected int, got float ${shown}`);
    }
  });

  test("is refused for the rows that are none, among many", async () => {
    const ids = [1, 100, 101, 3];
    const answer = await world.askBulk({ "t.id": ids }, ["t.counted"]);
    expect(answer.columns.find((column) => column.path === "t.counted")?.values).toEqual([1, 100, null, 3]);
    expect(answer.failures.map((failure) => failure.row)).toEqual([2]);
  });
});

test("a dict is a dict, and Any is anything", async () => {
  expect(valuesOf(await world.ask({ "t.id": 1 }, ["t.shape", "t.anything"]))).toEqual({ "t.shape": { a: 1 }, "t.anything": [1] });
  expect(failureOf(await world.ask({ "t.id": 2 }, ["t.shape"]), "t.shape").message).toContain("expected dict, got list");
  expect(failureOf(await world.ask({ "t.id": 3 }, ["t.shape"]), "t.shape").message).toContain("expected dict, got str");
});

test("a length of time of two thousand years is exact on its way, and one that the contract has not is refused", async () => {
  const micros = 730_000n * 86_400_000_000n + 7n;
  const answer = await world.ask({ "t.id": 7 }, ["t.span", "t.echoed", "t.seconds", "t.longest"]);
  expect(fieldOf(answer, "t.span").value).toBe(micros);
  expect(fieldOf(answer, "t.echoed").value).toBe(micros + 1n);
  expect(fieldOf(answer, "t.seconds").value).toBe(63072000000.00001);
  expect(failureOf(answer, "t.longest").message).toContain("expected timedelta of at most 10,000 years, got one of 86399999999999.999999s");
});

test("a row that begins after the query's time is said to", async () => {
  for (const name of ["row", "made"]) {
    expect(valuesOf(await world.ask({ [`${name}.id`]: 1 }, [`${name}.name`]))).toEqual({ [`${name}.name`]: "old" });
    const { message } = failureOf(await world.ask({ [`${name}.id`]: 2 }, [`${name}.name`]), `${name}.name`);
    expect(message).toMatch(
      new RegExp(
        `found no row with ${name}\\.id = 2 at or before the query's time, 2024-05-01T12:00:00\\.000000Z, only one whose feature time is 2999-01-01T00:00:00(\\.000000)?Z`,
      ),
    );
    expect(failureOf(await world.ask({ [`${name}.id`]: 3 }, [`${name}.name`]), `${name}.name`).message).not.toContain("query's time");
  }
});

describe("a default in place of null", () => {
  const classes = (nulls: boolean) => [
    featureClass("u", {
      id: "int",
      x: { type: "int", default: 7, stale: "1h", nulls },
      e: { type: "int", default: 8, stale: "1h", expression: fn("add", ref("none"), lit(1)) },
      none: "int?",
      failed: { type: "int", default: 9, stale: "1h" },
    }),
  ];
  const open = (nulls: boolean) =>
    new World(
      graph(classes(nulls), [
        python("m.x", ["u.id"], ["u.x"]),
        python("m.none", ["u.id"], ["u.none"]),
        python("m.failed", ["u.id"], ["u.failed"]),
      ]),
      {
        python: { "m.x": () => null, "m.none": () => null, "m.failed": () => "no int" },
      },
    );

  test("is stored like a value: the resolver runs once", async () => {
    const one = open(true);
    expect(await one.values({ "u.id": 1 }, ["u.x", "u.e"])).toEqual({ "u.x": 7, "u.e": 8 });
    expect(one.pool.called().sort()).toEqual(["m.none", "m.x"]);
    const again = await one.ask({ "u.id": 1 }, ["u.x", "u.e"]);
    expect(valuesOf(again)).toEqual({ "u.x": 7, "u.e": 8 });
    expect(["u.x", "u.e"].map((path) => fieldOf(again, path).hit)).toEqual([true, true]);
    expect(one.pool.called()).toHaveLength(2);
  });

  test("is not where nulls are not stored, nor where the resolver failed", async () => {
    const one = open(false);
    await one.ask({ "u.id": 1 }, ["u.x"]);
    expect(fieldOf(await one.ask({ "u.id": 1 }, ["u.x"]), "u.x")).toMatchObject({ value: 7, hit: false });
    const bad = new World(graph(classes(true), [sql("s", "select id, failed from nowhere", { "u.id": "id", "u.failed": "failed" })]), {
      sources: [new MemorySource("db", "create table t (id integer)")],
    });
    await bad.ask({ "u.id": 1 }, ["u.failed"]);
    expect(fieldOf(await bad.ask({ "u.id": 1 }, ["u.failed"]), "u.failed")).toMatchObject({ value: 9, hit: false });
  });
});
