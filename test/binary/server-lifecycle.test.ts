/**
 * The compiled server's beginnings and ends: killed in its work, started many times at once,
 * deployed to from all sides, and asked to stop while it answers.
 */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { isAlive } from "../harness/is-alive.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { runs, seed } from "../harness/seed.ts";
import { seeded } from "../harness/wire-fuzz.ts";

/** Bounded by the time that the test has, also in long runs. */
const KILLS = runs(6, 30);
const WAIT_MS = 180_000;

const YAML = "project: life\nenvironments:\n  default: {}\n";
/** Where a resolver that sleeps says that it began. */
const began = () => join(sandbox.root, "began");
const features = (generation: number) => `import time

from svc import _, online
from svc.features import feature, features


@features
class User:
    id: int
    kept: str = feature(max_staleness="1d")
    slow: str
    generation: int = _.id * 0 + ${generation}


@online
def keep(id: User.id) -> User.kept:
    return f"user {id}"


@online
def sleeps(id: User.id) -> User.slow:
    open(${JSON.stringify(began())}, "w").close()
    time.sleep(1.5)
    return f"slept {id}"
`;

let sandbox: Sandbox;
let project: string;
beforeEach(async () => {
  sandbox = new Sandbox();
  project = await sandbox.write({ "svc.yaml": YAML, "features.py": features(0) });
});
afterEach(() => sandbox[Symbol.asyncDispose]());

const data = () => join(sandbox.home, ".svc/data");
const note = () => JSON.parse(readFileSync(join(data(), "server.json"), "utf8")) as { pid: number; url: string };
/** Processes of this sandbox, found by their environment. */
function processes(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(sandbox.root) && readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
      } catch {
        return false;
      }
    })
    .map(Number);
}
const apply = (words: readonly string[] = []) => sandbox.svc(["apply", "--force", "--await", ...words], { cwd: project });

interface Answer {
  readonly data: readonly { readonly field: string; readonly value: unknown }[];
}
async function ask(headers: Record<string, string>, id: number, outputs: readonly string[]): Promise<unknown[]> {
  const body = JSON.stringify({ inputs: { "user.id": id }, outputs });
  const response = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body });
  return ((await response.json()) as Answer).data.map(({ value }) => value);
}

test("killed again and again while it is deployed to and queried: what was acknowledged is live, no graph is half, every file is whole, no worker is left", async () => {
  const random = seeded(seed);
  await sandbox.startServer();
  expect((await apply()).exitCode).toBe(0);
  let headers = await sandbox.authorized();
  let acknowledged = 0;
  let begun = 0;
  for (let round = 0; round < KILLS; round++) {
    let isOver = false;
    const deploying = (async () => {
      while (!isOver) {
        const generation = ++begun;
        await Bun.write(join(project, "features.py"), features(generation));
        if ((await apply()).exitCode === 0) acknowledged = generation;
      }
    })();
    const querying = (async () => {
      for (let id = 0; !isOver; id++)
        await ask(headers, id, ["user.kept", "user.generation"]).then(
          ([kept, generation]) => {
            if (kept !== undefined && kept !== null) expect(kept).toBe(`user ${id}`);
            if (typeof generation === "number") expect(generation).toBeLessThanOrEqual(begun);
          },
          () => undefined,
        );
    })();
    await Bun.sleep(200 + random() * 2_500);
    isOver = true;
    const { pid } = note();
    process.kill(pid, "SIGKILL");
    await eventually(() => !isAlive(pid), "the end of the server");
    await Promise.all([deploying, querying]);
    await eventually(() => processes().length === 0, `the end of its workers (${processes().join()})`);
    for (const name of readdirSync(data()).filter((file) => file.endsWith(".db"))) {
      const db = new Database(join(data(), name));
      expect([name, db.query("pragma integrity_check").all()]).toEqual([name, [{ integrity_check: "ok" }]]);
      db.close();
    }
    await sandbox.startServer();
    headers = await sandbox.authorized();
    const [kept, generation] = await ask(headers, 3, ["user.kept", "user.generation"]);
    expect(kept).toBe("user 3");
    expect(generation).toBeGreaterThanOrEqual(acknowledged);
    expect(generation).toBeLessThanOrEqual(begun);
  }
  await Bun.write(join(project, "features.py"), features(++begun));
  expect((await apply()).exitCode).toBe(0);
  expect(await ask(headers, 4, ["user.generation"])).toEqual([begun]);
}, 300_000);

test("twenty deployments of one branch at once all come to an end that is said, and one of them is live", async () => {
  await sandbox.startServer();
  expect((await apply()).exitCode).toBe(0);
  const folders = await Promise.all(
    Array.from({ length: 20 }, (_, i) => sandbox.write({ "svc.yaml": YAML, "features.py": features(i + 1) }, `project-${i}`)),
  );
  const outcomes = await Promise.all(folders.map((cwd) => sandbox.svc(["apply", "--force", "--await", "--branch", "one"], { cwd })));
  for (const { exitCode, stderr } of outcomes) expect([exitCode, stderr.match(/Error.*/)]).toEqual([0, null]);
  const headers = { ...(await sandbox.authorized()), "svc-branch": "one" };
  const [generation] = await ask(headers, 1, ["user.generation"]);
  expect(generation).toBeOneOf(Array.from({ length: 20 }, (_, i) => i + 1));
  const branches = await sandbox.json<{ name: string }[]>(["branch", "list"]);
  expect(JSON.stringify(branches).match(/"one"/g)).toHaveLength(1);
}, 300_000);

