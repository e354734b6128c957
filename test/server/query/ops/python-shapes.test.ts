/**
 * Python as people write it: packages, enums, dataclasses, decorators, names that hide others,
 * errors of every kind. What each gives is written down, and is the same with and without
 * translation.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PythonWorld } from "../python-world.ts";
import { fieldOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const FEATURES = `from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Optional, TYPE_CHECKING

from svc.features import features

if TYPE_CHECKING:
    from somewhere_else import Nothing


class Color(str, Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Point:
    x: int
    y: Optional[float] = None


@dataclass(frozen=True)
class Line:
    start: Point
    ends: list[Point]


@features
class Bank:
    id: int
    rate: float


@features
class Row:
    id: int
    i: int
    x: float
    s: str
    maybe: Optional[int]
    color: Color
    level: Level
    line: Line
    bank_id: Bank.id
    bank: Bank
`;

/**
 * Bodies of resolvers: parameters, the type of the output, lines, and what comes for every input: a
 * value, or the exception.
 */
const SHAPES: readonly {
  readonly name: string;
  readonly type: string;
  readonly text: string;
  readonly gives: readonly unknown[];
}[] = [
  {
    name: "constants",
    type: "float",
    text: "(i: Row.i) -> Row.constants:\n    return i * RATE + LIMITS[0]",
    gives: [2.5, 10, 1.25],
  },
  { name: "aliases", type: "int", text: "(x: Row.x) -> Row.aliases:\n    return m.floor(x) + down(x)", gives: [2, -4, 0] },
  { name: "hidden", type: "int", text: "(s: Row.s) -> Row.hidden:\n    return len(s)", gives: [-1, -1, -1] },
  { name: "local_hidden", type: "int", text: "(i: Row.i) -> Row.local_hidden:\n    abs = i + 1\n    return abs", gives: [2, 8, 1] },
  {
    name: "colors",
    type: "bool",
    text: '(color: Row.color) -> Row.colors:\n    return color == Color.RED and color == "red"',
    gives: [true, false, true],
  },
  {
    name: "paint",
    type: "Color",
    text: '(i: Row.i) -> Row.paint:\n    return Color.RED if i > 0 else Color("blue")',
    gives: ["red", "red", "blue"],
  },
  {
    name: "levels",
    type: "int",
    text: "(level: Row.level) -> Row.levels:\n    return level + 1 if level < Level.HIGH else -level",
    gives: [2, -2, 2],
  },
  {
    name: "raised",
    type: "Level",
    text: "(level: Row.level) -> Row.raised:\n    return Level.HIGH if level is Level.LOW else Level.LOW",
    gives: [2, 1, 2],
  },
  { name: "banked", type: "float", text: "(x: Row.x, rate: Row.bank.rate) -> Row.banked:\n    return x * rate", gives: [0.75, -0.75, 0] },
  {
    name: "defaulted",
    type: "int",
    text: "(i: Row.i, maybe: Optional[Row.maybe] = 40) -> Row.defaulted:\n    return i + maybe",
    gives: [41, 12, 40],
  },
  {
    name: "optional",
    type: "str",
    text: '(maybe: Optional[Row.maybe]) -> Row.optional:\n    return "none" if maybe is None else str(maybe)',
    gives: ["none", "5", "none"],
  },
  {
    name: "branches",
    type: "str",
    text: '(i: Row.i, s: Row.s) -> Row.branches:\n    if i > 5:\n        size = "big"\n    elif i > 0:\n        size = "small"\n    else:\n        raise ValueError(f"no size for {i}")\n    size += "/" + s.upper()\n    return size',
    gives: ["small/SS", "big/SURE", "ValueError: no size for 0"],
  },
  {
    name: "unbound",
    type: "int",
    text: "(i: Row.i) -> Row.unbound:\n    if i > 5:\n        size = i\n    return size",
    gives: ["UnboundLocalError", 7, "UnboundLocalError"],
  },
  {
    name: "lines",
    type: "float",
    text: "(line: Row.line) -> Row.lines:\n    return line.start.x + sum(end.y or 0.5 for end in line.ends)",
    gives: [3, 1, 1],
  },
  {
    name: "drawn",
    type: "Line",
    text: "(i: Row.i) -> Row.drawn:\n    return Line(Point(i), [Point(1, 2.0)])",
    gives: [1, 7, 0].map((x) => ({ start: { x, y: null }, ends: [{ x: 1, y: 2 }] })),
  },
  {
    name: "frozen",
    type: "int",
    text: "(line: Row.line) -> Row.frozen:\n    line.start.x = 5\n    return 1",
    gives: ["FrozenInstanceError", "FrozenInstanceError", "FrozenInstanceError"],
  },
  { name: "stacked", type: "int", text: "(i: Row.i) -> Row.stacked:\n    return i", gives: [101, 107, 100] },
  { name: "later", type: "int", text: "(i: Row.i) -> Row.later:\n    await asyncio.sleep(0)\n    return i * 2", gives: [2, 14, 0] },
  { name: "package", type: "int", text: "(i: Row.i) -> Row.package:\n    return twice(i) + near.BASE", gives: [1002, 1014, 1000] },
  {
    name: "exits",
    type: "int",
    text: "(i: Row.i) -> Row.exits:\n    if i == 0:\n        raise SystemExit(3)\n    return i",
    gives: [1, 7, "SystemExit: 3"],
  },
  {
    name: "interrupts",
    type: "int",
    text: "(i: Row.i) -> Row.interrupts:\n    if i == 0:\n        raise KeyboardInterrupt()\n    return i",
    gives: [1, 7, "KeyboardInterrupt"],
  },
  {
    name: "recursive",
    type: "int",
    text: "(i: Row.i) -> Row.recursive:\n    return recursive(i) if i == 0 else i",
    gives: [1, 7, "RecursionError"],
  },
  {
    name: "unspeakable",
    type: "int",
    text: "(i: Row.i) -> Row.unspeakable:\n    if i == 0:\n        raise Unspeakable()\n    return i",
    gives: [1, 7, "Unspeakable"],
  },
  {
    name: "halves",
    type: "str",
    text: '(i: Row.i) -> Row.halves:\n    return "\\ud83d" if i == 0 else "\\U0001f600"',
    gives: ["😀", "😀", "\ud83d"],
  },
];

