/** Tasks on a real server: what Python would do with the same file and arguments is done, and told. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { JobService, JobState } from "../../../gen/svc/v1/job_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { type Task, TaskService, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { WorkflowService } from "../../../gen/svc/v1/workflow_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const FILES = {
  ...GREETING,
  "jobs/__init__.py": "",
  "jobs/work.py": `import asyncio, json, logging, os, subprocess, sys, threading, time
from typing import Optional

def add(a: int, b: int = 2):
    return a + b

def shout(text: str, end: Optional[str] = None):
    print(text.upper() + (end or "!"))
    logging.getLogger("shouting").error("heard")
    print("to stderr", file=sys.stderr)

async def later():
    await asyncio.sleep(0)
    return {"later": [1, None, "x"]}

class Report:
    def __init__(self):
        self.made = "made"

    def name(self):
        return self.made

    @classmethod
    def kind(cls):
        return cls.__name__

    @staticmethod
    def nothing():
        return None

def unspeakable():
    return object()

def endless():
    return float("inf")

def long():
    return "x" * 70_000

def fails(path: str):
    raise KeyError("gone: " + path)

def fails_first(path: str):
    """Fails until it has been called three times."""
    with open(path, "a") as calls:
        calls.write("called\\n")
    with open(path) as calls:
        if len(calls.readlines()) < 3:
            raise RuntimeError("not yet")
    return "at last"

def secret():
    print("it is " + os.environ["API_KEY"])
    return os.environ["API_KEY"]

def place():
    """Where it runs, whether an earlier attempt left something there, and what it can read."""
    found = os.path.exists("left"), os.path.exists("jobs/work.py")
    open("left", "w").close()
    return [*found, os.getcwd()]

def forked():
    if os.fork() == 0:
        print("from the child")
        os._exit(0)
    os.wait()

def floods():
    for line in range(100_000):
        print("line", line)

def dies():
    os.kill(os.getpid(), 11)

def never_ends(path: str):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(path, "w") as stream:
        json.dump([os.getpid(), child.pid], stream)
    time.sleep(600)

def ignores_the_end(path: str):
    import signal
    signal.signal(signal.SIGTERM, lambda *_: None)
    with open(path, "w") as stream:
        json.dump([os.getpid()], stream)
    while True:
        time.sleep(1)

def busy():
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        inner()

def inner():
    return sum(range(2000))
`,
  "script.py": `import sys
import beside
if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    print("beside", beside.VALUE)
    sys.exit(beside.CODE)
`,
  "jobs/vast.py": `def add():\n    return 1\n${"# filler\n".repeat(70_000)}`,
  "beside.py": "VALUE = 41\nCODE = 3\n",
  "odd/my-script.py": "def f():\n    return __name__\n",
  "tests/helper.py": "def f():\n    return __name__\n",
};

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof TaskService>;
let deploymentId: string;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: "hush-hush-hush" }] });
  const deployment = await deploy(server, FILES);
  expectLive(deployment);
  deploymentId = deployment.id;
  service = server.client(TaskService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Asked = Parameters<typeof service.runTasks>[0];
interface Options {
  readonly maxRetries?: number;
  readonly profiling?: boolean;
  readonly skipValidation?: boolean;
  readonly texts?: boolean;
}

const WORK = { case: "path", value: "jobs/work.py" } as const;

const ended = async (id: string): Promise<Task> => {
  let task: Task | undefined;
  await eventually(async () => {
    task = (await service.getTask({ id })).task;
    return task !== undefined && task.state !== TaskState.RECEIVED && task.state !== TaskState.RUNNING;
  }, "the end of the task");
  return task as Task;
};
/** Runs a function of `jobs/work.py` to its end. */
const call = async (callable: string, args: readonly unknown[] = [], more: Options = {}): Promise<Task> => {
  const { ids } = await service.runTasks({
    target: { code: WORK, callable },
    arguments: [{ argsJson: JSON.stringify(args) }],
    ...more,
  });
  return ended(ids[0] as string);
};
const refusal = async (request: Asked): Promise<string> => {
  const error = await service.runTasks({ arguments: [{}], ...request }).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return `${Code[error.code]}: ${error.rawMessage}`;
};
const linesOf = async (id: string) =>
  (await server.client(LogService).searchLogs({ search: `operation_id:"${id}"`, pageSize: 1_000 })).lines.toReversed();
const pidsIn = async (path: string): Promise<number[]> => {
  await eventually(() => existsSync(path) && readFileSync(path, "utf8").endsWith("]"), "a task that runs");
  return JSON.parse(readFileSync(path, "utf8")) as number[];
};

