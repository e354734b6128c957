import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { eventually, isPending } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { module, startPool, type TestPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
@features
class Thing:
    id: int
    i: int
    out: int
    pid: int
`;
const RESOLVERS = `
@online
def first(i: Thing.i) -> Thing.out:
    return i + 1

@online
def pid(i: Thing.i) -> Thing.pid:
    return os.getpid()

@online
def spin(i: Thing.i) -> Thing.out:
    while True:
        pass

@online
def sleep(i: Thing.i) -> Thing.out:
    time.sleep(60)
    return 1

@online
def lock(i: Thing.i) -> Thing.out:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    return 1

@online
def stubborn(i: Thing.i) -> Thing.out:
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

@online
def native(i: Thing.i) -> Thing.out:
    ctypes.PyDLL(None).usleep(30_000_000 * i)
    return 1

@online
def slow_rows(i: Thing.i) -> Thing.out:
    time.sleep(0.05)
    return i

@online
def cleans_up(i: Thing.i) -> Thing.out:
    try:
        time.sleep(60)
    finally:
        print("cleaned up")
    return 1

@online
def moody(i: Thing.i) -> Thing.out:
    while i == 13:
        pass
    return i + 1

@online
def floods(i: Thing.i) -> Thing.out:
    time.sleep(0.08)
    for n in range(900):
        print("x" * 1000)
    while True:
        pass

@online
def talks(i: Thing.i) -> Thing.out:
    while True:
        print("talk " + "x" * 1000)

@online
async def later(i: Thing.i) -> Thing.out:
    await asyncio.sleep(i / 1000)
    return i

barrier = threading.Barrier(20)

@online(resource_hint="io")
def meets_on_threads(i: Thing.i) -> Thing.out:
    print(f"row {i}")
    barrier.wait()
    return i + 1

@online(resource_hint="io")
def spins_on_thread(i: Thing.i) -> Thing.out:
    if i == 13:
        try:
            while True:
                pass
        finally:
            print("thread cleaned up")
    return i

@online(resource_hint="io")
def talks_on_thread(i: Thing.i) -> Thing.out:
    mark = lambda what: open(os.environ["TARGET_ROOT"] + f"/{what}_{i}", "w").close()
    try:
        mark("began")
        while True:
            print(f"thread {i} " + "x" * 900)
    finally:
        mark("gave_way")

@online(resource_hint="io")
def native_on_thread(i: Thing.i) -> Thing.out:
    ctypes.PyDLL(None).usleep(30_000_000 * i)
    return 1

@online(resource_hint="io")
def forks_on_thread(i: Thing.i) -> Thing.out:
    child = os.fork()
    if child == 0:
        return 1
    return os.waitpid(child, 0)[1]

@online(resource_hint="io")
def raises_on_thread(i: Thing.i) -> Thing.out:
    raise [StopIteration("stop"), SystemExit(3), ValueError("odd")][i]

met = 0

@online
async def meets(i: Thing.i) -> Thing.out:
    global met
    met += 1
    while met < i:
        await asyncio.sleep(0.005)
    return i

@online
async def blocks_loop(i: Thing.i) -> Thing.out:
    time.sleep(60)
    return i

@online
def spawns(i: Thing.i) -> Thing.pid:
    import subprocess
    with open(os.environ["TARGET_ROOT"] + "/child", "w") as file:
        file.write(str(subprocess.Popen(["sleep", "600"]).pid))
    ctypes.PyDLL(None).usleep(30_000_000)
    return 0
`;
const files = module(FIELDS, RESOLVERS);
const lines = (files["mod.py"] as string).split("\n");
const lineOf = (name: string) => lines.findIndex((line) => line.includes(`def ${name}(`));

test.each(["spin", "sleep", "lock"])("%s is interrupted at its deadline and the worker goes on", async (name) => {
  await using live = await startPool(files);
  const pid = await live.value("mod.pid", { i: 1 });
  const interrupted = live.row(`mod.${name}`, { i: 1 }, { deadlineMs: 60 });
  const behind = live.value("mod.pid", { i: 1 }, { deadlineMs: 120_000 });
  const result = await interrupted;
  expect(result.columns).toEqual({});
  expect(result.errors).toMatchObject([
    { row: 0, code: ErrorCode.RESOLVER_TIMED_OUT, message: `resolver 'mod.${name}' (mod.py:${lineOf(name)}) did not answer within 60 ms` },
  ]);
  expect(await behind).toBe(pid as number);
});

test("a resolver that is interrupted runs its finally blocks", async () => {
  await using live = await startPool(files);
  await live.row("mod.cleans_up", { i: 1 }, { deadlineMs: 60, queryId: "q-clean" });
  await eventually(() => live.logs.some((line) => line.text === "cleaned up" && line.queryId === "q-clean"), "the finally block's print");
});

test("an interruption never tears a log frame", async () => {
  await using live = await startPool(files);
  const pid = await live.value("mod.pid", { i: 1 });
  const notReading = (ms: number) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  };
  for (let i = 0; i < 3; i++) {
    setTimeout(() => notReading(100), 100);
    setTimeout(() => notReading(50), 201);
    expect((await live.row("mod.floods", { i: 1 }, { deadlineMs: 200 })).errors).toHaveLength(1);
    expect(await live.value("mod.pid", { i: 1 })).toBe(pid as number);
  }
  const printed = live.logs.filter((line) => line.logger === "stdout" && !line.text.startsWith("["));
  expect(printed.length).toBeGreaterThan(500);
  expect(printed.filter((line) => !/^x{1000}$/.test(line.text))).toEqual([]);
});

test("a resolver that prints without end is interrupted like any other", async () => {
  await using live = await startPool(files);
  for (let i = 0; i < 20; i++) expect((await live.row("mod.talks", { i: 1 }, { deadlineMs: 20 })).errors).toHaveLength(1);
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

/**
 * Expects calls of a resolver that does not give way to time out, and to cost their worker. On a busy
 * machine the time of some is up before the resolver has begun, which costs nothing; what the killed
 * worker was running beside it fails with it.
 */
async function expectKilled(live: TestPool, resolver: string): Promise<void> {
  const pid = (await live.value("mod.pid", { i: 1 })) as number;
  const codes: (ErrorCode | undefined)[] = [];
  const isReplaced = async () => {
    codes.push((await live.row(resolver, { i: 1 }, { deadlineMs: 60 })).errors[0]?.code);
    const next = await live.row("mod.pid", { i: 1 });
    return next.errors.length === 0 && next.columns["thing.pid"]?.[0] !== pid;
  };
  await eventually(isReplaced, "another worker");
  expect(codes[0]).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  expect(codes).not.toContain(undefined);
  expect(isAlive(pid)).toBe(false);
}

test.each(["stubborn", "native", "blocks_loop"])("%s does not give way: its worker is killed and replaced", async (name) => {
  await using live = await startPool(files);
  await expectKilled(live, `mod.${name}`);
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false });
});

test("what a killed worker started is killed with it", async () => {
  await using live = await startPool(files);
  await live.row("mod.spawns", { i: 1 }, { deadlineMs: 300 });
  const child = Number(await Bun.file(`${live.root}/child`).text());
  expect(child).toBeGreaterThan(0);
  await eventually(() => !isAlive(child), "the child's end");
});

test("calls behind a hanging one are answered by another worker, long before its deadline", async () => {
  await using live = await startPool(files, { size: 2 });
  await eventually(() => live.pool.health().workers === 2, "two workers");
  for (let i = 0; i < 10; i++) await live.value("mod.moody", { i });
  const calls = Array.from({ length: 200 }, (_, i) => live.row("mod.moody", { i }, i === 13 ? { deadlineMs: 5_000 } : {}));
  const others = await Promise.all(calls.filter((_, i) => i !== 13));
  expect(await isPending(calls[13] as Promise<unknown>)).toBe(true);
  expect(others.map((result) => result.columns["thing.out"]?.[0])).toEqual(
    Array.from({ length: 200 }, (_, i) => i + 1).filter((value) => value !== 14),
  );
  expect((await calls[13])?.errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
});

test("calls that were behind the call a worker was killed for are run by its successor", async () => {
  await using live = await startPool(files);
  for (let i = 0; i < 10; i++) await live.value("mod.native", { i: 0 });
  const calls = [1, 0, 0, 0, 0].map((i) => live.row("mod.native", { i }, { deadlineMs: i === 1 ? 100 : 120_000 }));
  expect((await calls[0])?.errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  const others = await Promise.all(calls.slice(1));
  expect(others.map((result) => [result.columns["thing.out"], result.errors])).toEqual(others.map(() => [[1], []]));
});

test("a call that never got a worker says so", async () => {
  await using live = await startPool(files);
  const hanging = live.row("mod.sleep", { i: 1 }, { deadlineMs: 400 });
  const waiting = await live.row("mod.first", { i: 1 }, { deadlineMs: 50 });
  expect(waiting.errors[0]).toMatchObject({
    code: ErrorCode.RESOLVER_TIMED_OUT,
    message: `resolver 'mod.first' (mod.py:${lineOf("first")}) was not begun within 50 ms: every worker was busy`,
  });
  await hanging;
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

test("what runs beside the call that a worker is killed for fails with its name", async () => {
  await using live = await startPool(files);
  const beside = live.row("mod.later", { i: 20_000 });
  const hanging = live.row("mod.native", { i: 1 }, { deadlineMs: 60 });
  expect((await hanging).errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  expect((await beside).errors[0]).toMatchObject({
    code: ErrorCode.RESOLVER_FAILED,
    message: expect.stringMatching(/^worker killed because resolver 'mod\.native' \(mod\.py:\d+\) overran its deadline$/),
  });
});

test("a batch is given up as a whole", async () => {
  await using live = await startPool(files);
  const pid = await live.value("mod.pid", { i: 1 });
  const result = await live.rows("mod.slow_rows", { i: Array.from({ length: 100 }, (_, i) => i) }, { deadlineMs: 120 });
  expect(result.errors).toHaveLength(100);
  expect(await live.value("mod.pid", { i: 1 })).toBe(pid as number);
});

test("an async resolver is cancelled without a kill", async () => {
  await using live = await startPool(files);
  const pid = await live.value("mod.pid", { i: 1 });
  const result = await live.row("mod.later", { i: 60_000 }, { deadlineMs: 50 });
  expect(result.errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  expect(await live.value("mod.later", { i: 400 })).toBe(400);
  expect(await live.value("mod.pid", { i: 1 })).toBe(pid as number);
});

test("async resolvers run beside each other and beside a synchronous one", async () => {
  await using live = await startPool(files);
  const blocked = live.row("mod.sleep", { i: 1 }, { deadlineMs: 5_000 });
  const results = await Promise.all(Array.from({ length: 50 }, () => live.value("mod.meets", { i: 50 })));
  expect(results).toEqual(Array.from({ length: 50 }, () => 50));
  expect(await isPending(blocked)).toBe(true);
  expect((await blocked).errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
});

test("resolvers that wait run on threads beside each other: the rows of a call, and calls", async () => {
  await using live = await startPool(files);
  const { i, result } = { i: Array.from({ length: 20 }, (_, row) => row), result: (row: number) => row + 1 };
  expect((await live.rows("mod.meets_on_threads", { i })).columns["thing.out"]).toEqual(i.map(result));
  expect(await Promise.all(i.map((row) => live.value("mod.meets_on_threads", { i: row })))).toEqual(i.map(result));
  const texts = () => live.logs.map(({ text }) => text);
  await eventually(() => texts().filter((text) => text.startsWith("row ")).length === 40, "the prints of all rows");
  expect(live.logs.every(({ resolver }) => resolver === "mod.meets_on_threads")).toBe(true);
});

test("a resolver on a thread is interrupted at its deadline, and others are answered", async () => {
  await using live = await startPool(files);
  const spin = () => live.row("mod.spins_on_thread", { i: 13 }, { deadlineMs: 100 });
  expect((await spin()).errors[0]?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  // On a busy machine a worker may be killed before the thread has had its time.
  const hasGivenWay = async () => {
    if (live.logs.some(({ text }) => text === "thread cleaned up")) return true;
    await spin();
    return false;
  };
  await eventually(hasGivenWay, "the finally block's print");
  await eventually(async () => (await live.row("mod.spins_on_thread", { i: 2 })).errors.length === 0, "an answer to another call");
});

test("threads that compute and print without pause give way together", async () => {
  await using live = await startPool(files);
  let attempt = 0;
  // On a busy machine a worker may be killed before its threads have had their time.
  const haveGivenWay = async () => {
    attempt++;
    const before = await live.row("mod.pid", { i: 1 });
    const [pid] = before.columns["thing.pid"] ?? [];
    if (typeof pid !== "number") return false;
    const rows = Array.from({ length: 4 }, (_, row) => attempt * 100 + row);
    await live.rows("mod.talks_on_thread", { i: rows }, { deadlineMs: 200 });
    const isMarked = (what: string) => (row: number) => existsSync(join(live.root, `${what}_${row}`));
    // Once one was interrupted, none begins any more.
    const haveAll = () => rows.some(isMarked("gave_way")) && rows.filter(isMarked("began")).every(isMarked("gave_way"));
    await eventually(() => haveAll() || !isAlive(pid), "the threads or the worker end");
    return haveAll();
  };
  await eventually(haveGivenWay, "threads that give way");
});

test("32 threads that print without pause cost their worker nothing, call after call", async () => {
  await using live = await startPool(files);
  const pid = async () => (await live.row("mod.pid", { i: 1 })).columns["thing.pid"]?.[0];
  let attempt = 0;
  // On a busy machine a worker may be killed before its threads have had their time.
  const haveGivenWay = async () => {
    const before = await pid();
    for (let call = 0; call < 3; call++) {
      const rows = Array.from({ length: 32 }, (_, row) => 10_000 + attempt * 100 + row);
      attempt++;
      await live.rows("mod.talks_on_thread", { i: rows }, { deadlineMs: 200 });
    }
    return before !== undefined && (await live.row("mod.spins_on_thread", { i: -1 })).errors.length === 0 && before === (await pid());
  };
  await eventually(haveGivenWay, "a worker that lives on");
});

test("a thread that does not give way costs its worker", async () => {
  await using live = await startPool(files);
  await expectKilled(live, "mod.native_on_thread");
  expect(await live.value("mod.native_on_thread", { i: 0 })).toBe(1);
});

test("what a thread raises is the error of its row, and a fork on one ends", async () => {
  await using live = await startPool(files);
  const { errors } = await live.rows("mod.raises_on_thread", { i: [0, 1, 2] });
  expect(errors.map(({ row, exception }) => [row, exception?.kind])).toEqual([
    [0, "RuntimeError"],
    [1, "SystemExit"],
    [2, "ValueError"],
  ]);
  expect(await live.value("mod.forks_on_thread", { i: 1 })).toBe(0);
});

test("a call without a deadline has the pool's", async () => {
  await using live = await startPool(files, { defaultTimeoutMs: 70 });
  const result = await live.row("mod.sleep", { i: 1 }, { deadlineMs: 0 });
  expect(result.errors[0]?.message).toContain("did not answer within 70 ms");
});