const RESOLVERS = `from __future__ import annotations

import asyncio
import functools
import math as m
from math import floor as down
from typing import Optional

from svc import online
from svc.features import Features

from ..features import Bank, Color, Level, Line, Point, Row
from . import near
from .near import twice

RATE = 1.25
LIMITS = (RATE, 2 * RATE)


def len(text):
    return -1


class Unspeakable(Exception):
    def __str__(self):
        raise TypeError("no words")


def more(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) + 100
    return wrapped


@online
def rate(bank: Bank.id) -> Bank.rate:
    return bank / 2


${SHAPES.map(({ name, text }) => `@online\n${name === "stacked" ? "@more\n" : ""}${name === "later" ? "async " : ""}def ${name}${text}\n`).join("\n\n")}`;

const FILES = {
  "shop/__init__.py": "",
  "shop/features.py": FEATURES + SHAPES.map(({ name, type }) => `    ${name}: ${type}\n`).join(""),
  "shop/rules/__init__.py": "",
  "shop/rules/near.py": "BASE = 1000\n\n\ndef twice(i):\n    return 2 * i\n",
  "shop/rules/resolvers.py": RESOLVERS,
};

const INPUTS = [
  { i: 1, x: 1.5, s: "ß", maybe: null, color: "red", level: 1, line: { start: { x: 1, y: null }, ends: [{ x: 0, y: 2 }] }, bank_id: 1 },
  { i: 7, x: -1.5, s: "sure", maybe: 5, color: "blue", level: 2, line: { start: { x: 1, y: 1 }, ends: [] }, bank_id: 1 },
  { i: 0, x: 0, s: "", maybe: null, color: "red", level: 1, line: { start: { x: 0, y: 0 }, ends: [{ x: 5, y: 1 }] }, bank_id: 3 },
];

let world: PythonWorld;
beforeAll(async () => {
  world = await PythonWorld.start(FILES);
});
afterAll(() => world?.close());

test.each(SHAPES.map((shape) => [shape.name, shape] as const))("%s", async (name, { gives }) => {
  for (const [at, wanted] of gives.entries())
    for (const disabled of ["false", "true"]) {
      const inputs = { "row.id": at, ...Object.fromEntries(Object.entries(INPUTS[at] ?? {}).map(([key, value]) => [`row.${key}`, value])) };
      const answer = await world.ask(inputs, [`row.${name}`], { plannerOptions: { disable_translation: disabled } });
      const { value, failure } = fieldOf(answer, `row.${name}`);
      const raised = failure?.exception;
      const said = typeof wanted === "string" && wanted.includes(": ") && raised ? `${raised.kind}: ${raised.message}` : raised?.kind;
      expect({ name, at, disabled, came: failure ? (said ?? failure.message) : value }).toEqual({
        name,
        at,
        disabled,
        came: wanted as never,
      });
    }
});

test("some of them are translated, and those that must not be are not", () => {
  const translated = new Map(world.graph.resolvers.map((one) => [one.fqn.split(".").at(-1), Object.keys(one.translated).length > 0]));
  for (const name of ["aliases", "local_hidden", "banked", "optional"]) expect([name, translated.get(name)]).toEqual([name, true]);
  for (const name of ["hidden", "stacked", "later", "lines", "recursive"]) expect([name, translated.get(name)]).toEqual([name, false]);
});