describe("what a task runs", () => {
  test.each([
    ["add", [1], 3],
    ["add", [1, 5], 6],
    ["later", [], { later: [1, null, "x"] }],
    ["Report.name", [], "made"],
    ["Report.kind", [], "Report"],
  ])("%s of %j gives %j", async (callable, args, result) => {
    const task = await call(callable, args);
    expect(task).toMatchObject({ state: TaskState.SUCCEEDED, exitCode: 0, error: "", attempts: 1, deploymentId });
    expect(JSON.parse(task.resultJson)).toEqual(result);
  });

  test.each([
    ["Report.nothing", []],
    ["unspeakable", ["what the function returned is not kept: it is no JSON: TypeError: Object of type object is not JSON serializable"]],
    ["endless", ["what the function returned is not kept: it is no JSON: ValueError: Out of range float values are not JSON compliant"]],
    ["long", [expect.stringContaining("not kept: as JSON it has 70,002 characters, of 65,536 that are kept at most;")]],
  ])("%s gives nothing that is kept, and the log says why", async (callable, lines) => {
    const task = await call(callable);
    expect(task).toMatchObject({ state: TaskState.SUCCEEDED, resultJson: "" });
    expect((await linesOf(task.id)).map(({ message }) => message.replace(/: inf$/, ""))).toEqual(lines);
  });

  test("arguments with names are given by name, with their types", async () => {
    const { ids } = await service.runTasks({ target: { code: WORK, callable: "add" }, arguments: [{ kwargsJson: '{"b": 10, "a": 1}' }] });
    expect((await ended(ids[0] as string)).resultJson).toBe("11");
  });

  test("a script has its arguments, finds what stands beside it, and its exit code is told", async () => {
    const { ids } = await service.runTasks({
      target: { code: { case: "path", value: "script.py" } },
      arguments: [{ argsJson: '["a b", 1]', kwargsJson: '{"n": "2", "on": true}' }],
    });
    const task = await ended(ids[0] as string);
    expect(task).toMatchObject({ state: TaskState.FAILED, exitCode: 3, error: "the task exited with code 3" });
    expect((await linesOf(task.id)).map(({ message }) => message)).toEqual(["arguments ['a b', '1', '--n=2', '--on=true']", "beside 41"]);
  });

  test("a module is run as python -m runs it", async () => {
    const { ids } = await service.runTasks({ target: { code: { case: "module", value: "script" } }, arguments: [{}] });
    expect(await ended(ids[0] as string)).toMatchObject({ exitCode: 3 });
  });

  test.each([
    ["odd/my-script.py", "odd.my-script"],
    ["tests/helper.py", "helper"],
  ])("%s has functions, whether it is imported with the project or not", async (value, name) => {
    const { ids } = await service.runTasks({ target: { code: { case: "path", value }, callable: "f" }, arguments: [{}] });
    expect(await ended(ids[0] as string)).toMatchObject({ state: TaskState.SUCCEEDED, resultJson: JSON.stringify(name) });
  });

  test("each attempt has the source in a folder of its own, which is gone afterwards", async () => {
    const [one, two] = [await call("place"), await call("place")];
    for (const { resultJson } of [one, two]) {
      const [left, source, path] = JSON.parse(resultJson);
      expect([left, source]).toEqual([false, true]);
      expect(existsSync(path)).toBe(false);
    }
    expect(readdirSync(join(folder.path, "data", "tasks"))).toEqual([]);
  });
});

describe("what a task prints", () => {
  test("is in the log under its id, with its level; so is what a fork of it prints", async () => {
    const task = await call("shout", ["hi"]);
    const lines = await linesOf(task.id);
    expect(lines.map(({ level, logger, message, component }) => [level, logger, message, component])).toEqual([
      ["info", "stdout", "HI!", "engine"],
      ["error", "shouting", "heard", "engine"],
      ["warning", "stderr", "to stderr", "engine"],
    ]);
    expect(lines[0]).toMatchObject({ deploymentId, podName: expect.stringContaining("task-") });
    expect((await linesOf((await call("forked")).id)).map(({ message }) => message)).toEqual(["from the child"]);
  });

  test("an exception is told with its place, and its stack is in the log", async () => {
    const task = await call("fails", ["x"]);
    const line = FILES["jobs/work.py"].split("\n").findIndex((text) => text.includes("raise KeyError")) + 1;
    expect(task).toMatchObject({ state: TaskState.FAILED, exitCode: 1, error: `KeyError: 'gone: x' (jobs/work.py:${line})` });
    expect((await linesOf(task.id)).at(-1)?.message).toContain('File "jobs/work.py"');
  });

  test("secrets are hidden in lines and results", async () => {
    const task = await call("secret");
    expect(task).toMatchObject({ state: TaskState.SUCCEEDED, resultJson: '"***"' });
    expect((await linesOf(task.id)).map(({ message }) => message)).toEqual(["it is ***"]);
  });

  test("a flood is cut, and says so", async () => {
    const task = await call("floods");
    expect(task.state).toBe(TaskState.SUCCEEDED);
    const lines = await linesOf(task.id);
    expect(lines.length).toBeLessThan(100_000);
    expect(lines.some(({ message }) => /lines within a second were dropped/.test(message))).toBe(true);
  });

  test("a crash is told by its signal and its place", async () => {
    const task = await call("dies");
    expect(task.state).toBe(TaskState.FAILED);
    expect(task.exitCode).toBeUndefined();
    expect(task.error).toStartWith("the task was killed by SIGSEGV at jobs/work.py:");
  });

  test("its profile has the functions in which time went", async () => {
    const task = await call("busy", [], { profiling: true });
    const { stacks, intervalMs } = await service.getTaskProfile({ id: task.id });
    const functions = stacks.flatMap(({ frames }) => frames);
    expect(functions.some((frame) => frame.startsWith("busy (jobs/work.py:"))).toBe(true);
    expect(stacks.reduce((sum, { samples }) => sum + Number(samples), 0)).toBeGreaterThan(5);
    expect(intervalMs).toBe(5);
    const unprofiled = await call("add", [1]);
    await expect(service.getTaskProfile({ id: unprofiled.id })).rejects.toThrow("it was not asked for");
  });
});

