import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { unpackSdk } from "../../../src/python/sdk.ts";
import { ToolchainError } from "../../../src/python/toolchain.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { anyPython, module, SDK_FOLDER, startPool, writeProject } from "./project.ts";

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
def leaves(i: Thing.i) -> Thing.out:
    os.write(2, b"about to leave\\n")
    os._exit(7)

@online
def segfaults(i: Thing.i) -> Thing.out:
    return ctypes.string_at(0)

@online
def crashes_unseen(i: Thing.i) -> Thing.out:
    os.kill(os.getppid(), signal.SIGSTOP)
    return ctypes.string_at(0)

@online
def hides(i: Thing.i) -> Thing.out:
    os.closerange(3, 1000)
    time.sleep(600)

@online
def launcher(i: Thing.i) -> Thing.pid:
    return os.getppid()

@online
def eats_memory(i: Thing.i) -> Thing.out:
    return len(bytearray(8 * 1024**3))

@online
def sleeps(i: Thing.i) -> Thing.out:
    print("asleep")
    time.sleep(60)

@online
def spawns(i: Thing.i) -> Thing.pid:
    import subprocess
    return subprocess.Popen(["sleep", "600"]).pid

@online
def breeds(i: Thing.i) -> Thing.pid:
    import subprocess
    print("child", subprocess.Popen(["sleep", "600"]).pid)
    time.sleep(600)

@online
def forks(i: Thing.i) -> Thing.out:
    child = os.fork()
    if child == 0:
        print("from the fork")
        return -1
    os.waitpid(child, 0)
    return i

@online
async def later(i: Thing.i) -> Thing.out:
    await asyncio.sleep(20)
