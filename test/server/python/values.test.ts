import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { type FeatureValue, tagged } from "../../../src/domain/value.ts";
import type { ResolverResult } from "../../../src/server/python/pool.ts";
import { seed, seeded } from "../../harness/seed.ts";
import { module, startPool, type TestPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
class Color(Enum):
    RED = "red"
    BLUE = "blue"

class Level(Enum):
    LOW = 1
    HIGH = 2

@dataclass
class Point:
    x: float
    y: Optional[float]

@dataclass
class Shape:
    name: str
    points: list[Point]
    made: datetime

@features
class Thing:
    id: int
    i: int
    f: float
    s: str
    b: bool
    raw: bytes
    day: date
    at: datetime
    span: timedelta
    money: Decimal
    color: Color
    level: Level
    ints: list[int]
    days: set[date]
    shape: Shape
    anything: dict
    maybe: Optional[int]
    i_out: int
    f_out: float
    s_out: str
    b_out: bool
    raw_out: bytes
    day_out: date
    at_out: datetime
    span_out: timedelta
    money_out: Decimal
    color_out: Color
    level_out: Level
    ints_out: list[int]
    days_out: set[date]
    shape_out: Shape
    anything_out: dict
    maybe_out: Optional[int]
    kind: str
    twice: int
    thrice: int
`;

const KINDS: Record<string, string> = {
  i: "int",
  f: "float",
  s: "str",
  b: "bool",
  raw: "bytes",
  day: "date",
  at: "datetime",
  span: "timedelta",
  money: "Decimal",
  color: "Color",
  level: "Level",
  ints: "list",
  days: "set",
  shape: "Shape",
  anything: "dict",
};

const ECHOES = [...Object.keys(KINDS), "maybe"]
  .map((name) => `@online\ndef echo_${name}(value: Optional[Thing.${name}]) -> Thing.${name}_out:\n    return value\n`)
  .join("\n");
const KIND_OF = Object.keys(KINDS)
  .map((name) => `@online\ndef kind_${name}(value: Thing.${name}) -> Thing.kind:\n    return type(value).__name__\n`)
  .join("\n");

const RESOLVERS = `
calls = []

${ECHOES}
${KIND_OF}
@online
def counted(value: Thing.color, i: Thing.i) -> Thing.twice:
    calls.append(i)
    return len(calls)

@online
def first(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return Thing(twice=2 * i, thrice=3 * i)

@online
def as_tuple(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return 2 * i, 3 * i

@online
def partial(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return Thing(thrice=3 * i)

@online
def nothing(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return None

@online
def short(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return (1,)

@online
def stray(i: Thing.i) -> Features[Thing.twice, Thing.thrice]:
    return Thing(twice=1, s="x")

@online
def lone_instance(i: Thing.i) -> Thing.twice:
    return Thing(twice=2 * i)

@online
def defaulted(i: Optional[Thing.i] = -1) -> Thing.twice:
    return 2 * i

@online
def when(now: Now) -> Thing.s_out:
    return f"{now.isoformat()} {now.tzinfo}"

@online
def local_time(day: Thing.day) -> Thing.at_out:
    return datetime(2024, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=2)))

@online
def naive_time(day: Thing.day) -> Thing.at_out:
    return datetime(2024, 1, 2, 3, 4, 5, 6)

@online
def wrong(i: Thing.i) -> Thing.i_out:
    return "not an int"

@online
def some_fail(value: Thing.i) -> Thing.i_out:
    if value % 300 == 0:
        raise ValueError(value)
    return value

@online
def impossible(i: Thing.i) -> Thing.anything_out:
    return {"x": object()}

@online
def tag(i: Thing.i) -> Thing.anything_out:
    return {"$int": "not a number"}

@online
def circular(i: Thing.i) -> Thing.anything_out:
    d = {}
    d["d"] = d
    return d
`;

let live: TestPool;
beforeAll(async () => {
  live = await startPool(module(FIELDS, RESOLVERS));
});
afterAll(() => live?.[Symbol.asyncDispose]());

const SHAPE = { name: "a", points: [{ x: 1.5, y: null }], made: "2024-05-01T12:00:00.000001Z" };
const SAMPLES: Record<string, FeatureValue[]> = {
  i: [0, -1, 9007199254740991, -9007199254740991, 9007199254740993n, 9223372036854775807n, -9223372036854775808n, null],
  f: [0, -0, 1, 0.1, -1e308, 5e-324, Number.NaN, Infinity, -Infinity, null],
  s: ["", 'é😀\u0000\u2028"\\', "\ud800", "x".repeat(300_000), null],
  b: [true, false, null],
  raw: [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, i) => i), null],
  day: ["0001-01-01", "2024-02-29", "9999-12-31", null],
  at: ["0001-01-01T00:00:00.000000Z", "2024-05-01T12:00:00.123456Z", "9999-12-31T23:59:59.999999Z", null],
  color: ["red", "blue", null],
  level: [1, 2, null],
  money: ["12.340", "-0.1", "1E+3", "79228162514264337593543950335.0001", null],
  ints: [[], [1, 9007199254740993n, -3], null],
  days: [[], ["2024-01-01"], null],
  shape: [SHAPE, null],
  anything: [{}, { a: [1, 2.5, null, { $b: true }], "": "x", big: 9007199254740993n, n: Number.NaN }, null],
  maybe: [5, null],
};

/** What an echo gave. */
const outputOf = ({ columns }: ResolverResult, name: string): unknown[] | undefined =>
  columns[`thing.${name}_out`]?.map((value) => tagged(value as FeatureValue));

describe("values", () => {
  for (const [name, samples] of Object.entries(SAMPLES))
    test(`${name} comes back as it was`, async () => {
      const result = await live.rows(`mod.echo_${name}`, { value: samples });
      expect(result.errors).toEqual([]);
      expect(outputOf(result, name)).toEqual(samples.map(tagged));
    });

  test.each([
    ["f", [0, -0, 0.1, 1, -1e308, 5e-324, Number.NaN, Infinity, -Infinity]],
    ["f", [1, 2, 3]],
    ["f", [0.5, null]],
    ["i", [0, -1, 2 ** 53 - 1, -(2 ** 53) + 1]],
    ["i", [1, 9007199254740993n]],
    ["i", [5, null]],
    ["b", [true, false]],
    ["maybe", [7, -7]],
  ] as [string, FeatureValue[]][])("a long column of %s comes back as it was: %p", async (name, pattern) => {
    const samples = Array.from({ length: 1_000 }, (_, row) => pattern[row % pattern.length] as FeatureValue);
    const result = await live.rows(`mod.echo_${name}`, { value: samples });
    expect(result.errors).toEqual([]);
    expect(outputOf(result, name)).toEqual(samples.map(tagged));
    if (!(name in KINDS) || pattern.includes(null)) return;
    const kinds = await live.rows(`mod.kind_${name}`, { value: samples });
    expect(new Set(kinds.columns["thing.kind"])).toEqual(new Set([KINDS[name] as string]));
  });

  test("a row that fails among many leaves the others' values", async () => {
    const samples = Array.from({ length: 600 }, (_, row) => row);
    const result = await live.rows("mod.some_fail", { value: samples });
    expect(result.errors.map(({ row }) => row)).toEqual([0, 300]);
    expect(result.columns["thing.i_out"]?.[299]).toBe(299);
  });

  test("a timedelta comes back as tagged microseconds", async () => {
    expect(await live.value("mod.echo_span", { value: 1_500_000 })).toEqual({ $micros: 1_500_000 });
    expect(await live.value("mod.echo_span", { value: -1 })).toEqual({ $micros: -1 });
  });

  for (const [name, kind] of Object.entries(KINDS))
    test(`a resolver is given ${name} as ${kind}`, async () => {
      const value = name === "span" ? 5 : (SAMPLES[name]?.[0] ?? null);
      expect(await live.value(`mod.kind_${name}`, { value })).toBe(kind);
    });

  test("integers, floats and text survive in any number", async () => {
    const column = fc.array(
      fc.tuple(
        fc
          .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
          .map((n) => (n >= -9007199254740991n && n <= 9007199254740991n ? Number(n) : n)),
        fc.double(),
        fc.string({ unit: "binary" }),
      ),
      { minLength: 1, maxLength: 50 },
    );
    await fc.assert(
      fc.asyncProperty(column, async (rows) => {
        for (const [position, name] of [
          [0, "i"],
          [1, "f"],
          [2, "s"],
        ] as const) {
          const values = rows.map((row) => row[position] as FeatureValue);
          const result = await live.rows(`mod.echo_${name}`, { value: values });
          expect(result.errors, `seed ${seed}`).toEqual([]);
          expect(outputOf(result, name)).toEqual(values.map(tagged));
        }
      }),
      seeded(50, 5_000),
    );
  });

  test("a frame of several megabytes goes through", async () => {
    const values = Array.from({ length: 40_000 }, (_, i) => `${i}-${"y".repeat(100)}`);
    const result = await live.rows("mod.echo_s", { value: values });
    expect(result.columns["thing.s_out"]).toEqual(values);
  });
});

describe("results", () => {
  test("an instance and a tuple fill several features", async () => {
    for (const resolver of ["mod.first", "mod.as_tuple"]) {
      const result = await live.rows(resolver, { i: [1, 2, 3] });
      expect(result).toMatchObject({ columns: { "thing.twice": [2, 4, 6], "thing.thrice": [3, 6, 9] }, errors: [] });
      expect(result.ranMs).toBeGreaterThan(0);
    }
  });

  test("what an instance does not set is null, and so is None for all of them", async () => {
    expect((await live.row("mod.partial", { i: 1 })).columns).toEqual({ "thing.twice": [null], "thing.thrice": [3] });
    expect((await live.row("mod.nothing", { i: 1 })).columns).toEqual({ "thing.twice": [null], "thing.thrice": [null] });
  });

  test("an instance may stand for the one output", async () => {
    expect(await live.value("mod.lone_instance", { i: 4 })).toBe(8);
  });

  test("a parameter's default is passed instead of null", async () => {
    expect(await live.value("mod.defaulted", { i: null })).toBe(-2);
    expect(await live.value("mod.defaulted", { i: 5 })).toBe(10);
  });

  test("Now is the query's time in UTC", async () => {
    expect(await live.value("mod.when")).toBe("2024-05-01T12:00:00+00:00 UTC");
  });

  test("datetimes are canonical: zones are converted, naive means UTC", async () => {
    expect(await live.value("mod.local_time", { day: "2024-01-01" })).toBe("2024-01-02T01:04:05.000006Z");
    expect(await live.value("mod.naive_time", { day: "2024-01-01" })).toBe("2024-01-02T03:04:05.000006Z");
  });

  test("a value of another type is handed on for the engine to judge", async () => {
    expect(await live.value("mod.wrong", { i: 1 })).toBe("not an int");
  });

  test.each([
    ["mod.short", "1 values for 2 features"],
    ["mod.stray", "'s'"],
    ["mod.impossible", "object"],
    ["mod.circular", "RecursionError"],
  ])("%s cannot be a result", async (resolver, text) => {
    const result = await live.row(resolver, { i: 1 });
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]?.message).toContain(text);
    expect(result.errors[0]?.message).toContain(`resolver '${resolver}' raised`);
  });

  test("a value that only looks like a tag comes back as it is", async () => {
    const result = await live.row("mod.tag", { i: 1 });
    expect(result.errors).toEqual([]);
    expect(result.columns["thing.anything_out"]).toEqual([{ $int: "not a number" }]);
  });

  test("an input that Python cannot read is that row's error", async () => {
    const result = await live.rows("mod.echo_color", { value: ["red", "green", "blue"] });
    expect(result.columns["thing.color_out"]).toEqual(["red", null, "blue"]);
    expect(result.errors.map((error) => error.row)).toEqual([1]);
    expect(result.errors[0]?.message).toContain("'green' is not a valid Color");
    const counted = await live.rows("mod.counted", { value: ["red", "green", "blue"], i: [1, 2, 3] });
    expect(counted.columns["thing.twice"]).toEqual([1, null, 2]);
  });
});
