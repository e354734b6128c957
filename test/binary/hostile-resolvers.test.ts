/**
 * Resolvers that hang, flood, crash and breed, and values at the limits: each failure names
 * resolver, file and line, other queries are answered meanwhile, the server is healthy afterwards,
 * and nothing that was started outlives it.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

setDefaultTimeout(300_000);

const FEATURES = `import ctypes
import hashlib
import os
import subprocess
import threading
import time

from svc import SQLiteSource, _, online
from svc.features import features

shop = SQLiteSource(name="shop")


@features
class Item:
    id: int
    x: float
    n: int
    digest: str
    twice: int = _.id * 2
    price: int
    loops: int
    swallows: int
    storms: int
    eats: int
    floods: int
    floods_raw: int
    leaves: int
    crashes: int
    x_back: float
    x_new: float
    x_int: int
    n_back: int
    n_more: int
    exits: int
    interrupts: int
    closes: int
    threads: int
    forks: int
    recurses: int
    says: int
    grows: str
    prints: int


@online
def digest(id: Item.id) -> Item.digest:
    return hashlib.sha256(str(id).encode()).hexdigest()[:8]


@online(timeout="400ms")
def loops(id: Item.id) -> Item.loops:
    while True:
        pass


@online(timeout="400ms")
def swallows(id: Item.id) -> Item.swallows:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


@online(timeout="1500ms")
def storms(id: Item.id) -> Item.storms:
    for _number in range(40):
        subprocess.Popen(["sleep", "600"])
    for _number in range(20):
        if os.fork() == 0:
            print("born")
            return -1
    time.sleep(600)
    return 0


@online
def eats(id: Item.id) -> Item.eats:
    return len(bytearray(8 * 1024**3))


@online(timeout="1500ms")
def floods(id: Item.id) -> Item.floods:
    while True:
        print("flood " * 200)


@online(timeout="1500ms")
def floods_raw(id: Item.id) -> Item.floods_raw:
    while True:
        os.write(2, b"flood\\n" * 10_000)


@online
def leaves(id: Item.id) -> Item.leaves:
    os._exit(3)


@online
def crashes(id: Item.id) -> Item.crashes:
    return ctypes.string_at(0)


@online
def exits(id: Item.id) -> Item.exits:
    raise SystemExit(0)


@online
def interrupts(id: Item.id) -> Item.interrupts:
    raise KeyboardInterrupt


@online(timeout="5s")
def closes(id: Item.id) -> Item.closes:
    os.closerange(0, 256)
    return 1


@online
def threads(id: Item.id) -> Item.threads:
    for _number in range(50):
        threading.Thread(target=time.sleep, args=(600,)).start()
    return id


@online
def forks(id: Item.id) -> Item.forks:
    return -1 if os.fork() == 0 else id


@online
def recurses(id: Item.id) -> Item.recurses:
    return recurses(id)


@online
def says(id: Item.id) -> Item.says:
    raise ValueError("x" * 10_000_000)


@online(timeout="60s")
def grows(id: Item.id) -> Item.grows:
    return "x" * (1024**3 // 4)


@online(timeout="60s")
def prints(id: Item.id) -> Item.prints:
    for _number in range(30):
        os.write(1, b"x" * 1_000_000)
    return id


@online
def x_back(x: Item.x) -> Item.x_back:
    return float(repr(x))


@online
def x_new(id: Item.id) -> Item.x_new:
    return float(("nan", "inf", "-inf")[id])


@online
def x_int(id: Item.id) -> Item.x_int:
    return float("nan")


@online
def n_back(n: Item.n) -> Item.n_back:
    return int(str(n))


@online
def n_more(n: Item.n) -> Item.n_more:
    return int(str(n)) + 1
`;
const SELECT = "select price from item where id = ${item.id}";
const PRICE = `-- resolves: Item\n-- source: shop\n-- count: one\n${SELECT}\n`;
const YAML = "project: hostile\nenvironments:\n  default: {}\n";

/** `features.py` with the line of a resolver's decorator. */
const place = (name: string) => `features.py:${FEATURES.split("\n").findIndex((line) => line.startsWith(`def ${name}(`))}`;
/** `features.py` with the line of a resolver's `def`. */
const definition = (name: string) => lineWith(`def ${name}(`);
/** `features.py` with the only line that has a text. */
const lineWith = (text: string) => `features.py:${FEATURES.split("\n").findIndex((line) => line.includes(text)) + 1}`;

/** Rows of the bulk query. */
const BULK_ROWS = 1_000_000;

let sandbox: Sandbox;
let project: string;
let shop: string;
let headers: Record<string, string>;

interface Answer {
  readonly data: readonly { readonly field: string; readonly value: unknown }[];
  readonly errors?: readonly { readonly code: string; readonly message: string; readonly exception?: object }[];
}

beforeAll(async () => {
  sandbox = new Sandbox();
  sandbox.isFirstUseOwn = true;
  shop = join(sandbox.root, "shop.db");
  writeShop(10);
  await sandbox.startServer({ SVC_WORKER_MEMORY: "2GiB", SHOP_SQLITE_PATH: shop });
  project = await sandbox.write({ "svc.yaml": YAML, "features.py": FEATURES, "price.svc.sql": PRICE });
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  expect(applied.stderr).not.toContain("Error");
  expect(applied.exitCode).toBe(0);
  headers = await sandbox.authorized();
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

/** The file as other programs write it: at once, under its name. */
function writeShop(price: number): void {
  const next = `${shop}.next`;
  const db = new Database(next);
  db.run("create table item (id integer primary key, price integer not null)");
  db.run("insert into item values (1, ?)", [price]);
  db.close();
  renameSync(next, shop);
}

async function post(path: string, body: string): Promise<string> {
  return (await fetch(`${sandbox.url}/v1/query/${path}`, { method: "POST", headers, body })).text();
}

async function query(inputs: Record<string, unknown>, outputs: readonly string[]): Promise<Answer> {
  return JSON.parse(await post("online", JSON.stringify({ inputs, outputs }))) as Answer;
}

const sha = (id: number) => new Bun.CryptoHasher("sha256").update(String(id)).digest("hex").slice(0, 8);

/**
 * Asks for other features again and again until `work` is done; each must be right, and answered.
 */
async function meanwhile<T>(work: Promise<T>): Promise<T> {
  let working = true;
  const done = work.finally(() => {
    working = false;
  });
  for (let id = 0; working; id++) {
    const { data, errors } = await query({ "item.id": id }, ["item.digest", "item.twice"]);
    expect([errors, ...data.map(({ value }) => value)]).toEqual([undefined, sha(id), id * 2]);
    await Bun.sleep(10);
  }
  return done;
}

/** Runs a resolver beside other queries. The healthy one of the same query must be answered too. */
async function failureOf(name: string, at = place(name)): Promise<{ code: string; message: string }> {
  const { data, errors } = await meanwhile(query({ "item.id": 7 }, [`item.${name}`, "item.digest"]));
  expect(data.find(({ field }) => field === "item.digest")?.value).toBe(sha(7));
  expect(errors).toHaveLength(1);
  const [error] = errors ?? [];
  expect(error?.message).toContain(`features.${name}`);
  expect(error?.message).toContain(at);
  await expectHealthy();
  return { code: error?.code ?? "", message: error?.message ?? "" };
}

async function expectHealthy(): Promise<void> {
  const { exitCode, stdout, stderr } = await sandbox.svc(["healthcheck"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).not.toContain("FAILED");
}

/**
 * Command lines of running processes of this sandbox, found by their environment. Only Linux tells.
 */
function processes(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(sandbox.root)) return [];
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()].filter((line) => line !== "");
    } catch {
      return [];
    }
  });
}