describe("attempts", () => {
  test("one that fails is made again, as often as was asked for", async () => {
    const path = join(folder.path, "third");
    expect(await call("fails_first", [path], { maxRetries: 2 })).toMatchObject({
      ...{ state: TaskState.SUCCEEDED, attempts: 3, maxRetries: 2, resultJson: '"at last"', error: "" },
    });
    expect(await call("fails", ["x"], { maxRetries: 1 })).toMatchObject({ state: TaskState.FAILED, attempts: 2, exitCode: 1 });
  });

  test("what cannot be run is not tried again", async () => {
    const wrong = await call("add", ["1", "2", "3"], { maxRetries: 2 });
    expect(wrong).toMatchObject({ state: TaskState.FAILED, attempts: 1, exitCode: 2 });
    expect(wrong.error).toContain("does not take these arguments");
    const typed = await call("add", ["1"], { maxRetries: 2, texts: true });
    expect(typed.error).toContain("the parameter 'a' of add is of type int, and --arg gives texts");
    expect(await call("shout", ["1", "2"], { texts: true })).toMatchObject({ state: TaskState.SUCCEEDED });
    const missing = await call("gone", [], { skipValidation: true, maxRetries: 2 });
    expect(missing).toMatchObject({ attempts: 1, error: "jobs/work.py defines no 'gone'" });
  });

  test("a rerun is another task with the same target, arguments and options", async () => {
    const first = await call("add", [1, 5]);
    const { task } = await service.rerunTask({ id: first.id });
    expect(task?.id).not.toBe(first.id);
    expect(await ended(task?.id ?? "")).toMatchObject({ resultJson: "6", arguments: first.arguments, target: first.target });
  });
});

describe("the end of a task", () => {
  test("cancelling kills it with what it started", async () => {
    const path = join(folder.path, "pids");
    const { ids } = await service.runTasks({
      target: { code: WORK, callable: "never_ends" },
      arguments: [{ argsJson: JSON.stringify([path]) }],
      maxRetries: 3,
    });
    const pids = await pidsIn(path);
    const { task } = await service.cancelTask({ id: ids[0] as string });
    expect(task).toMatchObject({ state: TaskState.CANCELLED, attempts: 1 });
    await eventually(() => !pids.some(isAlive), "the end of all processes");
    const again = await service.cancelTask({ id: ids[0] as string }).catch((error: unknown) => error);
    expect(again).toMatchObject({ code: Code.FailedPrecondition, rawMessage: expect.stringContaining("has ended: it is cancelled") });
    await eventually(async () => {
      const { jobs } = await server.client(JobService).listJobs({ kinds: ["script_task"], states: [JobState.CANCELED] });
      return jobs.some(({ subject }) => subject === ids[0]);
    }, "the end of its job");
  });

  test("one that does not end when it is asked to is killed", async () => {
    const path = join(folder.path, "stubborn");
    const { ids } = await service.runTasks({
      target: { code: WORK, callable: "ignores_the_end" },
      arguments: [{ argsJson: JSON.stringify([path]) }],
    });
    const pids = await pidsIn(path);
    await service.cancelTask({ id: ids[0] as string });
    await eventually(() => !pids.some(isAlive), "the end of the process");
  });

  test("one that waits never runs", async () => {
    const path = join(folder.path, "waiting");
    const { ids } = await service.runTasks({
      target: { code: WORK, callable: "never_ends" },
      arguments: Array.from({ length: 30 }, (_, at) => ({ argsJson: JSON.stringify([`${path}${at}`]) })),
    });
    for (const id of ids.toReversed()) await service.cancelTask({ id });
    const states = await Promise.all(ids.map(async (id) => (await ended(id)).state));
    expect(new Set(states)).toEqual(new Set([TaskState.CANCELLED]));
    expect((await service.getTask({ id: ids[29] as string })).task?.attempts).toBe(0);
  });

  test("a suspended environment ends it, and takes no others", async () => {
    const path = join(folder.path, "suspended");
    const { ids } = await service.runTasks({
      target: { code: WORK, callable: "never_ends" },
      arguments: [{ argsJson: JSON.stringify([path]) }],
    });
    const pids = await pidsIn(path);
    const environments = server.client(EnvironmentService);
    const { environments: all } = await environments.listEnvironments({});
    const environment = all[0]?.id ?? "";
    await environments.suspendEnvironment({ environment });
    await eventually(() => !pids.some(isAlive), "the end of all processes");
    expect(await ended(ids[0] as string)).toMatchObject({ state: TaskState.FAILED, error: "environment 'default' is suspended" });
    expect(await refusal({ target: { code: WORK, callable: "add" } })).toContain("is suspended");
    await environments.resumeEnvironment({ environment });
    expect(await call("add", [1])).toMatchObject({ resultJson: "3" });
  });
});

