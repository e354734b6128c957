/** `svc task`, as people type it, against a real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Outcome, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });
const json = async <T>(path: string, ...words: readonly string[]): Promise<T> => {
  const outcome = await svc(path, ...words, "--json");
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome.json() as T;
};

interface Asked {
  readonly task_ids: readonly string[];
  readonly workflow_id: string;
}
interface Task {
  readonly id: string;
  readonly state: string;
  readonly result_json: string;
  readonly branch: string;
}

const WORK = `import ctypes, sys, time

def greet(name: str, times: str = "1"):
    for _ in range(int(times)):
        print("hello", name)
    return {"name": name}

def add(a: int, b: int = 0):
    return a + b

def fails():
    raise ValueError("not today")

def crashes():
    ctypes.string_at(0)

def waits():
    time.sleep(600)

def busy():
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        sum(range(2000))

if __name__ == "__main__":
    print("given", sys.argv[1:])
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
  mkdirSync(join(project, "scripts"));
  writeFileSync(join(project, "scripts", "work.py"), WORK);
  expect((await svc("apply", "--force", "--await")).exitCode).toBe(0);
}, 300_000);
afterAll(() => platform?.server.stop());

describe("svc task run --watch", () => {
  test("shows what the task prints and what it returned", async () => {
    const { exitCode, stdout, stderr } = await svc("task/run", "scripts/work.py::greet", "--arg", "Ada", "--arg", "times=3", "--watch");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const lines = stdout.trim().split("\n");
    expect(lines[0]).toMatch(/^Task st-[0-9a-f]{32}$/);
    expect(lines.slice(2, 5).map((line) => line.replace(/^\S+ /, ""))).toEqual(Array(3).fill("INFO    engine hello Ada"));
    expect(lines.slice(5)).toEqual([`${lines[0]} succeeded, and returned {"name": "Ada"}`]);
  }, 300_000);

  test("ends with 1 when the task fails, and says why once", async () => {
    const { exitCode, stdout, stderr } = await svc("task/run", "scripts/work.py::fails", "--watch");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^Error: Task st-\w+ failed: ValueError: not today \(scripts\/work\.py:12\)\n/);
    expect(stdout).toContain("raise ValueError");
    expect(stdout).not.toContain("failed");
  }, 300_000);

  test("tells of a crash in lines", async () => {
    const { exitCode, stderr } = await svc("task/run", "scripts/work.py::crashes", "--watch");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^Error: Task st-\w+ failed: the task was killed by SIGSEGV at scripts\/work\.py:\d+ in crashes\nFatal Python error: Segmentation fault\n`svc task rerun/,
    );
  }, 300_000);

  test("is one document with --json", async () => {
    const done = await json("task/run", "scripts/work.py::greet", "--arg", "name=Ada", "--watch");
    expect(done).toEqual({
      ...{ task_id: expect.stringMatching(/^st-/), state: "succeeded", exit_code: 0, error: "", result: { name: "Ada" } },
      url: expect.stringContaining("/runs/st-"),
    });
  }, 300_000);

  test("a script is given its arguments as a command line", async () => {
    const { stdout } = await svc("task/run", "-m", "scripts.work", "--arg", "a b", "--arg", "day=1", "--watch");
    expect(stdout).toContain("given ['a b', '--day=1']");
  }, 300_000);
});

test("a file of arguments is one task a line, in one workflow", async () => {
  const file = join(project, "all.jsonl");
  writeFileSync(file, '{"a": 1, "b": 2}\n{"args": [5]}\n');
  const { task_ids: ids, workflow_id: workflow } = await json<Asked>("task/run", "scripts/work.py::add", "--args-file", file);
  const listed = async () => (await json<{ tasks: Task[] }>("task/list", "--workflow", workflow)).tasks;
  await eventually(async () => (await listed()).every(({ state }) => state === "succeeded"), "the end of both");
  expect((await listed()).map(({ id }) => id)).toEqual(ids.toReversed());
  const results = await Promise.all(ids.map(async (id) => (await json<Task>("task/get", id)).result_json));
  expect(results).toEqual(["3", "5"]);
  expect((await svc("task/list", "--state", "failed", "--workflow", workflow)).stdout).not.toContain("st-");
}, 300_000);

test("a task is cancelled, and run once more", async () => {
  const [id = ""] = (await json<Asked>("task/run", "scripts/work.py::waits")).task_ids;
  expect((await svc("task/cancel", id)).stdout).toContain("Cancelled");
  const again = await svc("task/cancel", id);
  expect([again.exitCode, again.stderr]).toEqual([
    1,
    `Error: Task ${id} has ended: it is cancelled.\n\`svc task rerun ${id}\` runs it once more.\n`,
  ]);
  const rerun = await json<Task>("task/rerun", id);
  expect(rerun.id).not.toBe(id);
  expect((await svc("task/cancel", rerun.id)).exitCode).toBe(0);
}, 300_000);

test("on a branch the project is deployed first, unless that is skipped", async () => {
  writeFileSync(join(project, "scripts", "later.py"), "def late():\n    return 1\n");
  expect((await svc("task/run", "scripts/later.py::late")).stderr).toContain("has no scripts/later.py");
  const skipped = await svc("task/run", "scripts/later.py::late", "--branch=try", "--skip-apply");
  expect([skipped.exitCode, skipped.stderr.includes("branch 'try'")]).toEqual([1, true]);
  const { stdout } = await svc("task/run", "scripts/later.py::late", "--branch=try", "--watch");
  expect(stdout).toContain("succeeded, and returned 1");
  const [id = ""] = (await json<Asked>("task/run", "scripts/later.py::late", "--branch=try", "--skip-apply")).task_ids;
  await eventually(async () => (await json<Task>("task/get", id)).state === "succeeded", "the end of the task");
  expect((await json<Task>("task/get", id)).branch).toBe("try");
}, 300_000);

test("a resource group that there is not is refused with those that there are", async () => {
  const { exitCode, stderr } = await svc("task/run", "scripts/work.py::greet", "--arg", "Ada", "--resource-group", "big");
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/The environment has no resource group 'big'\.[\s\S]*It has default;/)]);
});

test("a profile is a table, or a file for flame graphs", async () => {
  const { task_id: id } = await json<{ task_id: string }>("task/run", "scripts/work.py::busy", "--profile", "--watch");
  expect((await svc("task/profile", id)).stdout).toContain("busy (scripts/work.py:");
  const file = join(project, "task.txt");
  expect((await svc("task/profile", id, "--out", file)).exitCode).toBe(0);
  expect(readFileSync(file, "utf8")).toMatch(/busy \(scripts\/work\.py:\d+\) \d+$/m);
}, 300_000);

test.each([
  [["a b"], "'a b' is no module, such as scripts.report"],
  [["x.py", "--skip-apply"], "--skip-apply needs --branch"],
  [["x.py", "--arg", "a", "--args-file", "f"], "--arg and --args-file do not go together"],
  [["x.py", "--args-file", "f", "--watch"], "--watch follows one task"],
  [["x.py", "--max-retries", "21"], "--max-retries takes 0 to 20"],
])("%j is a wrong command line", async (words, message) => {
  const { exitCode, stderr } = await svc("task/run", ...words);
  expect([exitCode, stderr.includes(message)]).toEqual([2, true]);
});

test("a file of arguments that is not there, or is no JSON, begins nothing", async () => {
  expect((await svc("task/run", "scripts/work.py::add", "--args-file", "gone.jsonl")).stderr).toMatch(/there is no file \S*gone\.jsonl\n/);
  const file = join(project, "bad.jsonl");
  writeFileSync(file, '{"a": 1}\n{"a": \n');
  const { exitCode, stderr } = await svc("task/run", "scripts/work.py::add", "--args-file", file);
  expect([exitCode, stderr.includes("bad.jsonl, line 2: no JSON")]).toEqual([1, true]);
});
