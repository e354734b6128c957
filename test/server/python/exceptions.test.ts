import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { module, startPool, type TestPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
@features
class Thing:
    id: int
    i: int
    out: int
    other: int
`;
const RESOLVERS = `
from inner import fail_deep

@online
def first(i: Thing.i) -> Features[Thing.out, Thing.other]:
    if i == 2:
        raise ValueError("two is \\u2028 odd")
    return i, i

@online
def deep(i: Thing.i) -> Thing.out:
    return fail_deep(i)

@online
def chained(i: Thing.i) -> Thing.out:
    try:
        return {}["missing"]
    except KeyError as error:
        raise RuntimeError("no such thing") from error

@online
def leaves(i: Thing.i) -> Thing.out:
    sys.exit(3)

@online
def silent(i: Thing.i) -> Thing.out:
    assert i > 100

@online
def recursive(i: Thing.i) -> Thing.out:
    return recursive(i)

class Unspeakable(Exception):
    def __str__(self):
        raise TypeError("no words")

@online
def unspeakable(i: Thing.i) -> Thing.out:
    raise Unspeakable()

@online
def long_message(i: Thing.i) -> Thing.out:
    raise ValueError("x" * 1_000_000)

@online
async def later(i: Thing.i) -> Thing.out:
    await asyncio.sleep(0)
    if i % 2:
        raise LookupError(f"odd {i}")
    return i
`;
const INNER = `import json

def fail_deep(i):
    return json.loads("{")
`;

let live: TestPool;
beforeAll(async () => {
  live = await startPool({ ...module(FIELDS, RESOLVERS), "inner.py": INNER });
});
afterAll(() => live?.[Symbol.asyncDispose]());

function lineOf(text: string): number {
  const { "mod.py": source } = module(FIELDS, RESOLVERS);
  return (source as string).split("\n").findIndex((line) => line.includes(text)) + 1;
}

test("one bad row is one error, with its exception, file and line", async () => {
  const result = await live.rows("mod.first", { i: [1, 2, 3] });
  expect(result.columns).toEqual({ "thing.out": [1, null, 3], "thing.other": [1, null, 3] });
  const line = lineOf("raise ValueError(");
  expect(result.errors).toMatchObject([
    {
      row: 1,
      code: ErrorCode.RESOLVER_FAILED,
      message: `resolver 'mod.first' raised ValueError: two is \u2028 odd (mod.py:${line})`,
      exception: { kind: "ValueError", message: "two is \u2028 odd", file: "mod.py", line },
    },
  ]);
  expect(result.errors[0]?.exception?.stacktrace).toBe(
    `Traceback (most recent call last):\n  File "mod.py", line ${line}, in first\n    raise ValueError("two is \\u2028 odd")\nValueError: two is \u2028 odd\n`,
  );
});

test("the traceback has the project's frames only and points at the innermost of them", async () => {
  const [error] = (await live.row("mod.deep", { i: 1 })).errors;
  expect(error?.exception).toMatchObject({ kind: "JSONDecodeError", file: "inner.py", line: 4 });
  expect(error?.exception?.stacktrace.match(/File ".*"/g)).toEqual(['File "mod.py"', 'File "inner.py"']);
});

test("a cause is part of the traceback", async () => {
  const stack = (await live.row("mod.chained", { i: 1 })).errors[0]?.exception?.stacktrace ?? "";
  expect(stack.indexOf("KeyError: 'missing'")).toBeGreaterThan(0);
  expect(stack.indexOf("KeyError: 'missing'")).toBeLessThan(stack.indexOf("RuntimeError: no such thing"));
});

test.each([
  ["mod.leaves", "SystemExit", "3"],
  ["mod.silent", "AssertionError", ""],
  ["mod.recursive", "RecursionError", "maximum recursion depth exceeded"],
  ["mod.unspeakable", "Unspeakable", "(its message could not be made)"],
])("%s is an error like any other and the worker lives on", async (resolver, kind, message) => {
  const [error] = (await live.row(resolver, { i: 1 })).errors;
  expect(error?.exception?.kind).toBe(kind);
  expect(error?.exception?.message).toStartWith(message);
  expect((await live.row("mod.first", { i: 1 })).errors).toEqual([]);
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false });
});

test("a very long message is cut", async () => {
  const [error] = (await live.row("mod.long_message", { i: 1 })).errors;
  expect(error?.exception?.message.length).toBeLessThan(5_000);
  expect(error?.exception?.stacktrace.length).toBeLessThan(20_000);
});

test("rows of an async resolver fail one by one", async () => {
  const result = await live.rows("mod.later", { i: [0, 1, 2, 3] });
  expect(result.columns["thing.out"]).toEqual([0, null, 2, null]);
  expect(result.errors.map((error) => [error.row, error.exception?.message])).toEqual([
    [1, "odd 1"],
    [3, "odd 3"],
  ]);
});

test("a thousand failing rows make a small answer", async () => {
  const result = await live.rows("mod.silent", { i: Array.from({ length: 1_000 }, () => 1) });
  expect(result.errors).toHaveLength(1_000);
  expect(result.errors.filter((error) => error.exception?.stacktrace)).toHaveLength(10);
  expect(result.errors[999]?.exception?.line).toBe(lineOf("assert i > 100"));
});

test("a resolver that does not exist is refused", async () => {
  const [error] = (await live.row("mod.unknown")).errors;
  expect(error?.message).toBe("resolver 'mod.unknown' is not defined in the deployment's Python code");
});

test("no rows, no call", async () => {
  const context = { queryId: "", traceId: "", tags: [], queryContext: {} };
  const result = await live.pool.call({ resolver: "mod.first", rows: 0, columns: { i: [] }, now: [], deadlineMs: 1000, context });
  expect(result).toEqual({ columns: {}, errors: [], ranMs: 0 });
});
