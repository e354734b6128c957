import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, isPending } from "../../harness/eventually.ts";
import { module, startPool, type TestPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
@features
class Thing:
    id: int
    i: int
    out: int
    text: str
`;
const RESOLVERS = `
from svc import query_context, query_id, query_tags

logging.getLogger("noisy").setLevel(logging.DEBUG)
print("imported")

@online
def first(i: Thing.i) -> Thing.out:
    print("to stdout", i)
    print("to stderr", file=sys.stderr)
    svc_logger.warning("a warning %d", i)
    logging.getLogger("mine").info("information")
    logging.getLogger("mine").debug("not shown")
    logging.getLogger("noisy").debug("shown")
    sys.stdout.write("no newline")
    return i

@online
def raw(i: Thing.i) -> Thing.out:
    os.write(1, b"raw stdout\\nand ")
    os.write(1, b"more\\n")
    os.system("echo from a child >&2")
    return i

@online
def bad_record(i: Thing.i) -> Thing.out:
    svc_logger.info("%d", "not a number")
    import warnings
    warnings.warn("careful")
    return i

@online
def flood(i: Thing.i) -> Thing.out:
    for n in range(i):
        print("line", n)
    return i

@online
def long_line(i: Thing.i) -> Thing.out:
    print("x" * 1_000_000)
    return i

def enough():
    return os.path.exists(os.environ["TARGET_ROOT"] + "/enough")

@online
def raw_flood(i: Thing.i) -> Thing.out:
    chunk = b"x" * 65536
    while not enough():
        os.write(1, chunk)
    return i

@online
def raw_lines(i: Thing.i) -> Thing.out:
    chunk = b"y\\n" * 32768
    while not enough():
        os.write(2, chunk)
    return i

@online
async def later(i: Thing.i) -> Thing.out:
    await asyncio.sleep(0.01)
    print("later", i)
    return i

@online
def context(i: Thing.i) -> Thing.text:
    return f"{query_id()} {query_tags()} {sorted(query_context().items())}"

@online
async def context_later(i: Thing.i) -> Thing.text:
    await asyncio.sleep(0)
    return f"{query_id()} {query_tags()} {sorted(query_context().items())}"

@online
def surroundings(i: Thing.i) -> Thing.text:
    names = ("TARGET_ROOT", "SVC_DEPLOYMENT_ID", "SVC_ENVIRONMENT_NAME", "SECRET", "PYTHONPATH")
    return " ".join([*(os.environ.get(name, "-") for name in names), os.getcwd(), repr(sys.stdin.read() if sys.stdin else None)])
`;

let live: TestPool;
beforeAll(async () => {
  live = await startPool(module(FIELDS, RESOLVERS), { env: { PATH: process.env.PATH, SECRET: "hunter2" } });
});
afterAll(() => live?.[Symbol.asyncDispose]());
const of = (queryId: string) => live.logs.filter((line) => line.queryId === queryId);

test("prints and log lines carry their resolver, query, level and logger", async () => {
  const before = Date.now();
  await live.value("mod.first", { i: 7 }, { queryId: "q-logs" });
  await eventually(() => of("q-logs").length === 6, "six lines");
  expect(of("q-logs").map((line) => [line.level, line.logger, line.text])).toEqual([
    ["info", "stdout", "to stdout 7"],
    ["warning", "stderr", "to stderr"],
    ["warning", "svc", "a warning 7"],
    ["info", "mine", "information"],
    ["debug", "noisy", "shown"],
    ["info", "stdout", "no newline"],
  ]);
  expect(
    of("q-logs").every((line) => line.resolver === "mod.first" && line.timestampMs >= before - 5 && line.timestampMs <= Date.now() + 5),
  ).toBe(true);
});

test("what is printed while a module is imported belongs to no query", () => {
  expect(live.logs[0]).toMatchObject({ text: "imported", resolver: "", queryId: "", logger: "stdout" });
});

test("writes past Python's streams are captured without a query", async () => {
  await live.value("mod.raw", { i: 1 }, { queryId: "q-raw" });
  await eventually(
    () => live.logs.some((line) => line.text === "and more") && live.logs.some((line) => line.text === "from a child"),
    "raw lines",
  );
  expect(live.logs.find((line) => line.text === "raw stdout")).toMatchObject({
    level: "info",
    logger: "stdout",
    resolver: "",
    queryId: "",
  });
  expect(live.logs.find((line) => line.text === "from a child")).toMatchObject({ level: "warning", logger: "stderr" });
});

test("a record that cannot be formatted breaks nothing, and warnings are log lines", async () => {
  await live.value("mod.bad_record", { i: 1 }, { queryId: "q-bad" });
  await eventually(() => of("q-bad").length === 2, "two lines");
  expect(of("q-bad")[0]).toMatchObject({ level: "error", logger: "svc" });
  expect(of("q-bad")[0]?.text).toMatch(/^a log record of .*mod\.py:\d+ could not be formatted$/);
  expect(of("q-bad")[1]).toMatchObject({ level: "warning", logger: "py.warnings" });
});

test("lines of calls that run beside each other are told apart", async () => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => live.value("mod.later", { i }, { queryId: `q-later-${i}` })));
  await eventually(() => live.logs.filter((line) => line.resolver === "mod.later").length === 20, "twenty lines");
  for (let i = 0; i < 20; i++) expect(of(`q-later-${i}`).map((line) => line.text)).toEqual([`later ${i}`]);
});

test("a resolver that prints without end is cut to a rate, and says how much is missing", async () => {
  await live.value("mod.flood", { i: 50_000 }, { queryId: "q-flood" });
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const dropped = () => sum(live.logs.map((line) => Number(/^\[(\d+) lines within a second were dropped\]$/.exec(line.text)?.[1] ?? 0)));
  const printed = () => of("q-flood").filter((line) => line.text.startsWith("line ")).length;
  await eventually(() => {
    void live.row("mod.flood", { i: 0 }, { queryId: "q-after" });
    return dropped() > 0 && printed() + dropped() >= 50_000;
  }, "an account of every line");
  expect(printed() + dropped()).toBe(50_000);
  expect(printed()).toBeLessThan(10_000);
});

test("a very long line is cut", async () => {
  await eventually(() => {
    void live.row("mod.long_line", { i: 1 }, { queryId: "q-long" });
    return of("q-long").some((line) => line.text.startsWith("x"));
  }, "the long line");
  expect(of("q-long").find((line) => line.text.startsWith("x"))?.text).toHaveLength(8_192);
});

test.each(["raw_flood", "raw_lines"])("a flood on a file descriptor (%s) grows neither memory nor the log", async (name) => {
  await using other = await startPool(module(FIELDS, RESOLVERS), { size: 2 });
  await eventually(() => other.pool.health().workers === 2, "two workers");
  const before = process.memoryUsage.rss();
  const flood = other.value(`mod.${name}`, { i: 1 });
  for (let answered = 0; answered < 200; answered++) await other.value("mod.context", { i: 1 });
  expect(await isPending(flood)).toBe(true);
  writeFileSync(join(other.root, "enough"), "");
  expect(await flood).toBe(1);
  rmSync(join(other.root, "enough"));
  const endless = await other.row(`mod.${name}`, { i: 1 }, { deadlineMs: 500 });
  expect(endless.errors[0]?.message).toContain("did not answer within 500 ms");
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  expect(other.logs.length).toBeLessThan(5_000);
});

test.each(["mod.context", "mod.context_later"])("%s sees the query's context, tags and id", async (resolver) => {
  const options = { queryId: "q-9", tags: ["a", "b"], queryContext: { n: 9007199254740993n, s: "x" } };
  expect(await live.value(resolver, { i: 1 }, options)).toBe("q-9 ('a', 'b') [('n', 9007199254740993), ('s', 'x')]");
  expect(await live.value(resolver, { i: 1 }, { queryId: "q-10" })).toBe("q-10 () []");
});

test("a worker's surroundings are the deployment's", async () => {
  expect(await live.value("mod.surroundings", { i: 1 })).toBe(`${live.root} dpl_test production hunter2 - ${live.root} ''`);
});
