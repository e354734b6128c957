/**
 * What code of a project reaches from a worker of the binary: it may end itself and its parent, but
 * not the server; it sees no variable that was not handed on; and nothing that the server and it
 * write is open to others.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

setDefaultTimeout(300_000);

const isPosix = process.platform !== "win32";

const FEATURES = `import json
import os
import re
import signal
import subprocess
import sys
import time

from svc import online
from svc.features import features


@features
class Item:
    id: int
    pid: int
    parent: int
    twice: int
    kills: int
    kills_later: int
    spreads: int
    names: str
    asks: str
    files: str
    writes: str
    loops: int


@online
def pid(id: Item.id) -> Item.pid:
    return os.getpid()


@online
def parent(id: Item.id) -> Item.parent:
    return os.getppid()


@online
def twice(id: Item.id) -> Item.twice:
    return int(str(id)) * 2


@online
def kills(id: Item.id) -> Item.kills:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
    return 0


@online
def kills_later(id: Item.id) -> Item.kills_later:
    for _number in range(3):
        if os.getppid() != 1:
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(0.2)
    return 0


@online(timeout="900ms")
def spreads(id: Item.id) -> Item.spreads:
    for _number in range(10):
        if os.fork() == 0:
            os.setsid()
            os.closerange(0, 256)
            while os.getppid() != 1:
                time.sleep(0.05)
            os._exit(0)
    while True:
        pass


@online
def names(id: Item.id) -> Item.names:
    return json.dumps(sorted(os.environ))


@online
def asks(id: Item.id) -> Item.asks:
    return os.environ["NOT_HANDED_ON"]


@online
def files(id: Item.id) -> Item.files:
    subprocess.run([sys.executable, "-c", "open('made-by-child', 'w')"], check=True)
    open("made-by-resolver", "w").close()
    return os.getcwd()


@online(timeout="100s")
def loops(id: Item.id) -> Item.loops:
    open("loop-began", "w").close()
    return len(re.match("(a+)+$", "a" * 60 + "b").group())  # years, without letting any other thread run
`;
const PROJECT = { "svc.yaml": "project: boundary\nenvironments:\n  default: {}\n", "features.py": FEATURES };
const SECRETS = {
  AWS_SECRET_ACCESS_KEY: "s3cret",
  DATABASE_URL: "postgres://u:s3cret@h/d",
  NOT_HANDED_ON: "s3cret",
  HTTPS_PROXY: "http://u:s3cret@proxy",
  SVC_CLIENT_SECRET: "s3cret",
  BUN_SOMETHING: "s3cret",
};
const HANDED = { MODEL_NAME: "m", MODEL_PATH: "/m", AWS_REGION: "eu", SVC_WORKER_ENV: "AWS_REGION, MODEL_*" };

interface Answer {
  readonly data: readonly { readonly field: string; readonly value: unknown }[];
  readonly errors?: readonly { readonly code: string; readonly message: string }[];
}

let sandbox: Sandbox;
let headers: Record<string, string>;
let server: number;
let data: string;

beforeAll(async () => {
  if (!isPosix) return;
  sandbox = new Sandbox({ ...SECRETS, ...HANDED, SVC_CLIENT_SECRET: "" });
  sandbox.isFirstUseOwn = true;
  data = join(sandbox.work, "open/data");
  mkdirSync(data, { recursive: true, mode: 0o755 });
  const before = process.umask(0);
  const start = ["server", "start", "--detach", "--port", "0", "--json", "--data-dir", data];
  const started = await sandbox.json<{ url: string; pid: number }>(start);
  sandbox.url = started.url;
  server = started.pid;
  const project = await sandbox.write(PROJECT);
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  process.umask(before);
  expect(applied).toMatchObject({ exitCode: 0 });
  headers = await sandbox.authorized();
});
afterAll(async () => {
  if (!isPosix) return;
  await sandbox.svc(["server", "stop", "--data-dir", data]);
  await sandbox[Symbol.asyncDispose]();
});

async function query(...outputs: string[]): Promise<Answer> {
  const body = JSON.stringify({ inputs: { "item.id": 4 }, outputs: outputs.map((name) => `item.${name}`) });
  const response = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body });
  return (await response.json()) as Answer;
}

async function value(output: string): Promise<unknown> {
  const { data: [first] = [], errors } = await query(output);
  expect(errors).toBeUndefined();
  return first?.value;
}

async function expectServes(): Promise<void> {
  expect(await value("twice")).toBe(8);
  expect(await fetch(`${sandbox.url}/health`).then((response) => response.json())).toMatchObject({ status: "ok", pid: server });
}

/** Processes whose environment names this sandbox, by their pid. Only Linux tells. */
function processes(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").includes(sandbox.root);
      return isOurs && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

test.skipIf(!isPosix)("its parent is not the server, and killing that ends this worker and nothing else", async () => {
  expect(await value("parent")).not.toBe(server);
  for (let round = 0; round < 2; round++) {
    const { errors } = await query("kills");
    expect(errors).toEqual([
      expect.objectContaining({
        code: "RESOLVER_FAILED",
        message: expect.stringMatching(/the worker was killed by SIGKILL.*while it ran resolver 'features.kills'/),
      }),
    ]);
    await expectServes();
  }
  expect((await query("kills_later")).errors).toHaveLength(1);
  await expectServes();
});

test.skipIf(!isPosix)("forks that leave its process group do not hold the server up", async () => {
  expect((await query("spreads")).errors?.[0]?.code).toBe("RESOLVER_TIMED_OUT");
  await expectServes();
});

test.skipIf(!isPosix)("it sees what Python needs and what was handed on, and no other variable of the server", async () => {
  const names = JSON.parse(String(await value("names"))) as string[];
  for (const name of ["PATH", "HOME", "LANG", "AWS_REGION", "MODEL_NAME", "MODEL_PATH", "TARGET_ROOT", "SVC_DEPLOYMENT_ID"])
    expect(names).toContain(name);
  for (const name of [...Object.keys(SECRETS), "SVC_WORKER_ENV", "SVC_NO_UPDATE_CHECK"]) expect(names).not.toContain(name);
  const { errors } = await query("asks");
  expect(errors?.[0]?.message).toContain("KeyError: 'NOT_HANDED_ON' is not in the environment");
  expect(errors?.[0]?.message).toContain("svc secret set NOT_HANDED_ON");
});

test.skipIf(!isPosix)("with umask 000 and an open data directory, nothing that was written is open to others", async () => {
  // What Python copies into a virtual environment keeps its rights; it is closed with the folder of
  // that environment.
  await value("files");
  expect(statSync(data).mode & 0o777).toBe(0o755);
  const below = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isSymbolicLink())
      .map((entry) => join(entry.parentPath, entry.name));
  const paths = [...below(data), ...below(join(sandbox.home, ".svc")), ...below(join(sandbox.home, ".config"))];
  for (const part of ["made-by-child", "made-by-resolver", "/venvs/", "__pycache__", "meta.db", "server.log", "/deployments/"])
    expect([part, paths.some((path) => path.includes(part))]).toEqual([part, true]);
  const isCopied = (path: string) => /\/venvs\/[^/]+\/./.test(path);
  expect(paths.filter((path) => (statSync(path).mode & 0o077) !== 0 && !isCopied(path))).toEqual([]);
});