test("of six starts on one folder at once one wins, and the others say so and harm nothing", async () => {
  const starts = await Promise.all(Array.from({ length: 6 }, () => sandbox.svc(["server", "start", "--detach", "--port", "0", "--json"])));
  const urls = starts.filter(({ exitCode }) => exitCode === 0).map(({ stdout }) => (JSON.parse(stdout) as { url: string }).url);
  expect(urls).toHaveLength(1);
  sandbox.url = urls[0] ?? "";
  for (const { exitCode, stderr } of starts.filter(({ exitCode }) => exitCode !== 0))
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/held|runs already|starts already|locked/)]);
  expect(note().url).toBe(sandbox.url);
  expect((await fetch(`${sandbox.url}/health`)).status).toBe(200);
  expect((await apply()).exitCode).toBe(0);
  if (process.platform === "linux") {
    const servers = processes().filter((pid) => /\0server\0start\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")));
    expect(servers).toEqual([note().pid]);
  }
}, 300_000);

describe("a server that is asked to end", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "by %s answers what it was asked, and leaves no note",
    async (signal) => {
      await sandbox.startServer();
      expect((await apply()).exitCode).toBe(0);
      const headers = await sandbox.authorized();
      expect(await ask(headers, 0, ["user.kept"])).toEqual(["user 0"]);
      const { pid } = note();
      const running = [1, 2, 3, 4].map((id) => ask(headers, id, ["user.slow"]));
      await eventually(() => existsSync(began()), "the first call");
      await Bun.sleep(300);
      process.kill(pid, signal);
      expect(await Promise.all(running)).toEqual([1, 2, 3, 4].map((id) => [`slept ${id}`]));
      await eventually(() => !isAlive(pid), "the end of the server");
      expect(existsSync(join(data(), "server.json"))).toBe(false);
      await eventually(() => processes().length === 0, "the end of its workers");
    },
    300_000,
  );

  test("by the pid of a stale note ends nobody who is innocent", async () => {
    await sandbox.startServer();
    const { pid } = note();
    const stale = readFileSync(join(data(), "server.json"), "utf8");
    process.kill(pid, "SIGKILL");
    await eventually(() => !isAlive(pid), "the end of the server");
    const innocent = Bun.spawn(["sleep", "600"]);
    try {
      await Bun.write(join(data(), "server.json"), stale.replace(String(pid), String(innocent.pid)));
      for (const words of [["stop"], ["status"]]) await sandbox.svc(["server", ...words]);
      await sandbox.startServer();
      expect(note().pid).not.toBe(innocent.pid);
      await sandbox.svc(["server", "stop"]);
      expect(isAlive(innocent.pid)).toBe(true);
    } finally {
      innocent.kill();
    }
  }, 300_000);
});

test("files of deployments, objects and environments that are damaged: the right answer or an error, and never a crash", async () => {
  await sandbox.startServer();
  expect((await apply()).exitCode).toBe(0);
  await sandbox.svc(["server", "stop"]);
  const whole = join(sandbox.root, "whole");
  cpSync(data(), whole, { recursive: true });
  const damages: Readonly<Record<string, (path: string) => void>> = {
    empty: (path) => truncateSync(path, 0),
    garbage: (path) => writeFileSync(path, Buffer.alloc(3_000, "x")),
    missing: (path) => rmSync(path),
  };
  const folders = readdirSync(whole, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name)).toContain("deployments");
  for (const { name: folder } of folders)
    for (const [damage, work] of Object.entries(damages)) {
      rmSync(data(), { recursive: true });
      cpSync(whole, data(), { recursive: true });
      for (const entry of readdirSync(join(data(), folder), { recursive: true, withFileTypes: true }))
        if (entry.isFile()) work(join(entry.parentPath, entry.name));
      const { exitCode, stdout, stderr } = await sandbox.svc(["server", "start", "--detach", "--port", "0", "--json"], {
        timeoutMs: WAIT_MS,
      });
      expect([folder, damage, exitCode === 0 || exitCode === 1, stderr.match(/\n\s+at |panic|fault in svc/)]).toEqual([
        folder,
        damage,
        true,
        null,
      ]);
      if (exitCode !== 0) {
        expect([folder, damage, stderr]).toEqual([folder, damage, expect.stringContaining(data())]);
        continue;
      }
      sandbox.url = (JSON.parse(stdout) as { url: string }).url;
      const said = await sandbox.svc(["query", "--in", "user.id=3", "--out", "user.kept", "--staleness", "user.kept=0s"], {
        timeoutMs: 300_000,
      });
      expect([
        folder,
        damage,
        said.exitCode === 0 ? said.stdout.includes("user 3") : /Error|error|✗|failed/i.test(said.stderr + said.stdout),
      ]).toEqual([folder, damage, true]);
      expect((await fetch(`${sandbox.url}/health`)).status).toBe(200);
      await sandbox.svc(["server", "stop"]);
    }
}, 300_000);
