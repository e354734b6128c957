/**
 * Keys of the rows that Python resolvers give: read as keys given with a query are, or said to be
 * none. Real analyzer, real worker.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PythonWorld } from "../python-world.ts";
import { failureOf, valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const PROJECT = {
  "features.py": `
from svc.features import DataFrame, _, features

@features
class Shop:
    id: str
    city: str
    sales: "DataFrame[Sale]"
    total: int = _.sales[_.amount].sum()
    score: int

@features
class Sale:
    id: int
    shop_id: "Shop.id"
    shop: Shop
    amount: int
    day_id: "Day.id | None"
    day: "Day | None"
    note: str

@features
class Day:
    id: int
    name: str
    sales: "DataFrame[Sale]"

@features
class Broken:
    id: int
    name: str
    things: "DataFrame[Thing]"

@features
class Thing:
    id: int
    broken_id: "Broken.id"
    size: int
`,
  "resolvers.py": `
from features import Broken, Day, Sale, Shop, Thing
from svc import online
from svc.features import DataFrame

@online(total=True)
def shops() -> DataFrame[Shop.id, Shop.city]:
    return DataFrame([Shop(id=7, city="rome"), Shop(id="08", city="oslo"), Shop(id="x", city="bonn")])

@online(total=True)
def sales() -> DataFrame[Sale.id, Sale.shop_id, Sale.amount, Sale.day_id]:
    return DataFrame([
        Sale(id=1, shop_id=7, amount=10, day_id="3"),
        Sale(id="2", shop_id="7", amount=20, day_id=3),
        Sale(id=3, shop_id="x", amount=40, day_id=None),
    ])

@online(total=True)
def days() -> DataFrame[Day.id, Day.name]:
    return DataFrame([Day(id="3", name="wed")])

@online
def scores(shops: DataFrame[Shop.id, Shop.total]) -> DataFrame[Shop.id, Shop.score]:
    return DataFrame([Shop(id=int(shop.id) if shop.id.isdigit() else shop.id, score=shop.total * 2) for shop in shops])

@online
def note(shop: Sale.shop.city, day: Sale.day.name) -> Sale.note:
    return f"{shop} {day}"

@online(total=True)
def brokens() -> DataFrame[Broken.id, Broken.name]:
    return DataFrame([Broken(id=1, name="a"), Broken(id=None, name="b"), Broken(id="two", name="c")])

@online(total=True)
def things() -> DataFrame[Thing.id, Thing.broken_id, Thing.size]:
    return DataFrame([Thing(id=1, broken_id=1, size=1), Thing(id=2, broken_id="one", size=2)])
`,
};

let world: PythonWorld;
beforeAll(async () => {
  world = await PythonWorld.start(PROJECT);
});
afterAll(() => world?.close());

const query = async (inputs: Record<string, unknown>, outputs: string[]) => {
  const answer = await world.ask(inputs, outputs);
  expect(answer.failures.map((failure) => failure.message)).toEqual([]);
  return valuesOf(answer);
};

test("an int and the text that spells it stand for each other in keys, and every answer has the declared type", async () => {
  expect(await query({ "shop.id": "7" }, ["shop.city", "shop.total", "shop.score", "shop.sales.id", "shop.sales.shop_id"])).toEqual({
    "shop.city": "rome",
    "shop.total": 30,
    "shop.score": 60,
    "shop.sales.id": [1, 2],
    "shop.sales.shop_id": ["7", "7"],
  });
  expect(await query({ "shop.id": "08" }, ["shop.city", "shop.total"])).toEqual({ "shop.city": "oslo", "shop.total": 0 });
  expect(await query({ "sale.id": 2 }, ["sale.note", "sale.shop.id", "sale.day.id"])).toEqual({
    "sale.note": "rome wed",
    "sale.shop.id": "7",
    "sale.day.id": 3,
  });
  expect(await query({ "sale.id": 3 }, ["sale.note", "sale.day.id"])).toEqual({ "sale.note": "bonn None", "sale.day.id": null });
  expect(await query({ "day.id": 3 }, ["day.sales.id"])).toEqual({ "day.sales.id": [1, 2] });
});

test("a row without a key, or with one that is none, is named when what is looked for is not among the others", async () => {
  expect(await query({ "broken.id": 1 }, ["broken.name"])).toEqual({ "broken.name": "a" });
  const missing = await world.ask({ "broken.id": 2 }, ["broken.name"]);
  expect(failureOf(missing, "broken.name")).toEqual({
    code: "VALIDATION_FAILED",
    message: expect.stringMatching(
      /^resolvers\.brokens \(resolvers\.py:\d+\) found no row with broken\.id = 2, and row 2 of its 3 has no key: broken\.id is null$/,
    ) as never,
  });
  const things = await world.ask({ "broken.id": 1 }, ["broken.things.size"]);
  expect(failureOf(things, "broken.things.size").message).toMatch(
    /^resolvers\.things \(resolvers\.py:\d+\) cannot say whose rows it gave: row 2 of its 2 has no key: thing\.broken_id: expected int, got str "one"$/,
  );
});
