/**
 * Tasks, evaluations, notebooks and shells in containers: they do what processes do, with the image,
 * the limits and the network of workers, and what they use is counted.
 */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { type EvaluationRun, EvaluationRunState, EvaluationService } from "../../../gen/svc/v1/evaluation_pb.ts";
import { ImageBuildService } from "../../../gen/svc/v1/image_build_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { type CellOutput, CellState, KernelState, NotebookService } from "../../../gen/svc/v1/notebook_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { ShellService } from "../../../gen/svc/v1/shell_pb.ts";
import { type Task, TaskService, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { UsageGrouping, UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../../harness/python-image.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { spawnServer } from "../../harness/spawned-server.ts";
import { type Person, tokenOf } from "../approvals/persons.ts";
import { uploadDataset } from "../datasets/uploading.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Talk } from "../shells/talk.ts";
import { configureWorkers } from "./configuring.ts";
import { makeWheel } from "./wheel.ts";

/** Images are made, and containers started. */
setDefaultTimeout(300_000);

const WORK = `import json, os, signal, socket, subprocess, sys, time
import tinypkg

def walls():
    """What is around it: its parent, the project, a network, and what of the machine it sees."""
    with open("left", "x") as file:
        file.write("x")
    try:
        socket.create_connection(("1.1.1.1", 80), 1)
        network = "network"
    except OSError:
        network = "no network"
    return [os.getppid(), tinypkg.ANSWER, open("data/rows.txt").read(), network, os.environ["COLOUR"], os.path.exists("/usr/bin/env")]

def add(a: int, b: int = 2):
    print("adding", a)
    os.write(2, b"written past Python\\n")
    return a + b

def fails_once():
    raise RuntimeError("not yet")

def dies():
    os.abort()

def eats():
    return len(bytearray(b"x") * (1 << 30))

def busy():
    until = time.process_time() + 1
    while time.process_time() < until:
        inner()

def inner():
    return sum(range(2000))

def waits():
    """Ends when it is told to, as does the child that it has started."""
    child = subprocess.Popen([sys.executable, "-u", "-c", """import signal, time
def told(*_):
    print("the child was told", flush=True)
    raise SystemExit
signal.signal(signal.SIGTERM, told)
print("the child waits", flush=True)
time.sleep(600)
"""])
    def told(*_):
        child.wait()
        print("the task was told")
        sys.exit(3)
    signal.signal(signal.SIGTERM, told)
    print("the task waits")
    time.sleep(600)

def deaf():
    signal.signal(signal.SIGTERM, lambda *_: None)
    print("nobody tells it")
    while True:
        time.sleep(600)
`;
const EVALS = `import os
from svc import Evaluation
from svc.evaluations import exact_match, judge
import tinypkg

def shout(text):
    if text == "exit":
        os._exit(7)
    return f"{text.upper()}{tinypkg.ANSWER}{os.getppid()}"

Evaluation("shouts", dataset="words", task=shout, scorers=[exact_match("expected")])
Evaluation("dies", dataset="deadly", task=shout, scorers=[exact_match("expected")])
Evaluation("judged", dataset="words", task=shout, scorers=[judge("Is {output} like {expected}?", model="judge-1", integration="chat")])
`;

describe.skipIf(lacksPodman() || lacksPythonImage())("in containers", () => {
  const folder = new TempFolder();
  const data = join(folder.path, "data");
  let podman: TestPodman;
  let server: TestServer;

  const start = (credentials?: TestServer["credentials"]): Promise<TestServer> =>
    TestServer.start(data, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, SVC_CONTAINER_ENGINE: podman.address },
      ...(credentials && { credentials }),
    });
  beforeAll(async () => {
    podman = await startPodman();
    importPython(podman);
    server = await start();
    await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: "hush-hush-hush" }] });
    await configureWorkers(server, { image: PYTHON, memory: "256Mi", cpu: "1", network: false });
    const wheel = await makeWheel("tinypkg", "1.0", "ANSWER = 42\n");
    const files = {
      ...{ ...GREETING, "work.py": WORK, "evals.py": EVALS, "data/rows.txt": "one\n" },
      "script.py": "import sys\nif __name__ == '__main__':\n    print('arguments', sys.argv[1:])\n    sys.exit(5)\n",
      "requirements.txt": "./tinypkg-1.0-py3-none-any.whl\n",
      "tinypkg-1.0-py3-none-any.whl": wheel,
    };
    expectLive(await deploy(server, files, { requirements: "requirements.txt" }));
  });
  afterAll(async () => {
    await server?.server.stop();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** Containers that are not those of the deployment's workers. */
  let ofWorkers: readonly string[] = [];
  const others = (): readonly string[] => podman.containers().filter((name) => !ofWorkers.includes(name));
  beforeAll(async () => {
    const pods = async () => (await server.client(ClusterService).listPods({})).pods.filter(({ kind }) => kind === "worker");
    await eventually(async () => (await pods()).length > 0 && (await pods()).every(({ ready }) => ready), "the workers");
    ofWorkers = podman.containers();
    expect(ofWorkers.length).toBeGreaterThan(0);
  });

  const lines = async (id: string): Promise<string[]> =>
    (await server.client(LogService).searchLogs({ search: `operation_id:"${id}"`, pageSize: 1_000 })).lines.map(({ message }) => message);
  const lifetime = async (kind: string) => (await server.client(UsageService).listPodLifetimes({ serviceKind: kind })).pods[0];

  describe("a task", () => {
    const service = () => server.client(TaskService);
    const path = (value: string) => ({ case: "path", value }) as const;
    const ended = async (id: string): Promise<Task> => {
      let task: Task | undefined;
      await eventually(async () => {
        task = (await service().getTask({ id })).task;
        return task !== undefined && task.state !== TaskState.RECEIVED && task.state !== TaskState.RUNNING;
      }, "the end of a task");
      return task as Task;
    };
    const begin = async (callable: string, more: object = {}): Promise<string> =>
      (await service().runTasks({ target: { code: path("work.py"), callable }, arguments: [{}], ...more })).ids[0] ?? "";
    const call = async (callable: string, more: object = {}): Promise<Task> => ended(await begin(callable, more));

    test("has the packages, the project and the variables, its own copy of the source, and no network", async () => {
      for (const task of [await call("walls"), await call("walls")])
        expect([task.error, task.resultJson]).toEqual(["", '[1, 42, "one\\n", "no network", "blue", false]']);
      await eventually(() => others().length === 0, "the end of their containers");
      const { builds } = await server.client(ImageBuildService).listImageBuilds({});
      expect(builds.filter(({ imageDestinations }) => imageDestinations.length > 0)).toHaveLength(1);
    });

    test("has its arguments, exit code and output, many together as one", async () => {
      const { ids } = await service().runTasks({
        target: { code: path("work.py"), callable: "add" },
        arguments: [{ argsJson: "[1]" }, { argsJson: "[2]", kwargsJson: '{"b": 5}' }, { argsJson: "[3]" }],
      });
      expect(await Promise.all(ids.map(async (id) => (await ended(id)).resultJson))).toEqual(["3", "7", "5"]);
      await eventually(async () => (await lines(ids[1] ?? "")).length === 2, "what it printed");
      expect((await lines(ids[1] ?? "")).toSorted()).toEqual(["adding 2", "written past Python"]);
      const script = (await service().runTasks({ target: { code: path("script.py") }, arguments: [{ argsJson: '["a b", 1]' }] })).ids[0];
      expect(await ended(script ?? "")).toMatchObject({ state: TaskState.FAILED, exitCode: 5, error: "the task exited with code 5" });
      expect(await lines(script ?? "")).toEqual(["arguments ['a b', '1']"]);
    });

    test("is tried again, and tells of crashes and of memory", async () => {
      expect(await call("fails_once", { maxRetries: 1 })).toMatchObject({
        attempts: 2,
        exitCode: 1,
        error: expect.stringContaining("not yet"),
      });
      expect((await call("dies")).error).toStartWith("the task was killed by SIGABRT at work.py:");
      expect((await call("eats")).error).toMatch(
        /^the task was killed( because it used|; it may have used) more memory than it may, 256Mi/,
      );
    });

    test("that is cancelled has time to end, with what it started; then it is killed", async () => {
      const told = await begin("waits");
      await eventually(async () => (await lines(told)).length === 2, "a task that waits with its child");
      expect(others()).toHaveLength(1);
      await service().cancelTask({ id: told });
      await eventually(() => others().length === 0, "the end of its container");
      await eventually(async () => (await lines(told)).length === 4, "what they printed at the end");
      expect((await lines(told)).toSorted()).toEqual(
        ["the child waits", "the child was told", "the task waits", "the task was told"].toSorted(),
      );
      const deaf = await begin("deaf");
      await eventually(async () => (await lines(deaf)).length === 1, "a task that does not listen");
      await service().cancelTask({ id: deaf });
      await eventually(() => others().length === 0, "the end of its container");
    });

    test("is profiled, and its use is counted", async () => {
      const task = await call("busy", { profiling: true });
      expect([task.error, task.exitCode]).toEqual(["", 0]);
      const { stacks } = await service().getTaskProfile({ id: task.id });
      expect(stacks.some(({ frames }) => frames.some((frame) => frame.startsWith("busy (work.py:")))).toBe(true);
      const used = await lifetime("task");
      expect([used?.memoryLimit, used?.outcome]).toEqual(["268.4 MB", "stopped"]);
      expect(used?.cpuSeconds).toBeGreaterThanOrEqual(1);
    });
  });

  test("what a worker uses is measured", async () => {
    const workers = (await server.client(ClusterService).listPods({})).pods.filter(({ kind }) => kind === "worker");
    expect(workers.length).toBe(ofWorkers.length);
    for (const { cpuSeconds, memoryBytes, pid } of workers) {
      expect(pid).toBe(0);
      expect(cpuSeconds).toBeGreaterThan(0);
      expect(Number(memoryBytes)).toBeGreaterThan(0);
      expect(Number(memoryBytes)).toBeLessThanOrEqual(256 * 1024 ** 2);
    }
    const { usage } = await server.client(UsageService).listUsage({ grouping: UsageGrouping.INSTANCE });
    const counted = usage.find(({ label }) => label === "worker");
    expect(counted?.cpuSeconds).toBeGreaterThan(0);
  });

  describe("an evaluation", () => {
    const service = () => server.client(EvaluationService);
    const ended = async (name: string): Promise<EvaluationRun> => {
      const id = (await service().triggerEvaluation({ id: name })).run?.id ?? "";
      let run: EvaluationRun | undefined;
      await eventually(async () => {
        run = (await service().getEvaluationRun({ id })).run;
        return run !== undefined && [EvaluationRunState.SUCCEEDED, EvaluationRunState.FAILED].includes(run.state);
      }, `the end of a run of ${name}`);
      return run as EvaluationRun;
    };

    test("has its outputs and scores", async () => {
      await uploadDataset(server, "words", { "words.jsonl": '{"text": "a", "expected": "A421"}\n{"text": "b", "expected": "?"}\n' });
      const run = await ended("shouts");
      expect([run.error, run.state]).toEqual(["", EvaluationRunState.SUCCEEDED]);
      const { columns } = await server.client(DatasetService).previewDataset({ dataset: run.resultRevisionId, rows: 100 });
      const table = Object.fromEntries(columns.map(({ name, values }) => [name, values.map((value) => fromProtoValue(value))]));
      expect(table).toMatchObject({ output: ["A421", "B421"], "score.exact_match": [1, 0] });
      await eventually(() => others().length === 0, "the end of its container");
    });

    test("fails in words when its process dies, and when a judge could not be asked", async () => {
      await uploadDataset(server, "deadly", { "deadly.jsonl": '{"text": "exit", "expected": ""}\n' });
      expect((await ended("dies")).error).toContain("the process exited with code 7");
      const refused = await service()
        .triggerEvaluation({ id: "judged" })
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: Code.FailedPrecondition });
      expect(String((refused as ConnectError).rawMessage)).toBe(
        "A judge scores evaluation 'judged', and the containers of environment 'default' have no network to ask it.",
      );
    });
  });

  describe("a notebook", () => {
    const service = () => server.client(NotebookService);
    const plain = ({ content }: CellOutput): string => {
      if (content.case === "stream") return `${content.value.name}: ${content.value.text}`;
      if (content.case === "error") return `error: ${content.value.name}: ${content.value.message}`;
      return content.case === undefined ? "" : `${content.case}: ${content.value.data["text/plain"]}`;
    };
    let notebookId: string;
    beforeAll(async () => {
      notebookId = (await service().createNotebook({ title: "" })).notebook?.id ?? "";
    });
    const begin = async (source: string): Promise<string> => {
      const cellId = (await service().addCell({ notebookId, source })).cell?.id ?? "";
      await service().runCell({ notebookId, cellId });
      return cellId;
    };
    const stateOf = async (cellId: string): Promise<CellState | undefined> =>
      (await Array.fromAsync(service().watchCell({ notebookId, cellId }))).at(-1)?.cell?.state;
    const cellOf = async (cellId: string) =>
      (await service().getNotebook({ named: { case: "id", value: notebookId }, includeOutputs: true })).cells.find(
        ({ id }) => id === cellId,
      );
    const gives = async (source: string): Promise<string[]> => {
      const cellId = await begin(source);
      await stateOf(cellId);
      return (await cellOf(cellId))?.outputs.map(plain) ?? [];
    };

    const kernelEnded = async (): Promise<void> => {
      const state = async () => (await service().getNotebook({ named: { case: "id", value: notebookId } })).notebook?.kernel?.state;
      await eventually(async () => (await state()) === KernelState.ENDED, "the end of the kernel");
      await eventually(() => others().length === 0, "the end of its container");
    };

    test("runs cells whose names stay, with what they and their children print", async () => {
      expect(await gives("import os, tinypkg, work\nx = tinypkg.ANSWER\n(os.getppid(), x)")).toEqual(["result: (1, 42)"]);
      expect(await gives("print('a')\nx + 1")).toEqual(["stdout: a\n", "result: 43"]);
      expect((await gives("import subprocess\nsubprocess.run(['sh', '-c', 'echo from sh']).returncode")).toSorted()).toEqual([
        "result: 0",
        "stdout: from sh\n",
      ]);
      expect(await gives("1 / 0")).toEqual(["error: ZeroDivisionError: division by zero"]);
      expect(await gives("open('kept', 'w').write('x')\nopen('kept').read()")).toEqual(["result: 'x'"]);
    });

    test("is interrupted, and ends when it is stopped; the next kernel knows nothing", async () => {
      const running = await begin("print('begun')\nimport time\ntime.sleep(600)");
      await eventually(async () => (await cellOf(running))?.outputs.length === 1, "a cell that runs");
      await service().interruptKernel({ notebookId });
      expect(await stateOf(running)).toBe(CellState.INTERRUPTED);
      expect(await gives("x")).toEqual(["result: 42"]);
      expect(others()).toHaveLength(1);
      await service().stopKernel({ notebookId });
      await kernelEnded();
      expect(await gives("x")).toEqual([expect.stringContaining("error: NameError")]);
    });

    test("whose kernel takes more memory than it may says so", async () => {
      const eats = await begin("len(bytearray(b'x') * (1 << 30))");
      await stateOf(eats);
      expect((await cellOf(eats))?.outputs.map(plain).join("")).toMatch(
        /the kernel was killed( because it used|; it may have used) more memory than it may, 256Mi/,
      );
      await kernelEnded();
    });
  });

  describe("a shell", () => {
    let pod: string;
    let operator: Person;
    beforeAll(async () => {
      pod = (await server.client(ClusterService).listPods({})).pods.find(({ kind }) => kind === "worker")?.name ?? "";
      operator = await tokenOf(server, undefined, "operator", ["shell"]);
    });
    const talk = async (command: string, terminal: object = {}, by?: Person): Promise<Talk> => {
      const asked = { podName: pod, command, ...terminal };
      const { path, ticket } = await (by?.client(ShellService) ?? server.client(ShellService)).openShell(asked);
      const shell = Talk.connect(`${server.url}${path}`, ticket, by?.token ?? (await server.token()));
      await eventually(() => shell.events.length > 0 || shell.closed !== undefined, "its beginning");
      return shell;
    };
    const run = async (command: string, by?: Person): Promise<Talk> => {
      const shell = await talk(command, {}, by);
      await shell.ended();
      return shell;
    };

    test("has the packages, a copy of the source and the variables; no secrets for who may not see them", async () => {
      const python = "import os, features, tinypkg; print(tinypkg.ANSWER, os.environ['API_KEY'], os.environ['COLOUR'])";
      const shell = await run(`cat data/rows.txt; echo x > left; python -c "${python}"; ls -d /usr/bin/env; echo wrong >&2; exit 3`);
      expect([shell.failure, shell.out, shell.exit]).toEqual([undefined, "one\n42 hush-hush-hush blue\n", 3]);
      expect(shell.err).toEndWith("wrong\n");
      expect((await run("ls left; env", operator)).out).not.toMatch(/left|hush-hush/);
      await eventually(() => others().length === 0, "the end of their containers");
    });

    test("has its input whole, and its limits", async () => {
      const shell = await talk(
        "python -c 'import sys; print(len(sys.stdin.read()))'; cat /sys/fs/cgroup/memory.max || cat /sys/fs/cgroup/memory/memory.limit_in_bytes",
      );
      expect(others()).toHaveLength(1);
      const limits = podman.podman("inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NetworkMode}}", ...others()).trim();
      expect(limits).toBe(`${256 * 1024 ** 2} none`);
      shell.type("x".repeat(30_000));
      shell.say({ is: "end" });
      await shell.ended();
      expect(shell.out).toStartWith("30000\n");
    });

    test("has a terminal with its size, and Ctrl-C for what runs in it", async () => {
      const shell = await talk("", { terminal: true, columns: 91, rows: 33, terminalKind: "vt100" });
      const size = (name: string): string => `python -c 'import os; print("${name}", *os.get_terminal_size())'\r`;
      shell.type(`echo "kind=$TERM"; ${size("first")}`);
      await shell.until("kind=vt100");
      await shell.until("first 91 33");
      shell.say({ is: "resize", columns: 120, rows: 40 });
      shell.type(size("then"));
      await shell.until("then 120 40");
      shell.type("sh -c 'echo begun-$((1+1)); exec sleep 600'\r");
      await shell.until("begun-2");
      shell.type("\u0003");
      shell.type("echo after-$((1+2))\r");
      await shell.until("after-3");
      shell.type("exit 5\r");
      await shell.ended();
      expect(shell.exit).toBe(5);
    });

    test("ends with its connection, and all that it started", async () => {
      const shell = await talk("sleep 600 & echo here; sleep 600");
      await shell.until("here");
      const pods = (await server.client(ClusterService).listPods({})).pods.filter(({ kind }) => kind === "shell");
      expect(pods.map(({ pid }) => pid)).toEqual([0]);
      expect(Number(pods[0]?.memoryBytes)).toBeGreaterThan(0);
      shell.socket.close();
      await eventually(() => others().length === 0, "the end of its container");
      await eventually(async () => (await lifetime("shell"))?.endedAt !== undefined, "its end in the journal");
    });
  });

  test("what runs when the server is killed ends by itself", async () => {
    const token = await server.token();
    const { credentials } = server;
    await server.server.stop();
    expect(podman.containers()).toEqual([]);
    const killed = await spawnServer(data, credentials, { SVC_CONTAINER_ENGINE: podman.address });
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const body = JSON.stringify({ target: { path: "work.py", callable: "deaf" }, arguments: [{}] });
    expect((await fetch(`${killed.url}/svc.v1.TaskService/RunTasks`, { method: "POST", headers, body })).status).toBe(200);
    const running = (): string[] =>
      podman
        .podman("ps", "--no-trunc", "--format", "{{.Command}}")
        .split("\n")
        .filter((line) => line !== "");
    await eventually(() => running().some((line) => line.includes("_boot.py task ")), "the task");
    await killed.kill();
    await eventually(() => running().length === 0, "the end of what ran");
    server = await start(credentials);
    await server.server.ready;
  });
});
