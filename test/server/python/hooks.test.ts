/** Hooks in real workers: `before_all` before the first call, `after_all` after the last. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ToolchainError } from "../../../src/python/toolchain.ts";
import { module, startPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
@features
class Thing:
    id: int
    i: int
    out: int
    text: str
`;
/** A resolver that shows what the hooks have done, and a way to note what runs when. */
const RESOLVERS = `
from svc import after_all, before_all

steps = []

def note(step):
    steps.append(step)
    with open(os.environ["TARGET_ROOT"] + "/steps", "a") as file:
        file.write(step + "\\n")

@online
def first(i: Thing.i) -> Thing.text:
    note("call")
    return " ".join(steps)
`;

const steps = (root: string): string[] => readFileSync(join(root, "steps"), "utf8").trim().split("\n");

test("hooks run once in a worker: in order before the first call, in reverse after the last, and only in their environment", async () => {
  const files = module(
    FIELDS,
    `${RESOLVERS}
@before_all
def connect():
    note("connect")

@before_all(environment=["staging", "production"])
async def warm():
    await asyncio.sleep(0)
    note("warm")

@before_all(environment="staging")
def elsewhere():
    note("elsewhere")

@after_all
def disconnect():
    note("disconnect")

@after_all(environment="production")
async def report():
    print("said at the end")
    note("report")
`,
  );
  const live = await startPool(files);
  await using _ = live;
  expect(await live.value("mod.first", { i: 1 })).toBe("connect warm call");
  expect(await live.value("mod.first", { i: 2 })).toBe("connect warm call call");
  await live.pool.drain(20_000);
  expect(steps(live.root)).toEqual(["connect", "warm", "call", "call", "report", "disconnect"]);
  expect(live.logs.map(({ text }) => text)).toContain("said at the end");
});

test("an async hook shares its loop with async resolvers", async () => {
  const files = module(
    FIELDS,
    `${RESOLVERS}
@before_all
async def connect():
    global loop
    loop = asyncio.get_running_loop()

@online
async def same(i: Thing.i) -> Thing.out:
    return int(asyncio.get_running_loop() is loop)
`,
  );
  await using live = await startPool(files);
  expect(await live.value("mod.same", { i: 1 })).toBe(1);
});

test("a hook that raises before the calls fails the start, with its name and place", async () => {
  const files = module(
    FIELDS,
    `${RESOLVERS}
@before_all
def connect():
    raise RuntimeError("no database")

@before_all
def never():
    note("never")
`,
  );
  const failed = await startPool(files).then(
    async (live) => live[Symbol.asyncDispose](),
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(ToolchainError);
  const { message, diagnostics } = failed as ToolchainError;
  expect(message).toMatch(/^the hook 'mod\.connect' \(@before_all\) failed: RuntimeError: no database \(mod\.py:\d+\)$/);
  expect(diagnostics.map(({ code, span }) => [code, span?.file])).toEqual([[102, "mod.py"]]);
});

test("a hook that raises after the calls is logged, and the others run", async () => {
  const files = module(
    FIELDS,
    `${RESOLVERS}
@after_all
def last():
    note("last")

@after_all
def fails():
    sys.exit(3)
`,
  );
  const live = await startPool(files);
  await using _ = live;
  await live.value("mod.first", { i: 1 });
  await live.pool.drain(20_000);
  expect(steps(live.root)).toEqual(["call", "last"]);
  const line = live.logs.find(({ level }) => level === "error");
  expect(line?.text).toMatch(/^the hook 'mod\.fails' \(@after_all\) failed: SystemExit: 3 \(mod\.py:\d+\)\nTraceback/);
});

test("hooks after the calls have the time that draining has", async () => {
  const files = module(FIELDS, `${RESOLVERS}\n@after_all\ndef leave():\n    time.sleep(2)\n    note("leave")\n`);
  const live = await startPool(files);
  await using _ = live;
  await live.pool.drain(30_000);
  expect(steps(live.root)).toEqual(["leave"]);
});

test("a worker that is let go before its first call has run its hooks too", async () => {
  const files = module(
    FIELDS,
    `${RESOLVERS}\n@before_all\ndef connect():\n    note("connect")\n\n@after_all\ndef leave():\n    note("leave")\n`,
  );
  const live = await startPool(files);
  await using _ = live;
  await live.pool.drain(20_000);
  expect(existsSync(join(live.root, "steps")) && steps(live.root)).toEqual(["connect", "leave"]);
});