test("an endless loop ends at its deadline", async () => {
  expect(await failureOf("loops")).toEqual({
    code: "RESOLVER_TIMED_OUT",
    message: `resolver 'features.loops' (${place("loops")}) did not answer within 400 ms`,
  });
});

test("so does one that catches every exception", async () => {
  expect((await failureOf("swallows")).code).toBe("RESOLVER_TIMED_OUT");
});

test("a storm of child processes ends with the call that made it", async () => {
  const storm = failureOf("storms");
  if (process.platform === "linux") await eventually(() => processes().includes("sleep 600"), "the storm");
  expect((await storm).code).toBe("RESOLVER_TIMED_OUT");
  await eventually(() => !processes().includes("sleep 600"), "the end of the storm");
});

test("an allocation beyond the limit is a MemoryError", async () => {
  const { code, message } = await failureOf("eats", lineWith("bytearray"));
  expect(code).toBe("RESOLVER_FAILED");
  expect(message).toContain("MemoryError");
});

test("a flood of output, through Python and past it, ends at its deadline", async () => {
  const [printed, raw] = await Promise.all([failureOf("floods"), failureOf("floods_raw")]);
  expect([printed.code, raw.code]).toEqual(["RESOLVER_TIMED_OUT", "RESOLVER_TIMED_OUT"]);
});