`;
const files = module(FIELDS, RESOLVERS);
/** The line of a resolver's decorator. */
const lineOf = (name: string) => (files["mod.py"] as string).split("\n").findIndex((text) => text.includes(`def ${name}(`));

test("a worker that exits is an error with its code and its last lines, and is replaced", async () => {
  await using live = await startPool(files);
  const result = await live.row("mod.leaves", { i: 1 });
  expect(result.errors).toHaveLength(1);
  expect(result.errors[0]).toMatchObject({ code: ErrorCode.RESOLVER_FAILED, exception: { kind: "WorkerCrashed" } });
  expect(result.errors[0]?.message).toBe(
    `the worker exited with code 7 while it ran resolver 'mod.leaves' (mod.py:${lineOf("leaves")})\n  about to leave`,
  );
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false, lastFailure: "a worker exited with code 7 while it ran 'mod.leaves'" });
});

test("a segmentation fault names the signal and the line", async () => {
  await using live = await startPool(files);
  const [error] = (await live.row("mod.segfaults", { i: 1 })).errors;
  const line = lineOf("segfaults") + 2;
  expect(error?.message).toStartWith(
    `the worker was killed by SIGSEGV at mod.py:${line} in segfaults while it ran resolver 'mod.segfaults' (mod.py:${line - 2})`,
  );
  expect(error?.exception).toMatchObject({ file: "mod.py", line });
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

test.skipIf(process.platform !== "linux")("a launcher that gets no time to see a crash tells it when it does", async () => {
  await using live = await startPool(files);
  const launcher = (await live.value("mod.launcher", { i: 1 })) as number;
  const crashed = live.row("mod.crashes_unseen", { i: 1 });
  await eventually(() => isPendingSignal(launcher, constants.signals.SIGTERM), "the server's signal");
  process.kill(launcher, "SIGCONT");
  expect((await crashed).errors[0]?.message).toStartWith(`the worker was killed by SIGSEGV at mod.py:${lineOf("crashes_unseen") + 3} in`);
});

test("a worker that closes its connections and lives on is ended", async () => {
  await using live = await startPool(files);
  const [error] = (await live.row("mod.hides", { i: 1 })).errors;
  expect(error?.message).toStartWith("the worker was killed by SIGKILL while it ran resolver 'mod.hides'");
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

test("kill -9 of a worker fails what it ran and nothing else", async () => {
  await using live = await startPool(files);
  const pid = (await live.value("mod.pid", { i: 1 })) as number;
  const running = live.row("mod.sleeps", { i: 1 });
  const beside = live.row("mod.later", { i: 1 });
  const waiting = Promise.all(Array.from({ length: 10 }, (_, i) => live.value("mod.first", { i })));
  await eventually(() => live.logs.some((line) => line.text === "asleep"), "the start of the call");
  process.kill(pid, "SIGKILL");
  expect((await running).errors[0]?.message).toBe(
    `the worker was killed by SIGKILL while it ran resolver 'mod.sleeps' (mod.py:${lineOf("sleeps")})`,
  );
  expect((await beside).errors[0]?.message).toBe(
    `the worker was killed by SIGKILL while it ran resolver 'mod.later' (mod.py:${lineOf("later")})`,
  );
  expect(await waiting).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
});

test("kill -9 of an idle worker is not noticed by the next call", async () => {
  for (let round = 0; round < 3; round++) {
    await using live = await startPool(files);
    const pid = (await live.value("mod.pid", { i: 1 })) as number;
    process.kill(pid, "SIGKILL");
    await eventually(() => live.pool.health().lastFailure !== undefined, "the pool's notice");
    await eventually(() => live.pool.health().workers === 1, "the replacement");
    expect(await live.value("mod.pid", { i: 1 })).not.toBe(pid);
  }
});

test("a memory limit makes MemoryError of an allocation too much", async () => {
  await using live = await startPool(files, { memoryLimitBytes: 2 * 1024 ** 3 });
  const [error] = (await live.row("mod.eats_memory", { i: 1 })).errors;
  expect(error?.exception?.kind).toBe("MemoryError");
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

test("a resolver that crashes three workers within a minute is stopped until the minute is over, and the others run", async () => {
  let now = 1_000_000;
  await using live = await startPool(files, { clock: { now: () => now, sleep: (ms) => Bun.sleep(ms) } });
  for (let i = 0; i < 3; i++) expect((await live.row("mod.leaves", { i: 1 })).errors[0]?.message).toContain("exited with code 7");
  for (let i = 0; i < 3; i++) {
    const [error] = (await live.row("mod.leaves", { i: 1 })).errors;
    expect(error?.code).toBe(ErrorCode.RESOLVER_FAILED);
    expect(error?.message).toBe(
      `resolver 'mod.leaves' (mod.py:${lineOf("leaves")}) was not run: it crashed 3 Python workers within a minute and is stopped for now; other resolvers run. Last failure: a worker exited with code 7 while it ran 'mod.leaves'`,
    );
  }
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
  expect(live.pool.health().degraded).toBe(false);
  now += 61_000;
  expect((await live.row("mod.leaves", { i: 1 })).errors[0]?.message).toContain("exited with code 7");
});

test("five crashes within a minute that no resolver is to blame for stop the pool until the minute is over", async () => {
  let now = 1_000_000;
  await using live = await startPool(files, { clock: { now: () => now, sleep: (ms) => Bun.sleep(ms) } });
  for (let i = 0; i < 5; i++) {
    await eventually(() => live.pool.health().workers === 1, "a worker");
    process.kill((await live.value("mod.pid", { i: 1 })) as number, "SIGKILL");
    await eventually(() => live.pool.health().workers === 0, "the pool's notice");
  }
  await eventually(() => live.pool.health().degraded, "the stop");
  const [error] = (await live.row("mod.first", { i: 1 })).errors;
  expect(error?.code).toBe(ErrorCode.RESOLVER_FAILED);
  expect(error?.message).toContain("the Python workers of deployment dpl_test crashed 5 times within a minute and are stopped for now");
  expect(error?.message).toContain("a worker was killed by SIGKILL");
  expect(live.pool.health().degraded).toBe(true);
  now += 61_000;
  expect(live.pool.health().degraded).toBe(false);
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
});

test("a call whose time is up takes the processes that it started with it", async () => {
  await using live = await startPool(files);
  const before = await live.value("mod.pid", { i: 1 });
  const [error] = (await live.row("mod.breeds", { i: 1 }, { deadlineMs: 500 })).errors;
  expect(error?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
  await eventually(() => live.logs.some(({ text }) => /^child \d+$/.test(text)), "the child's number");
  const child = Number(live.logs.find(({ text }) => text.startsWith("child "))?.text.slice(6));
  await eventually(() => !isAlive(child), "the child's end");
  expect(await live.value("mod.pid", { i: 1 })).not.toBe(before);
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false });
});

test("a fork that returns from its resolver answers nothing, and what it prints arrives", async () => {
  await using live = await startPool(files);
  for (let i = 0; i < 3; i++) expect(await live.value("mod.forks", { i })).toBe(i);
  expect(await live.value("mod.first", { i: 1 })).toBe(2);
  await eventually(() => live.logs.filter(({ text }) => text === "from the fork").length === 3, "the forks' lines");
  expect(live.pool.health()).toEqual({ workers: 1, degraded: false });
});

test("a project that does not import is refused with its findings", async () => {
  const error = await startPool({ "mod.py": "import svc\n\nraise RuntimeError('no')\n" }).catch((failure) => failure);
  expect(error).toBeInstanceOf(ToolchainError);
  expect((error as ToolchainError).diagnostics).toMatchObject([{ code: 102, span: { file: "mod.py", line: 3 } }]);
});

test("an import that ends the process is finding 103 with the last lines", async () => {
  const error = await startPool({ "mod.py": "import os\nos.write(2, b'going')\nos._exit(4)\n" }).catch((failure) => failure);
  expect(error).toBeInstanceOf(ToolchainError);
  expect((error as ToolchainError).diagnostics).toMatchObject([
    { code: 103, message: "the worker exited with code 4 before the project was imported\n  going" },
  ]);
});

test("an import that takes too long is finding 103 and says where it was", async () => {
  const slow = { "mod.py": "import time\n\ndef load():\n    time.sleep(60)\n\nload()\n" };
  const error = await startPool(slow, { startTimeoutMs: 4_000 }).catch((failure) => failure);
  expect((error as ToolchainError).diagnostics[0]?.message).toStartWith(
    "importing the project in a worker took longer than 4 s; it was stopped at mod.py:4 in load",
  );
});

test("a resolver of the graph that is not there is refused", async () => {
  const error = await startPool(files, { resolverFqns: ["mod.first", "mod.gone"] }).catch((failure) => failure);
  expect((error as Error).message).toBe("the project was imported, but it defines no resolver 'mod.gone' in a worker");
});

test("a graph without Python resolvers starts no worker", async () => {
  await using live = await startPool({ "mod.py": "raise RuntimeError\n" }, { resolverFqns: [] });
  expect(live.pool.health()).toEqual({ workers: 0, degraded: false });
});

test("workers end with their server, also when it is killed while they are busy", async () => {
  await using project = await writeProject(files);
  const script = `
    import { createWorkerPool } from ${JSON.stringify(resolve(import.meta.dir, "../../../src/server/python/worker-pool.ts"))};
    const pool = await createWorkerPool({
      python: ${JSON.stringify(await anyPython())}, sdkRoot: ${JSON.stringify(await unpackSdk(SDK_FOLDER))},
      sourceRoot: ${JSON.stringify(project.root)}, env: {}, size: 2, socketDir: ${JSON.stringify(project.root)} + "/s", onLog: () => {},
      clock: { now: Date.now, sleep: (ms) => Bun.sleep(ms) }, deploymentId: "d", environmentName: "e", defaultTimeoutMs: 60_000, resolverFqns: ["mod.first"],
    });
    const context = { queryId: "", traceId: "", tags: [], queryContext: {} };
    const call = (resolver) => pool.call({ resolver, rows: 1, columns: { i: [1] }, now: [""], deadlineMs: 60_000, context });
    while (pool.health().workers < 2) await Bun.sleep(5);
    const first = (await call("mod.pid")).columns["thing.pid"][0];
    const child = (await call("mod.spawns")).columns["thing.pid"][0];
    void call("mod.sleeps");
    const second = (await call("mod.pid")).columns["thing.pid"][0];
    console.log(JSON.stringify([first, second, child]));
    setInterval(() => {}, 1000);
  `;
  const server = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  const reader = server.stdout.getReader();
  const pids = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as number[];
  expect(new Set(pids).size).toBe(3);
  server.kill("SIGKILL");
  await eventually(() => pids.every((pid) => !isAlive(pid)), "the workers' end");
});

test("a worker that cannot be started again is a failure of calls, not of the server", async () => {
  await using project = await writeProject({ "state/ok": "" });
  const { python } = await copiedPython(project.root);
  await using other = await startPool(files, { python });
  await rm(python);
  expect((await other.row("mod.leaves", { i: 1 })).errors[0]?.message).toContain("exited with code 7");
  const [error] = (await other.row("mod.first", { i: 1 })).errors;
  expect(error?.message).toContain("Last failure: a worker could not be started: ");
  expect(other.pool.health()).toMatchObject({ workers: 0, degraded: true });
});

test("a project that no longer imports is named in the failure", async () => {
  await using live = await startPool(files);
  await writeFile(join(live.root, "mod.py"), "raise RuntimeError('changed')\n");
  expect((await live.row("mod.leaves", { i: 1 })).errors[0]?.message).toContain("exited with code 7");
  const [error] = (await live.row("mod.first", { i: 1 })).errors;
  expect(error?.message).toContain("Last failure: mod.py cannot be imported: RuntimeError: changed");
});

/** Whether a process was sent a signal that it has not received yet. */
function isPendingSignal(pid: number, number: number): boolean {
  const [, pending = "0"] = /^ShdPnd:\s+(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return ((BigInt(`0x${pending}`) >> BigInt(number - 1)) & 1n) === 1n;
}

/** An interpreter that can be removed. */
async function copiedPython(folder: string): Promise<{ python: string }> {
  const python = join(folder, "venv", "bin", "python");
  const child = Bun.spawn([(await anyPython()) as string, "-m", "venv", "--without-pip", join(folder, "venv")], {
    stdout: "ignore",
    stderr: "inherit",
  });
  expect(await child.exited).toBe(0);
  return { python };
}
