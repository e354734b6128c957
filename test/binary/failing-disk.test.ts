/**
 * Writes, flushes and renames that fail at the k-th call, by strace: in a command that keeps a
 * file, in a start of the server, and in a server that is deployed to. Whatever fails says so; what
 * was there before is readable afterwards, and nothing is applied by half. The spread of the calls
 * that fail is fixed.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { runs } from "../harness/seed.ts";

setDefaultTimeout(300_000);

const isAbsent = process.platform !== "linux" || lacksProgram("strace");

/** How many calls of each server are failed. */
const CASES = runs(6, 1_000);
const LAST_CALL = 200;
const CALLS = { writing: "pwrite64", flushing: "fsync,fdatasync", renaming: "rename,renameat,renameat2", growing: "ftruncate" } as const;
const ERRORS = ["EIO", "ENOSPC"] as const;

/** What no user may see. */
const BROKEN = /\n\s+at .*[(:]\d+:\d+|fault in svc|panic|has crashed|TypeError|RangeError/;

const features = (answer: string) => `from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    kept: str = feature(max_staleness="1d")
    answer: str


@online
def kept(id: User.id) -> User.kept:
    return str(float(id))


@online
def answer(id: User.id) -> User.answer:
    return "${answer}"
`;
const project = (answer: string) => ({ "svc.yaml": "project: failing\nenvironments:\n  default: {}\n", "features.py": features(answer) });

/** Words before a command whose k-th call of a kind fails. */
function failing(calls: string, error: string, nth: number): string[] {
  return [
    "strace",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-o",
    "/dev/null",
    "-e",
    `trace=${calls}`,
    "-e",
    `inject=${calls}:error=${error}:when=${nth}`,
  ];
}

/** Numbers from 1 to `LAST_CALL`, denser at the low end where most of the calls are. */
const spread = (count: number): number[] => [
  ...new Set(Array.from({ length: count }, (_, at) => Math.round(LAST_CALL ** ((at + 0.5) / count)))),
];

/** A home that was used: logged in, with one deployment that answers "old" and one stored value. */
let used: Sandbox;
let newer: string;
beforeAll(async () => {
  if (isAbsent) return;
  used = new Sandbox();
  used.isFirstUseOwn = true;
  await used.startServer();
  expect(await used.svc(["apply", "--force", "--await"], { cwd: await used.write(project("old")) })).toMatchObject({ exitCode: 0 });
  newer = await used.write(project("new"), "newer");
  expect(await answersOf(used)).toEqual(["3.0", "old"]);
  await used.svc(["server", "stop"]);
  used.url = "";
});
/** Servers that run, so that none is left when a test fails. */
const running = new Set<number>();
afterAll(async () => {
  for (const pid of running) process.kill(pid, "SIGKILL");
  await used?.[Symbol.asyncDispose]();
});

async function answersOf(sandbox: Sandbox): Promise<unknown[]> {
  const query = ["query", "--in", "user.id=3", "--out", "user.kept", "--out", "user.answer"];
  return (await sandbox.json<{ data: { value: unknown }[] }>(query)).data.map(({ value }) => value);
}

function copyOf(sandbox: Sandbox): Sandbox {
  const copy = new Sandbox();
  copy.isFirstUseOwn = true;
  cpSync(sandbox.home, copy.home, { recursive: true });
  return copy;
}

/**
 * Starts the server in the foreground behind a wrapper; gives its address, or what it said when it
 * ended.
 */
async function startBehind(sandbox: Sandbox, wrapper: readonly string[]) {
  const child = Bun.spawn([...wrapper, sandbox.binary, "server", "start", "--port", "0", "--json"], {
    cwd: sandbox.work,
    env: sandbox.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    if (said.includes("\n")) break;
  }
  const url = said === "" ? undefined : (JSON.parse(said) as { url: string; pid: number });
  if (url) running.add(url.pid);
  return {
    started: url,
    async end(): Promise<{ exitCode: number; stderr: string }> {
      if (url) process.kill(url.pid, "SIGTERM");
      const [exitCode, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()]);
      if (url) running.delete(url.pid);
      return { exitCode, stderr };
    },
  };
}

function integrityOf(sandbox: Sandbox): unknown[] {
  const data = join(sandbox.home, ".svc/data");
  return readdirSync(data)
    .filter((name) => name.endsWith(".db"))
    .flatMap((name) => {
      const db = new Database(join(data, name));
      const said = db.query<{ integrity_check: string }, []>("pragma integrity_check").all();
      db.close();
      return said.map(({ integrity_check }) => `${name}: ${integrity_check}`);
    })
    .filter((said) => !said.endsWith(": ok"));
}

describe.skipIf(isAbsent)("a command that keeps a file", () => {
  const { flushing, renaming } = CALLS;
  test.each(Object.entries({ flushing, renaming }))(
    "%s fails: the config is the old one or the new one, and credentials serve",
    async (_, calls) => {
      await using sandbox = copyOf(used);
      await sandbox.startServer();
      const config = join(sandbox.home, ".config/svc.yml");
      const old = readFileSync(config, "utf8").replace(/^.*activeEnvironment.*\n/m, "");
      let refused = 0;
      for (let nth = 1, isMet = true; isMet && nth <= 20; nth++) {
        await Bun.write(config, old);
        rmSync(join(sandbox.home, ".svc/cache"), { recursive: true, force: true });
        const done = await sandbox.svc(["environment", "default"], { wrapper: failing(calls, ERRORS[nth % 2] ?? "EIO", nth) });
        const isChanged = readFileSync(config, "utf8") !== old;
        const said = { nth, exitCode: done.exitCode, stderr: done.stderr, isChanged };
        expect([said, BROKEN.test(done.stderr)]).toEqual([said, false]);
        if (done.exitCode === 0) expect([said, isChanged]).toEqual([said, true]);
        else expect([said, /no space left on the device|input\/output error/.test(done.stderr)]).toEqual([said, true]);
        if (isChanged) expect(readFileSync(config, "utf8")).toContain("activeEnvironment");
        if (done.exitCode === 0 && done.stderr === "" && nth > 4) isMet = false;
        if (done.exitCode !== 0) refused++;
        expect([nth, await sandbox.svc(["user"])]).toEqual([nth, expect.objectContaining({ exitCode: 0 })]);
      }
      expect(refused).toBeGreaterThan(0);
      expect(readdirSync(join(sandbox.home, ".config")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    },
  );
});

describe.skipIf(isAbsent)("a start of the server", () => {
  test.each(Object.entries(CALLS))("%s fails: it starts, or says what failed where; the next start is whole", async (_, calls) => {
    for (const [at, nth] of spread(CASES).entries()) {
      await using sandbox = new Sandbox();
      sandbox.isFirstUseOwn = true;
      const error = ERRORS[at % 2] ?? "EIO";
      const label = `${error} at call ${nth} of ${calls}`;
      const server = await startBehind(sandbox, failing(calls, error, nth));
      const answered = server.started && (await fetch(`${server.started.url}/health`)).status;
      const { exitCode, stderr } = await server.end();
      expect([label, stderr]).toEqual([label, expect.not.stringMatching(BROKEN)]);
      if (server.started) expect([label, answered]).toEqual([label, 200]);
      else expect([label, exitCode, stderr]).toEqual([label, 1, expect.stringContaining(sandbox.home)]);
      const next = await startBehind(sandbox, []);
      expect([label, next.started === undefined ? await next.end() : "started"]).toEqual([label, "started"]);
      await next.end();
      expect([label, integrityOf(sandbox)]).toEqual([label, []]);
    }
  });
});

describe.skipIf(isAbsent)("a server that is queried and deployed to", () => {
  const { writing, flushing, renaming } = CALLS;
  test.each(Object.entries({ writing, flushing, renaming }))(
    "%s fails: what was live stays until all of the new is, and values are right",
    async (_, calls) => {
      const nths = spread(CASES).filter((_, at) => at % 2 === 0);
      await Promise.all(nths.map((nth, at) => deployWithFault(calls, ERRORS[at % 2] ?? "EIO", nth)));
    },
  );
});

async function deployWithFault(calls: string, error: string, nth: number): Promise<void> {
  await using sandbox = copyOf(used);
  const label = `${error} at call ${nth} of ${calls}`;
  const server = await startBehind(sandbox, failing(calls, error, nth));
  let isNew = false;
  if (server.started) {
    expect([label, await answersOf(sandbox)]).toEqual([label, ["3.0", "old"]]);
    const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: newer });
    isNew = applied.exitCode === 0;
    expect([label, applied.stderr]).toEqual([label, isNew ? expect.not.stringContaining("Error") : expect.stringContaining("Error")]);
    expect([label, await answersOf(sandbox)]).toEqual([label, ["3.0", isNew ? "new" : expect.stringMatching(/^(old|new)$/)]]);
  }
  const { stderr } = await server.end();
  expect([label, stderr]).toEqual([label, expect.not.stringMatching(BROKEN)]);
  const next = await startBehind(sandbox, []);
  expect([label, next.started === undefined ? await next.end() : "started"]).toEqual([label, "started"]);
  expect([label, await answersOf(sandbox)]).toEqual([label, ["3.0", isNew ? "new" : expect.stringMatching(/^(old|new)$/)]]);
  await next.end();
  expect([label, integrityOf(sandbox)]).toEqual([label, []]);
}