describe("many together", () => {
  test("are a workflow, in the order of their arguments", async () => {
    const { ids, workflowId } = await service.runTasks({
      target: { code: WORK, callable: "add" },
      arguments: Array.from({ length: 12 }, (_, at) => ({ argsJson: `[${at}, 0]` })),
    });
    const results = await Promise.all(ids.map(async (id) => (await ended(id)).resultJson));
    expect(results).toEqual(ids.map((_, at) => String(at)));
    const { tasks, nextPageToken } = await service.listTasks({ workflowId, pageSize: 5 });
    expect(tasks.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 5));
    const rest = await service.listTasks({ workflowId, pageSize: 50, pageToken: nextPageToken });
    expect(rest.tasks).toHaveLength(7);
    expect(rest.tasks.every(({ arguments: given, resultJson }) => given === undefined && resultJson === "")).toBe(true);
    const { nodes } = await server.client(WorkflowService).getWorkflowGraph({ id: workflowId });
    expect(nodes).toMatchObject([{ name: "jobs/work.py::add", kind: "script_task", jobs: 12 }]);
  });
});

test.each<[string, Asked, string]>([
  ["nothing", {}, "InvalidArgument: The target '' names neither a file nor a module."],
  ["a path out of the source", { target: { code: { case: "path", value: "../x.py" } } }, "is no path from the project's root"],
  ["a file that is not there", { target: { code: { case: "path", value: "gone.py" } } }, "has no gone.py"],
  ["a module that is not there", { target: { code: { case: "module", value: "json.tool" } } }, "has no module json.tool"],
  ["a function that is not there", { target: { code: WORK, callable: "ad" } }, "jobs/work.py defines no 'ad'."],
  ["no task", { target: { code: WORK, callable: "add" }, arguments: [] }, "From 1 to 10000 tasks are asked for together, not 0."],
  ["arguments that are no JSON", { target: { code: WORK, callable: "add" }, arguments: [{ argsJson: "{" }] }, "are no JSON array"],
  ["arguments of another kind", { target: { code: WORK, callable: "add" }, arguments: [{ kwargsJson: "[]" }] }, "no JSON object"],
  [
    "arguments that are too long",
    { target: { code: WORK, callable: "add" }, arguments: [{}, { argsJson: JSON.stringify(["x".repeat(17_000)]) }] },
    "The arguments of task 2 have more than 16384 characters",
  ],
  ["too many retries", { target: { code: WORK, callable: "add" }, maxRetries: 21 }, "from 0 to 20 times, not 21"],
  [
    "a deployment that is not there",
    { target: { code: WORK, callable: "add" }, deploymentId: "dpl_0" },
    "NotFound: There is no deployment 'dpl_0'",
  ],
])("%s is refused before anything is stored", async (_, request, message) => {
  const before = (await service.listTasks({})).tasks[0]?.id;
  expect(await refusal(request)).toContain(message);
  expect((await service.listTasks({})).tasks[0]?.id).toBe(before);
});

test("a file that is too large to be looked at is left to the task", async () => {
  const { ids } = await service.runTasks({ target: { code: { case: "path", value: "jobs/vast.py" }, callable: "add" }, arguments: [{}] });
  expect(await ended(ids[0] as string)).toMatchObject({ state: TaskState.SUCCEEDED, resultJson: "1" });
});

test("a task of another environment is none", async () => {
  const error = await service.getTask({ id: "st-0" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "There is no task 'st-0' in this environment." });
});