test.skipIf(process.platform !== "linux")("a server that is killed leaves no worker behind, whatever it is busy with", async () => {
  await using other = new Sandbox();
  other.isFirstUseOwn = true;
  const project = await other.write(PROJECT);
  await other.startServer();
  expect(await other.svc(["apply", "--force", "--await"], { cwd: project })).toMatchObject({ exitCode: 0 });
  const { pid } = (await (await fetch(`${other.url}/health`)).json()) as { pid: number };
  const body = JSON.stringify({ inputs: { "item.id": 4 }, outputs: ["item.loops"] });
  const asked = fetch(`${other.url}/v1/query/online`, { method: "POST", headers: await other.authorized(), body }).catch(() => undefined);
  await eventually(() => looping(other.home), "the loop");
  const ours = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name) && environOf(name).includes(other.root));
  expect(ours().length).toBeGreaterThan(1);
  process.kill(pid, "SIGKILL");
  await asked;
  await eventually(() => ours().length === 0, "the end of all processes");
  other.url = "";
});

/** Whether the resolver that loops has begun, of a server that keeps its files below a folder. */
function looping(folder: string): boolean {
  return new Bun.Glob("**/loop-began").scanSync({ cwd: folder, dot: true }).next().value !== undefined;
}

function environOf(pid: string): string {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) ? "" : readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

test.skipIf(!isPosix)("a stop does not wait for a resolver that loops, and ends it", async () => {
  const asked = query("loops").catch(() => undefined);
  await eventually(() => looping(data), "the loop");
  expect(await sandbox.json(["server", "stop", "--data-dir", data])).toMatchObject({ stopped: true, pid: server });
  await asked;
  await eventually(() => processes().length === 0, "the end of all processes");
});

test("a list of variables that cannot be meant is refused at the start", async () => {
  await using other = new Sandbox();
  other.isFirstUseOwn = true;
  for (const wrong of ["A,B C", "*", "1X", "A=B"]) {
    const started = await other.svc(["server", "start", "--port", "0"], { env: { SVC_WORKER_ENV: wrong } });
    expect([started.exitCode, started.stderr]).toEqual([1, expect.stringContaining("SVC_WORKER_ENV has the entry")]);
  }
});