test("a resolver that ends its process again and again is stopped, and no other", async () => {
  for (let round = 0; round < 3; round++) expect((await failureOf("leaves")).message).toContain("the worker exited with code 3");
  for (let round = 0; round < 3; round++)
    expect((await failureOf("leaves")).message).toContain("it crashed 3 Python workers within a minute");
});

test("a segmentation fault names the signal and the line", async () => {
  const { message } = await failureOf("crashes");
  expect(message).toContain("was killed by SIGSEGV");
  expect(message).toContain(lineWith("string_at"));
});

test.each(["exits", "interrupts"])("one that %s raises what nothing but itself is to end for", async (name) => {
  const { code, message } = await failureOf(name, "features.py");
  expect(code).toBe("RESOLVER_FAILED");
  expect(message).toMatch(/SystemExit|KeyboardInterrupt|exited with code/);
});

test("one that closes all of its worker's files fails, and the next call has another worker", async () => {
  expect((await failureOf("closes", "features.py")).code).toMatch(/^RESOLVER_(FAILED|TIMED_OUT|CRASHED)$/);
});

test("a recursion without end is its exception", async () => {
  const { code, message } = await failureOf("recurses", "features.py");
  expect([code, message]).toEqual(["RESOLVER_FAILED", expect.stringContaining("RecursionError")]);
});

test("an exception of ten megabytes is cut", async () => {
  const { code, message } = await failureOf("says", "features.py");
  expect([code, message.length < 20_000]).toEqual(["RESOLVER_FAILED", true]);
});

test("threads and forks that go on are no harm: the value is its caller's", async () => {
  for (const name of ["threads", "forks"]) {
    const { data, errors } = await meanwhile(query({ "item.id": 5 }, [`item.${name}`, "item.digest"]));
    expect([name, errors, data.map(({ value }) => value)]).toEqual([name, undefined, [5, sha(5)]]);
    await expectHealthy();
  }
});

test("a value of 256 MB is refused", async () => {
  expect((await failureOf("grows", "features.grows")).message).toMatch(/MemoryError|too large|larger than/);
}, 300_000);

test("30 MB that a resolver prints past Python are cut, and it is answered", async () => {
  const { data, errors } = await meanwhile(query({ "item.id": 5 }, ["item.prints", "item.digest"]));
  expect([errors, data.map(({ value }) => value)]).toEqual([undefined, [5, sha(5)]]);
  expect(statSync(join(sandbox.home, ".svc/data/server.log")).size).toBeLessThan(50 * 1024 ** 2);
  await expectHealthy();
}, 300_000);

test("NaN and infinities go in and out as they are, and are no integers", async () => {
  const shown = async (args: string[]) => {
    const { stdout, stderr } = await sandbox.svc(["query", ...args], { cwd: project });
    return stdout + stderr;
  };
  for (const [given, back] of Object.entries({ NaN: "NaN", Infinity: "inf", "-Infinity": "-inf" }))
    expect(await shown(["--in", `item.x=${given}`, "--out", "item.x_back"])).toMatch(new RegExp(`x_back +- +${back}\n`));
  for (const [id, back] of ["NaN", "inf", "-inf"].entries())
    expect(await shown(["--in", `item.id=${id}`, "--out", "item.x_new"])).toMatch(new RegExp(`x_new +- +${back}\n`));
  const { message } = await failureOf("x_int", definition("x_int"));
  expect(message).toBe(`item.x_int: expected int, got float NaN from features.x_int (${definition("x_int")})`);
});

test("integers are exact to the limits of 64 bits, and beyond them an error", async () => {
  const ask = (n: string, outputs: string) => post("online", `{"inputs": {"item.n": ${n}}, "outputs": [${outputs}]}`);
  for (const n of ["9223372036854775807", "-9223372036854775808"])
    expect(await ask(n, '"item.n_back"')).toMatch(new RegExp(`"value": ?"?${n}"?[,}]`));
  const over = JSON.parse(await ask("9223372036854775807", '"item.n_more"')) as Answer;
  expect(over.errors?.[0]).toMatchObject({ code: "VALIDATION_FAILED" });
  expect(over.errors?.[0]?.message).toContain(`9223372036854775808, which is out of range from features.n_more (${definition("n_more")})`);
  for (const n of ["9223372036854775808", "-9223372036854775809"])
    expect((JSON.parse(await ask(n, '"item.n_back"')) as Answer).errors?.[0]?.message).toContain(
      `item.n: expected int (64 bits), got int ${n}`,
    );
});

