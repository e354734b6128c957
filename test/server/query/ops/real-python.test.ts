/**
 * The example project on a real analyzer, real workers and a real database: what the engine makes
 * of what the others really hand it.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { PythonWorld } from "../python-world.ts";
import { failureOf, fieldOf, valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const EXTRA = `
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Optional
from svc import Now, online
from svc.features import features

@features
class Thing:
    id: int
    day: date
    at: datetime
    span: timedelta
    price: Decimal
    raw: bytes
    big: int
    bad: float
    wrong: int
    seen: str
    kind: str
    size: Optional[float]
    graded: str

@online
def values(id: Thing.id, now: Now) -> Thing.at:
    return now

@online
def day(at: Thing.at) -> Thing.day:
    return at.date()

@online
def span(id: Thing.id) -> Thing.span:
    return timedelta(seconds=1.5)

@online
def price(id: Thing.id) -> Thing.price:
    return Decimal("12.340")

@online
def raw(id: Thing.id) -> Thing.raw:
    return b"\\x00\\xff"

@online
def big(id: Thing.id) -> Thing.big:
    return id + 2**60

@online
def bad(id: Thing.id) -> Thing.bad:
    return 1 / 0

@online
def wrong(id: Thing.id) -> Thing.wrong:
    return "text"

@online(when=Thing.kind == "small" and Thing.size is not None and Thing.size not in (1.0, 2.0))
def small(size: Thing.size) -> Thing.graded:
    return f"small {size}"

@online(when=not (Thing.kind == "large" or Thing.kind == "small"))
async def other(kind: Thing.kind) -> Thing.graded:
    return f"no kind {kind}"

@online
def rest(id: Thing.id) -> Thing.graded:
    return "rest"

@online
def seen(bad: Optional[Thing.bad], price: Thing.price, day: Thing.day) -> Thing.seen:
    return f"{bad} {price} {day.year}"
`;

const FLIGHTS = join(import.meta.dir, "../../../fixtures/flights");
let world: PythonWorld;

beforeAll(async () => {
  const files: Record<string, string> = { "extra.py": EXTRA };
  for (const name of new Bun.Glob("**/*.{py,sql}").scanSync({ cwd: FLIGHTS })) files[name] = await Bun.file(join(FLIGHTS, name)).text();
  world = await PythonWorld.start(files, createFlights);
});

afterAll(() => world?.close());

/** Makes the example's database. */
function createFlights(root: string): Record<string, string> {
  const database = join(root, "flights.db");
  using db = new Database(database, { create: true });
  db.run("create table airport (iata text primary key, name text, city text, state text, country text, latitude real, longitude real)");
  db.run("create table flight (id integer primary key, at text, delay integer, distance integer, origin text, destination text)");
  db.run(
    "insert into airport values ('LAX', 'Los Angeles International', 'Los Angeles', 'CA', 'USA', 33.94, -118.41), ('JFK', 'Kennedy', 'New York', 'NY', 'USA', 40.64, -73.78)",
  );
  db.run(
    "insert into flight values (1, '2001-01-01 08:00:00', 70, 2475, 'LAX', 'JFK'), (2, '2001-01-02 08:00:00', -10, 2475, 'LAX', 'JFK')",
  );
  return { FLIGHTS_SQLITE_PATH: database };
}

const query = (inputs: Record<string, unknown>, outputs: string[] = [], more = {}) => world.ask(inputs, outputs, more);

test("the example's flight is answered through two relations and two languages", async () => {
  const outputs = ["delay_category", "delay_above_route", "detour", "route.origin.city", "route.haul", "route.late_share", "at"];
  const answer = await query(
    { "flight.id": 1 },
    outputs.map((name) => `flight.${name}`),
  );
  expect(answer.failures).toEqual([]);
  const values = valuesOf(answer);
  expect(values).toMatchObject({
    "flight.delay_category": "very late",
    "flight.delay_above_route": 40,
    "flight.route.origin.city": "Los Angeles",
    "flight.route.haul": "long",
    "flight.route.late_share": 0.5,
    "flight.at": "2001-01-01T08:00:00.000000Z",
  });
  expect(values["flight.detour"]).toBeCloseTo(1, 1);
  expect(fieldOf(answer, "flight.route.late_share").key?.value).toBe("LAX-JFK");
});

test("aggregates are cached under the other class's key", async () => {
  await query({ "flight.id": 1 }, ["flight.route.usual_delay"]);
  const answer = await query({ "route.id": "LAX-JFK" }, ["route.usual_delay"]);
  expect(fieldOf(answer, "route.usual_delay")).toMatchObject({ value: 30, hit: true, resolver: "route_delays" });
});

test("the named query brings its outputs, and a whole class is answered", async () => {
  const named = await query({ "flight.id": 2 }, [], { queryName: "flight_card", queryNameVersion: "1.0.0" });
  expect(valuesOf(named)).toMatchObject({ "flight.delay_category": "early", "flight.route.destination.city": "New York" });
  const whole = await query({ "airport.id": "JFK" });
  expect([whole.inferred, whole.failures]).toEqual([["airport"], []]);
  expect(valuesOf(whole)).toMatchObject({ "airport.departures": 0, "airport.mean_delay": null, "airport.city": "New York" });
});

test("an unknown key is said for each feature", async () => {
  const answer = await query({ "flight.id": 99 }, ["flight.delay_category", "flight.delay"]);
  expect(failureOf(answer, "flight.delay").message).toContain("found no row with flight.id = 99");
  expect(failureOf(answer, "flight.delay_category").code).toBe("UPSTREAM_FAILED");
});

test("every kind of value goes to Python and back", async () => {
  const outputs = ["at", "day", "span", "price", "raw", "big", "seen"].map((name) => `thing.${name}`);
  const answer = await query({ "thing.id": 7 }, outputs);
  expect(answer.failures).toEqual([]);
  expect(valuesOf(answer)).toEqual({
    "thing.at": "2024-05-01T12:00:00.000000Z",
    "thing.day": "2024-05-01",
    "thing.span": 1_500_000,
    "thing.price": "12.340",
    "thing.raw": new Uint8Array([0, 255]),
    "thing.big": 2n ** 60n + 7n,
    "thing.seen": "None 12.340 2024",
  });
});

test("what user code raises comes with its class, file and line", async () => {
  const answer = await query({ "thing.id": 7 }, ["thing.bad", "thing.wrong", "thing.at"]);
  const { failure } = fieldOf(answer, "thing.bad");
  expect(failure?.exception).toMatchObject({
    kind: "ZeroDivisionError",
    file: "extra.py",
    line: EXTRA.split("\n").findIndex((line) => line.includes("1 / 0")) + 1,
  });
  expect(failureOf(answer, "thing.wrong").message).toContain("int");
  expect(fieldOf(answer, "thing.at").failure).toBeUndefined();
});

test("when= chooses the resolver of each row, with Python's operators", async () => {
  const grade = async (kind: string, size: number | null) => {
    const { "thing.graded": value } = valuesOf(await query({ "thing.id": 1, "thing.kind": kind, "thing.size": size }, ["thing.graded"]));
    return value;
  };
  expect(await Promise.all([grade("small", 3), grade("small", 1), grade("small", null), grade("large", 3), grade("odd", null)])).toEqual([
    "small 3.0",
    "rest",
    "rest",
    "rest",
    "no kind odd",
  ]);
  const small = world.graph.resolvers.find(({ fqn }) => fqn === "extra.small");
  expect(small?.whenText).toMatch(/^Thing\.kind == 'small' and Thing\.size is not None and /);
});
