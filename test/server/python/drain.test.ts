import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../harness/eventually.ts";
import { anyPython, module, startPool } from "./project.ts";

const FIELDS = `
@features
class Thing:
    id: int
    i: int
    out: int
    text: str
`;
const RESOLVERS = `
import atexit
atexit.register(lambda: open(os.environ["TARGET_ROOT"] + "/left", "w").close())

@online
def first(i: Thing.i) -> Thing.out:
    return i

@online
def waits(i: Thing.i) -> Thing.out:
    print("waiting")
    time.sleep(i / 1000)
    return i

@online
def version(i: Thing.i) -> Thing.text:
    return "%d%d" % sys.version_info[:2]

@online
async def later(i: Thing.i) -> Thing.out:
    await asyncio.sleep(i / 1000)
    return i
`;

setDefaultTimeout(300_000);
const files = module(FIELDS, RESOLVERS);

test("draining lets running calls end, refuses new ones, and lets workers leave in peace", async () => {
  await using live = await startPool(files);
  const running = [live.value("mod.waits", { i: 200 }), live.value("mod.later", { i: 200 }), live.value("mod.first", { i: 5 })];
  const drained = live.pool.drain(10_000);
  const late = await live.row("mod.first", { i: 1 });
  expect(late.errors[0]?.message).toBe("the deployment's workers are being stopped");
  expect(await Promise.all(running)).toEqual([200, 200, 5]);
  await drained;
  expect(existsSync(join(live.root, "left"))).toBe(true);
  expect(live.pool.health().workers).toBe(0);
});

test("draining does not wait longer than it may: a call that would go on for a minute is stopped before its own deadline", async () => {
  await using live = await startPool(files);
  const running = live.row("mod.waits", { i: 60_000 });
  await eventually(() => live.logs.some((line) => line.text === "waiting"), "the start of the call");
  await live.pool.drain(50);
  expect((await running).errors[0]?.message).toBe("the deployment's workers were stopped");
});

test("sockets lie in a private folder, under a short path, and are gone afterwards", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-"));
  const temporary = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    const short = join(folder, "s");
    const direct = await startPool(files, { socketDir: short });
    const [made] = readdirSync(short);
    expect(statSync(join(short, made as string)).mode & 0o777).toBe(0o700);
    expect(await direct.value("mod.first", { i: 3 })).toBe(3);
    await direct[Symbol.asyncDispose]();
    expect(readdirSync(short)).toEqual([]);
    await rm(short, { recursive: true });
    const elsewhere = await startPool(files, { socketDir: join(folder, "x".repeat(120)) });
    expect(await elsewhere.value("mod.first", { i: 3 })).toBe(3);
    await elsewhere[Symbol.asyncDispose]();
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    if (temporary === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = temporary;
    await rm(folder, { recursive: true, force: true });
  }
});

test("many calls at once are all answered, each with its own result", async () => {
  await using live = await startPool(files, { size: 2 });
  const results = await Promise.all(
    Array.from({ length: 3_000 }, (_, i) => live.value(i % 3 === 0 ? "mod.later" : "mod.first", { i: i % 50 })),
  );
  expect(results).toEqual(Array.from({ length: 3_000 }, (_, i) => i % 50));
});

test.each(["python310", "python311", "python312", "python313"])("%s runs sync and async resolvers, and is interrupted", async (runtime) => {
  const python = await anyPython(runtime);
  if (python === undefined) return console.warn(`${runtime} is not installed here: not tested`);
  await using live = await startPool(files, { python });
  expect(await live.value("mod.version", { i: 1 })).toBe(runtime.slice(6));
  expect(await live.value("mod.later", { i: 1 })).toBe(1);
  expect((await live.row("mod.waits", { i: 60_000 }, { deadlineMs: 50 })).errors[0]?.message).toContain("did not answer within 50 ms");
  expect((await live.row("mod.later", { i: 60_000 }, { deadlineMs: 50 })).errors[0]?.message).toContain("did not answer within 50 ms");
  expect(await live.value("mod.first", { i: 2 })).toBe(2);
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false });
});
