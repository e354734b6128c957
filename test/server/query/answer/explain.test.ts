import { expect, test } from "bun:test";
import { featureClass, fn, graph, lit, python, sql } from "../graphs.ts";
import { MemorySource, PlayedError, World } from "../worlds.ts";

const made = graph(
  [
    featureClass("airport", {
      code: { type: "str", primary: true },
      latitude: { type: "float", stale: "1h" },
      north: { type: "bool", stale: "1h", expression: fn("gt", "latitude", lit(0)) },
    }),
    featureClass("flight", {
      id: "int",
      origin_code: "str",
      origin: { to: "airport", on: [["origin_code", "code"]] },
      zone: "str",
      bad: "int",
      plan: { type: "str", default: "none" },
      lost: "int",
    }),
  ],
  [
    sql("airports", "select code, latitude from airports", { "airport.code": "code", "airport.latitude": "latitude" }),
    python("m.code", ["flight.id"], ["flight.origin_code"], { line: 4 }),
    python("m.zone", ["flight.origin.latitude"], ["flight.zone"], { line: 8 }),
    python("m.zone2", ["flight.id"], ["flight.zone"], { line: 12, tags: ["new"] }),
    python("m.bad", ["flight.id"], ["flight.bad"], { line: 16 }),
  ],
);

function world(): World {
  const source = new MemorySource(
    "db",
    "create table airports (code text primary key, latitude real); insert into airports values ('LAX', 33.5)",
  );
  return new World(made, {
    sources: [source],
    python: {
      "m.code": () => "LAX",
      "m.zone": ([latitude]) => `zone ${Math.round(latitude as number)}`,
      "m.bad": () => {
        throw new PlayedError("no luck");
      },
    },
  });
}

/** The explanation without its first two lines and with figures of time made equal. */
async function explain(one: World, outputs: readonly string[], more = {}): Promise<string[]> {
  const { explanation } = await one.ask({ "flight.id": 1 }, outputs, { explain: true, ...more });
  return explanation
    .replace(/[\d.]+ ms/g, "N ms")
    .split("\n")
    .slice(2);
}

test("the tree shows ops, rows, the provider chosen and why not the others", async () => {
  const one = world();
  expect(await explain(one, ["flight.zone", "flight.plan"])).toEqual([
    "Output",
    '├─ flight.zone = "zone 34"',
    "│  │  PyResolver m.zone (m.py:8)  rows 1 -> 1  N ms",
    "│  │  not m.zone2 (m.py:12): it needs the tag 'new', which the query does not carry",
    "│  └─ flight.origin.latitude = 33.5",
    "│     │  CacheRead airport, at most 1h old: miss: not stored",
    "│     │  SqlResolver airports (airports.svc.sql:1)  rows 1 -> 1  N ms",
    '│     └─ flight.origin_code = "LAX"',
    "│        │  PyResolver m.code (m.py:4)  rows 1 -> 1  N ms",
    "│        └─ flight.id = 1",
    "│              Given",
    '└─ flight.plan = "none"',
    "      Default",
  ]);
});

test("hits, old values and busted ones are told apart", async () => {
  const one = world();
  await one.ask({ "flight.id": 1 }, ["flight.origin.latitude"]);
  one.now += 60_000;
  const line = async (more = {}) =>
    (await explain(one, ["flight.origin.latitude"], more)).find((text) => text.includes("CacheRead"))?.trim();
  expect(await line()).toBe("│  CacheRead airport, at most 1h old: hit, 1m old, by airports");
  expect(await line({ staleness: { "airport.latitude": Number.POSITIVE_INFINITY } })).toContain("of any age: hit");
  expect(await line({ staleness: { "airport.latitude": 30_000 } })).toContain("miss: 1m old, and at most 30s is served");
  expect(await line({ staleness: { "airport.latitude": 0 } })).toContain("CacheRead skipped: staleness 0s asks for a fresh value");
});

test("a stored value of an expression says so", async () => {
  const one = world();
  await one.ask({ "flight.id": 1 }, ["flight.origin.north"]);
  one.now += 60_000;
  expect(await explain(one, ["flight.origin.north"])).toContain("   │  CacheRead airport, at most 1h old: hit, 1m old, by its expression");
});

test("failures, and outputs without a provider, stand where they belong", async () => {
  const lines = await explain(world(), ["flight.bad", "flight"]);
  expect(lines.find((line) => line.includes("flight.bad"))).toBe("├─ flight.bad failed: no luck");
  expect(lines).toContain("│  │  PyResolver m.bad (m.py:16)  rows 1 -> 0  N ms");
  expect(lines.at(-1)).toStartWith(
    "└─ flight.lost: no resolver produces flight.lost: give flight.lost as an input, or write a resolver for it",
  );
});

test("the head says whether the plan was remembered, and nothing is explained unasked", async () => {
  const one = world();
  const ask = () => one.ask({ "flight.id": 1 }, ["flight.zone"], { explain: true });
  expect((await ask()).explanation).toContain("(new)");
  const again = (await ask()).explanation;
  expect(again).toContain("(remembered)");
  expect(again).toContain("on dpl_1 as of 2024-05-01T12:00:00.000000Z");
  expect((await one.ask({ "flight.id": 1 }, ["flight.zone"])).explanation).toBe("");
});

test("the source that was asked whether a row exists is named where only its key was wanted", async () => {
  expect(await explain(world(), ["flight.origin.code"], { trace: true, storePlanStages: true })).toEqual([
    "Output",
    '└─ flight.origin.code = "LAX"',
    "   │  Join flight.origin",
    "   │  Row flight.origin looked up by SqlResolver airports (airports.svc.sql:1)  rows 1 -> 1  N ms",
    "   │  not airports (airports.svc.sql:1): the join gives the value",
    '   └─ flight.origin_code = "LAX"',
    "      │  PyResolver m.code (m.py:4)  rows 1 -> 1  N ms",
    "      └─ flight.id = 1",
    "            Given",
  ]);
});
