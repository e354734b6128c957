/**
 * Translated resolvers in queries: what needs no worker, what falls back and how that looks, and
 * how it is turned off.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PythonWorld } from "../python-world.ts";
import { ask, failureOf, valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const SOURCE = `
from typing import Optional
from svc import online
from svc.features import Features, features

RATE = 0.25

@features
class Order:
    id: int
    price: float
    count: int
    note: str | None
    label: str = "none"
    total: float
    tax: float
    net: float
    kind: str
    weight: int
    size: str
    looped: float
    twice: float
    kept: float

@online
def totals(price: Order.price, count: Order.count) -> Features[Order.total, Order.tax]:
    total = price * count
    return Order(total=total, tax=total * RATE)

@online
def net(total: Order.total, tax: Order.tax) -> Order.net:
    if tax < 0:
        raise ValueError(f"a tax of {tax}")
    return total - tax

@online
def kind(note: Order.note) -> Order.kind:
    return note.upper()

@online
def label(note: Optional[Order.note]) -> Order.label:
    return note if note is None else note + str(1 / len(note))

@online
def weight(count: Order.count) -> Order.weight:
    return count * 2 ** 61

@online
def size(count: Order.count) -> Order.size:
    return count

@online
def looped(price: Order.price) -> Order.looped:
    total = 0.0
    for one in (price, price):
        total += one
    return total

@online
def twice(looped: Order.looped) -> Order.twice:
    return looped * 2

@online(translate=False)
def kept(price: Order.price) -> Order.kept:
    return price
`;

let world: PythonWorld;

beforeAll(async () => {
  world = await PythonWorld.start({ "orders.py": SOURCE });
});

afterAll(() => world?.close());

const GIVEN = { "order.id": 1, "order.price": 12.5, "order.count": 4, "order.note": "gift" };
const PYTHON = { plannerOptions: { disable_translation: "true" } };

test("a query of translated resolvers touches no worker", async () => {
  world.takeCalledRows();
  const outputs = ["order.net", "order.tax", "order.kind", "order.label"];
  const answer = await world.ask(GIVEN, outputs);
  expect(world.takeCalledRows()).toBe(0);
  expect(valuesOf(answer)).toEqual({ "order.net": 37.5, "order.tax": 12.5, "order.kind": "GIFT", "order.label": "gift0.25" });
  expect(valuesOf(await world.ask(GIVEN, outputs, PYTHON))).toEqual(valuesOf(answer));
  expect(world.takeCalledRows()).toBe(4);
});

test("an answer without a worker is there at once", () => {
  const { engine, deployment } = world;
  const answer = engine.answer(deployment, ask(GIVEN, ["order.net"]));
  expect(answer).not.toBeInstanceOf(Promise);
});

test("what raises, raises in Python, with its words, place and traceback", async () => {
  const given = { ...GIVEN, "order.price": -1.5 };
  const answer = await world.ask(given, ["order.net"]);
  expect(failureOf(answer, "order.net")).toEqual({
    code: "RESOLVER_FAILED",
    message: "resolver 'orders.net' raised ValueError: a tax of -1.5 (orders.py:33)",
  });
  expect(answer.failures).toEqual((await world.ask(given, ["order.net"], PYTHON)).failures);
  expect(answer.failures[0]?.exception?.stacktrace).toContain('raise ValueError(f"a tax of {tax}")');
});

test.each([
  ["None where the function expects a text", { "order.note": null }, "order.kind", "RESOLVER_FAILED"],
  ["a result beyond 64 bits", { "order.count": 100 }, "order.weight", "VALIDATION_FAILED"],
  ["a result of another type", {}, "order.size", "VALIDATION_FAILED"],
])("%s is the same error as Python's", async (_, changed, output, code) => {
  const given = { ...GIVEN, ...changed };
  const answer = await world.ask(given, [output]);
  expect(failureOf(answer, output).code).toBe(code);
  expect(answer.failures).toEqual((await world.ask(given, [output], PYTHON)).failures);
});

test("a default covers what the function fails with, and stands in for its None", async () => {
  const outputs = ["order.label"];
  expect(valuesOf(await world.ask({ ...GIVEN, "order.note": "" }, outputs))).toEqual({ "order.label": "none" });
  expect(valuesOf(await world.ask({ ...GIVEN, "order.note": null }, outputs))).toEqual({ "order.label": "none" });
});

test("of many rows those that need Python go there, and no others", async () => {
  const notes = ["a", "ß", null, "b", "éa", "c"];
  const columns = { "order.id": notes.map((_, row) => row), "order.note": notes };
  world.takeCalledRows();
  const answer = await world.askBulk(columns, ["order.kind"], { explain: true });
  expect(world.takeCalledRows()).toBe(3);
  expect(answer.columns[0]?.values).toEqual(["A", "SS", null, "B", "ÉA", "C"]);
  expect(answer.failures.map(({ row, message }) => [row, message])).toEqual([
    [2, "resolver 'orders.kind' raised AttributeError: 'NoneType' object has no attribute 'upper' (orders.py:38)"],
  ]);
  const line = /PyResolver translated orders\.kind \(orders\.py:37\) {2}rows 6 -> 5 {2}\S+ ms, 3 fell back to Python/;
  expect(answer.explanation).toMatch(line);
});

test("explain tells translated resolvers from others", async () => {
  const { explanation } = await world.ask(GIVEN, ["order.twice", "order.kept", "order.tax"], { explain: true });
  expect(explanation).toMatch(/PyResolver translated orders\.twice \(orders\.py:\d+\) {2}rows 1 -> 1 {2}\S+ ms, 0 fell back to Python\n/);
  expect(explanation).toMatch(/PyResolver translated orders\.totals /);
  expect(explanation).toMatch(/PyResolver orders\.looped \(orders\.py:\d+\) {2}rows 1 -> 1 {2}\S+ ms, not translated: line 55: it loops\n/);
  expect(explanation).toMatch(/PyResolver orders\.kept .* ms, not translated: its decorator says translate=False\n/);
  const python = await world.ask(GIVEN, ["order.tax"], { ...PYTHON, explain: true });
  expect(python.explanation).toMatch(/PyResolver orders\.totals .* ms, not translated: the planner option disable_translation\n/);
});

test("feature meta names the resolver", async () => {
  const answer = await world.ask(GIVEN, ["order.tax"], { includeMeta: true });
  expect(answer.fields[0]).toMatchObject({ resolver: "orders.totals", hit: false });
});