test("a bulk query of a million rows is answered in bounded memory", async () => {
  const ids = Array.from({ length: BULK_ROWS }, (_, id) => id);
  const body = JSON.stringify({ inputs: { "item.id": ids }, outputs: ["item.twice", "item.digest"] });
  const text = await meanwhile(post("bulk", body));
  const { data, errors } = JSON.parse(text) as { data: Record<string, unknown[]>; errors?: unknown };
  expect(errors).toBeUndefined();
  const twice = data["item.twice"] ?? [];
  expect(twice.length).toBe(BULK_ROWS);
  expect(twice.findIndex((value, id) => value !== id * 2)).toBe(-1);
  const digests = data["item.digest"] ?? [];
  expect([digests.length, digests[0], digests[BULK_ROWS - 1]]).toEqual([BULK_ROWS, sha(0), sha(BULK_ROWS - 1)]);
  const { pid } = JSON.parse(readFileSync(join(sandbox.home, ".svc/data/server.json"), "utf8")) as { pid: number };
  if (process.platform === "linux") {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    expect(Number(peak)).toBeLessThan(2 * 1024 ** 2);
  }
  await expectHealthy();
}, 300_000);

test("a SQLite file that goes away is an error that names it, and its return is seen", async () => {
  const price = () => query({ "item.id": 1 }, ["item.price", "item.digest"]);
  expect((await price()).data[0]?.value).toBe(10);
  rmSync(shop);
  await eventually(async () => (await price()).errors !== undefined, "the notice");
  for (let round = 0; round < 5; round++) {
    const { data, errors } = await meanwhile(price());
    expect(data.find(({ field }) => field === "item.digest")?.value).toBe(sha(1));
    expect(errors?.[0]).toMatchObject({
      message: `price: source 'shop': there is no file ${shop}`,
      exception: { file: "price.svc.sql", line: PRICE.split("\n").indexOf(SELECT) + 1 },
    });
  }
  await expectHealthy();
  writeShop(20);
  expect((await price()).data.find(({ field }) => field === "item.price")?.value).toBe(20);
});

test("class names that are one in snake_case, and two total resolvers, are refused where they stand", async () => {
  const classes =
    "from svc.features import features\n\n@features\nclass HTTPCall:\n    id: int\n\n@features\nclass HttpCall:\n    id: int\n";
  const same = await sandbox.write({ "svc.yaml": YAML, "features.py": classes }, "same-name");
  const sql = "-- resolves: Item\n-- source: shop\n-- total: true\nselect id, price from item\n";
  const totals = await sandbox.write(
    { "svc.yaml": YAML, "features.py": FEATURES, "price.svc.sql": sql, "cost.svc.sql": sql },
    "two-totals",
  );
  const refused = async (cwd: string, parts: readonly string[]) => {
    const { exitCode, stdout, stderr } = await sandbox.svc(["apply", "--force", "--await"], { cwd });
    expect(exitCode).toBe(1);
    for (const part of parts) expect(stdout + stderr).toContain(part);
  };
  await Promise.all([
    refused(same, ["Error[116]", "HTTPCall and HttpCall both have the namespace 'http_call'", "features.py:8:"]),
    refused(totals, ["Error[162]", "cost and price both compute item.price", "price.svc.sql:"]),
  ]);
  expect((await query({ "item.id": 3 }, ["item.digest"])).data[0]?.value).toBe(sha(3));
});

test("a memory limit that is none is refused before anything starts", async () => {
  for (const size of ["lots", "12", "1MiB"]) {
    const { exitCode, stderr } = await sandbox.svc(["server", "start", "--port", "0", "--data-dir", join(sandbox.root, "other")], {
      env: { SVC_WORKER_MEMORY: size },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`SVC_WORKER_MEMORY=${size}`);
  }
  expect((await sandbox.svc(["server", "start", "--help"])).stdout).toContain("SVC_WORKER_MEMORY");
});

test("nothing is left behind when the server stops", async () => {
  await expectHealthy();
  await sandbox.svc(["server", "stop"]);
  await eventually(() => processes().length === 0, `the end of every process (${processes().join(" | ")})`);
});
