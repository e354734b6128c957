/** Notebooks on a real server: what cells give, in what order, and what becomes of kernels. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, Code } from "@connectrpc/connect";
import { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import {
  CellKind,
  type CellOutput,
  CellState,
  KernelState,
  type Notebook,
  NotebookService,
  type WatchCellResponse,
} from "../../../gen/svc/v1/notebook_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const FILES = { ...GREETING, "beside.py": "VALUE = 41\n" };

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof NotebookService>;
let deploymentId: string;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: "hush-hush-hush" }] });
  const deployment = await deploy(server, FILES);
  expectLive(deployment);
  deploymentId = deployment.id;
  service = server.client(NotebookService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const create = async (title = ""): Promise<string> => (await service.createNotebook({ title })).notebook?.id ?? "";
const add = async (notebookId: string, source: string): Promise<string> => (await service.addCell({ notebookId, source })).cell?.id ?? "";
const notebookOf = async (id: string): Promise<Notebook> => {
  const { notebook } = await service.getNotebook({ named: { case: "id", value: id } });
  if (!notebook) throw new Error("the server gave no notebook");
  return notebook;
};

/** The messages of a run of a cell until it ends. */
async function watch(notebookId: string, cellId: string): Promise<readonly WatchCellResponse[]> {
  return Array.fromAsync(service.watchCell({ notebookId, cellId }));
}

/** An output in a few words. */
function plain({ content }: CellOutput): string {
  switch (content.case) {
    case "stream":
      return `${content.value.name}: ${content.value.text}`;
    case "error":
      return `error: ${content.value.name}: ${content.value.message}`;
    case undefined:
      return "";
    default:
      return `${content.case}: ${content.value.data["text/plain"]}`;
  }
}

/** Runs code in a new cell: its state, and what it gave. */
async function run(notebookId: string, source: string): Promise<{ state: CellState | undefined; gave: string[]; outputs: CellOutput[] }> {
  const cellId = await add(notebookId, source);
  await service.runCell({ notebookId, cellId });
  const state = (await watch(notebookId, cellId)).at(-1)?.cell?.state;
  const { cells } = await service.getNotebook({ named: { case: "id", value: notebookId }, includeOutputs: true });
  const outputs = cells.find(({ id }) => id === cellId)?.outputs ?? [];
  return { state, gave: outputs.map(plain), outputs };
}

async function refusal(work: Promise<unknown>): Promise<{ code: Code; message: string }> {
  const error = await work.then(
    () => undefined,
    (thrown: { code: Code; rawMessage: string }) => thrown,
  );
  if (!error) throw new Error("nothing was refused");
  return { code: error.code, message: error.rawMessage };
}

describe("a cell", () => {
  let id: string;
  beforeAll(async () => {
    id = await create();
  });
  const gives = async (source: string) => (await run(id, source)).gave;

  test("has the value of its last expression, the project's modules, and the names of those before", async () => {
    expect(await gives("import beside\nbeside.VALUE + 1")).toEqual(["result: 42"]);
    expect(await gives("beside.VALUE")).toEqual(["result: 41"]);
    expect(await gives("x = 1")).toEqual([]);
    expect(await gives("x")).toEqual(["result: 1"]);
    expect(await gives("x;")).toEqual([]);
    expect(await gives("None")).toEqual([]);
    expect(await gives("")).toEqual([]);
  }, 300_000);

  test("gives text, values and errors in the order in which they came", async () => {
    const { gave, state } = await run(
      id,
      'import sys\nprint("a", end="")\nprint("b")\nprint("c", file=sys.stderr)\ndisplay({"d": 1})\nprint("e")\n1 / 0',
    );
    expect(gave).toEqual(["stdout: ab\n", "stderr: c\n", "display: {'d': 1}", "stdout: e\n", "error: ZeroDivisionError: division by zero"]);
    expect(state).toBe(CellState.FAILED);
  }, 300_000);

  test("gives what processes that it started print, before it ends", async () => {
    const gave = await gives(
      'import os, subprocess\nsubprocess.run(["sh", "-c", "echo from sh; printf rest"])\nos.system("echo again >&2")',
    );
    expect(gave.flatMap((one) => /^stdout: ([\s\S]*)$/.exec(one)?.[1] ?? []).join("")).toBe("from sh\nrest");
    expect(gave).toContain("stderr: again\n");
    expect(gave).toContain("result: 0");
  }, 300_000);

  test("has tracebacks of its own lines, and not of the kernel's", async () => {
    const { outputs } = await run(id, "def broken():\n    return missing\n\nbroken()");
    const { content } = outputs[0] as CellOutput;
    if (content.case !== "error") throw new Error("the cell did not fail");
    expect(content.value.traceback).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "cell \d+", line 4, in <module>\n {4}broken\(\)\n(?: +[~^]+\n)? {2}File "cell \d+", line 2, in broken\n {4}return missing/,
    );
    expect(content.value.traceback).not.toContain("kernel.py");
    expect(await gives("1 +")).toEqual([expect.stringMatching(/^error: SyntaxError: invalid syntax/)]);
    expect(await gives("%matplotlib inline")).toEqual([expect.stringContaining("is a command of IPython")]);
    expect(await gives("input()")).toEqual(["error: EOFError: a kernel has no keyboard: give the value in the cell"]);
    expect(await gives("exit()")).toEqual([expect.stringMatching(/^error: SystemExit/)]);
  }, 300_000);

  test("may await, and the loop stays", async () => {
    expect(await gives("import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(0, 'slept'))\nawait asyncio.sleep(0)")).toEqual([]);
    expect(await gives("await task")).toEqual(["result: 'slept'"]);
  }, 300_000);

  test("has values in all their forms, and none that fails", async () => {
    const { outputs } = await run(
      id,
      [
        "class Shown:",
        "    def __repr__(self): return 'plain'",
        "    def _repr_html_(self): return '<b>rich</b>'",
        "    def _repr_png_(self): return b'\\x89PNG'",
        "    def _repr_svg_(self): raise ValueError('no')",
        "    def _repr_mimebundle_(self): return {'application/json': {'a': [1]}}",
        "Shown()",
      ].join("\n"),
    );
    expect(outputs[0]?.content).toMatchObject({
      case: "result",
      value: {
        data: { "text/plain": "plain", "text/html": "<b>rich</b>", "image/png": "iVBORw==", "application/json": '{"a": [1]}' },
      },
    });
    expect(await gives("class Bad:\n    def __repr__(self): raise KeyError('x')\nBad()")).toEqual(["error: KeyError: 'x'"]);
  }, 300_000);

  test("defines features and resolvers, whose filters may use the operators of Python", async () => {
    const source = `from svc import online
from svc.features import DataFrame, features
@features
class Visit:
    id: int
    user_id: int
    paid: bool
@features
class Guest:
    id: int
    visits: DataFrame[Visit]
    total: int
@online
def total(visits: Guest.visits[Visit.paid is True and Visit.id not in (1, 2)]) -> Guest.total:
    return len(visits)
Guest.total`;
    expect(await gives(source)).toEqual([expect.stringMatching(/^result: .*guest\.total/i)]);
  }, 300_000);

  test("is given no secret back, and keeps no more than the bound", async () => {
    expect(await gives("import os\nprint(os.environ['API_KEY'])\nos.environ['API_KEY']")).toEqual(["stdout: ***\n", "result: '***'"]);
    const flood = await gives("for _ in range(100_000): print('x' * 99)\n1");
    expect(flood.join("").length).toBeLessThan(4 * 1024 * 1024 + 1_000);
    expect(flood.at(-1)).toContain("the rest was left out");
    expect(await gives("print('after')")).toEqual(["stdout: after\n"]);
    const many = await gives("for number in range(1_100): display(number)");
    expect(many).toHaveLength(1_001);
    expect(many.at(-1)).toContain("further outputs were left out");
  }, 300_000);

  test("runs again without what it gave before, and not while it waits", async () => {
    const notebookId = await create();
    const cellId = await add(notebookId, "count = globals().get('count', 0) + 1\nprint(count)\nimport time\ntime.sleep(0.2)");
    await service.runCell({ notebookId, cellId });
    expect(await refusal(service.runCell({ notebookId, cellId }))).toMatchObject({ code: Code.FailedPrecondition });
    expect(await refusal(service.removeCell({ notebookId, cellId }))).toMatchObject({ code: Code.FailedPrecondition });
    expect(await refusal(service.editCell({ notebookId, cellId, source: "" }))).toMatchObject({ code: Code.FailedPrecondition });
    await watch(notebookId, cellId);
    await service.runCell({ notebookId, cellId });
    const messages = await watch(notebookId, cellId);
    expect(messages[0]?.restarted).toBe(true);
    expect(
      messages.flatMap(({ outputs }) => outputs.map(({ content }) => (content.case === "stream" ? content.value.text : ""))).join(""),
    ).toBe("2\n");
    expect(messages.at(-1)?.cell).toMatchObject({ state: CellState.SUCCEEDED, executionCount: 2 });
    await service.stopKernel({ notebookId });
  }, 300_000);
});

describe("a kernel", () => {
  test("is of the deployment that is live when it starts, and of another branch only after a stop", async () => {
    const id = await create();
    expect((await notebookOf(id)).kernel).toBeUndefined();
    await run(id, "1");
    expect((await notebookOf(id)).kernel).toMatchObject({ state: KernelState.IDLE, deploymentId, branch: "" });
    const branch = await deploy(server, { ...FILES, "beside.py": "VALUE = 7\n" }, { branch: "try" });
    expectLive(branch);
    const cellId = await add(id, "import beside\nprint(beside.VALUE)");
    const onBranch = server.client(NotebookService, { headers: { "svc-branch": "try" } });
    expect(await refusal(onBranch.runCell({ notebookId: id, cellId }))).toMatchObject({
      message: expect.stringContaining(`runs in deployment ${deploymentId}`),
    });
    await service.stopKernel({ notebookId: id });
    await eventually(async () => (await notebookOf(id)).kernel?.state === KernelState.ENDED, "the end of the kernel");
    await onBranch.runCell({ notebookId: id, cellId });
    expect((await watch(id, cellId)).flatMap(({ outputs }) => outputs.map(plain)).join("")).toStartWith("stdout: 7");
    expect((await notebookOf(id)).kernel).toMatchObject({ deploymentId: branch.id, branch: "try" });
    await service.stopKernel({ notebookId: id });
  }, 300_000);

  test("is interrupted: the cell ends, those that wait are taken back, and the names stay", async () => {
    const id = await create();
    await run(id, "x = 5");
    const cells = await Promise.all(["import time\nprint('begun')\ntime.sleep(600)", "print('never')"].map((source) => add(id, source)));
    for (const cellId of cells) await service.runCell({ notebookId: id, cellId });
    const [running = "", waiting = ""] = cells;
    for await (const { outputs } of service.watchCell({ notebookId: id, cellId: running })) if (outputs.length > 0) break;
    await service.interruptKernel({ notebookId: id });
    const last = (await watch(id, running)).at(-1);
    expect(last?.cell?.state).toBe(CellState.INTERRUPTED);
    expect((await watch(id, waiting)).at(-1)?.cell?.state).toBe(CellState.IDLE);
    expect((await run(id, "x")).gave).toEqual(["result: 5"]);
    expect(await refusal(service.interruptKernel({ notebookId: id }))).toMatchObject({ code: Code.FailedPrecondition });
    await service.stopKernel({ notebookId: id });
  }, 300_000);

  test("that dies is told with its exit by the cell that ran, and another one starts", async () => {
    const id = await create();
    expect(await run(id, "import os\nos._exit(3)")).toMatchObject({
      state: CellState.FAILED,
      gave: ["error: KernelEnded: the kernel exited with code 3 before the cell had ended"],
    });
    expect((await notebookOf(id)).kernel).toMatchObject({ state: KernelState.ENDED, end: "exited with code 3" });
    expect((await run(id, "'again'")).gave).toEqual(["result: 'again'"]);
    const { gave } = await run(id, "import ctypes\nprint('before')\nctypes.string_at(0)");
    expect(gave[0]).toContain("stdout: before");
    expect(gave.at(-1)).toContain("the kernel was killed by SIGSEGV");
  }, 300_000);

  test("is stopped with all that it started, and leaves no files", async () => {
    const id = await create();
    const path = join(folder.path, "pids");
    await run(
      id,
      `import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(${JSON.stringify(path)}, "w") as stream:
    stream.write(f"{os.getpid()} {child.pid}")`,
    );
    const pids = readFileSync(path, "utf8").split(" ").map(Number);
    expect(pids.every(isAlive)).toBe(true);
    await service.stopKernel({ notebookId: id });
    await eventually(() => !pids.some(isAlive), "the end of what the kernel started");
    await eventually(async () => (await notebookOf(id)).kernel?.state === KernelState.ENDED, "the end of the kernel");
    expect((await notebookOf(id)).kernel?.end).toBe("was stopped");
    expect(await refusal(service.stopKernel({ notebookId: id }))).toMatchObject({ code: Code.FailedPrecondition });
  }, 300_000);

  test("ends with its notebook, and with its environment", async () => {
    const id = await create("short");
    const cellId = await add(id, "import time\ntime.sleep(600)");
    await service.runCell({ notebookId: id, cellId });
    await eventually(async () => (await notebookOf(id)).kernel?.state === KernelState.BUSY, "a cell that runs");
    const environments = server.client(EnvironmentService);
    await environments.suspendEnvironment({});
    await eventually(async () => (await notebookOf(id)).kernel?.state === KernelState.ENDED, "the end of the kernel");
    expect((await notebookOf(id)).kernel?.end).toBe("environment 'default' is suspended");
    expect(await refusal(service.runCell({ notebookId: id, cellId }))).toMatchObject({ message: expect.stringContaining("is suspended") });
    await environments.resumeEnvironment({});
    expectLive(await deploy(server, FILES));
    await run(id, "1");
    await service.deleteNotebook({ id });
    expect(await refusal(service.getNotebook({ named: { case: "id", value: id } }))).toMatchObject({ code: Code.NotFound });
    await eventually(
      () => !existsSync(join(folder.path, "data", "notebooks")) || readdirSync(join(folder.path, "data", "notebooks")).length <= 1,
      "the end of its files",
    );
  }, 300_000);
});

describe("what cells define", () => {
  const CELLS = [
    "from svc import online\nfrom svc.features import features\nfrom features import User\nprint('not of the module')",
    "FACTOR = 3\nunused = 1 / 2",
    "@features\nclass Cart:\n    id: int\n    size: int\n    total: int",
    "@online\ndef size(id: Cart.id) -> Cart.size:\n    return id + 1",
    "@online\ndef total(size: Cart.size) -> Cart.total:\n    return size * 0",
    "@online\ndef total(size: Cart.size) -> Cart.total:\n    return size * FACTOR",
  ];
  const total = async (branch: string): Promise<string> => {
    const answer = await server.client(QueryService, { headers: { "svc-branch": branch } }).query({
      inputs: [{ feature: "cart.id", value: { case: "text", value: "1" } }],
      outputs: ["cart.total"],
    });
    return answer.errors.length > 0 ? "error" : String(answer.data[0]?.value?.kind.value);
  };
  const filesOf = async (deploymentIdOfBranch: string) =>
    (await server.client(DeploymentService).getDeployment({ deploymentId: deploymentIdOfBranch })).deployment?.notebookFiles ?? [];

  test("is tried on a branch, stays with the next deployment there, and is dropped by a reset", async () => {
    const id = await create("First look!");
    expect(await run(id, "from svc.notebook import deploy\ndeploy('cells')")).toMatchObject({
      gave: ["error: NotDeployed: no cell that ran before this one defines a feature class or a resolver"],
    });
    for (const source of CELLS) expect((await run(id, source)).state).toBe(CellState.SUCCEEDED);
    const { gave } = await run(id, "print(deploy('cells'))");
    const [, deployed = ""] = /^stdout: (dpl_\w+)\n$/.exec(gave[0] ?? "") ?? [];
    expect(gave).toEqual([`stdout: ${deployed}\n`]);
    const [file = ""] = await filesOf(deployed);
    expect(file).toMatch(/^notebook_first_look_[0-9a-f]{8}\.py$/);
    expect(await total("cells")).toBe("6");
    expect(await server.client(DeploymentService).startBranch({ branch: "cells" })).toMatchObject({ deployment: { id: deployed } });
    const again = await deploy(server, { ...FILES, "more.py": "" }, { branch: "cells" });
    expectLive(again);
    expect(again.notebookFiles).toEqual([file]);
    expect(await total("cells")).toBe("6");
    await run(id, "FACTOR = 5");
    await run(id, "deploy(branch='cells')");
    expect(await total("cells")).toBe("10");
    const reset = await deploy(server, FILES, { branch: "cells", reset: true });
    expectLive(reset);
    expect(reset.notebookFiles).toEqual([]);
    expect(await total("cells").catch(() => "refused")).not.toBe("10");
    expect((await run(id, "deploy('')")).gave[0]).toContain("a notebook deploys to a branch");
    await service.stopKernel({ notebookId: id });
  }, 300_000);

  test("that is wrong is told by the cell that deploys it", async () => {
    const id = await create();
    await run(id, "from svc import online\nfrom svc.features import features\nfrom svc.notebook import deploy\nimport beside");
    await run(id, "@features\nclass Basket:\n    id: int\n    count: int");
    await run(id, "@features\nclass User:\n    id: str\n    other: int");
    const { gave } = await run(id, "deploy('wrong')");
    expect(gave[0]).toMatch(/^error: NotDeployed: deployment dpl_\w+ failed: .*[Uu]ser/s);
    await service.stopKernel({ notebookId: id });
  }, 300_000);
});

describe("notebooks", () => {
  test("are named once, listed by pages, and bounded in what they are given", async () => {
    const id = await create("Once");
    expect(await refusal(service.createNotebook({ title: "Once" }))).toMatchObject({ code: Code.AlreadyExists });
    for (const title of [" a", "a\n", "x".repeat(201)])
      expect(await refusal(service.createNotebook({ title }))).toMatchObject({ code: Code.InvalidArgument });
    expect((await service.getNotebook({ named: { case: "title", value: "Once" } })).notebook?.id).toBe(id);
    expect(await refusal(service.addCell({ notebookId: id, source: "x".repeat(65_537) }))).toMatchObject({ code: Code.InvalidArgument });
    const first = await service.listNotebooks({ pageSize: 1 });
    expect(first.notebooks.map(({ title }) => title)).toEqual(["Once"]);
    const second = await service.listNotebooks({ pageSize: 1, pageToken: first.nextPageToken });
    expect(second.notebooks[0]?.id).not.toBe(id);
    expect(await refusal(service.getNotebook({}))).toMatchObject({ code: Code.InvalidArgument });
  }, 300_000);

  test("have cells in an order, of which those of code run", async () => {
    const notebookId = await create();
    const text = (await service.addCell({ notebookId, kind: CellKind.MARKDOWN, source: "# Title" })).cell?.id ?? "";
    const code = (await service.addCell({ notebookId, source: "1", position: 0 })).cell?.id ?? "";
    const order = async () => (await service.getNotebook({ named: { case: "id", value: notebookId } })).cells.map(({ id }) => id);
    expect(await order()).toEqual([code, text]);
    expect((await service.moveCell({ notebookId, cellId: text, position: 0 })).cells.map(({ id }) => id)).toEqual([text, code]);
    expect(await refusal(service.runCell({ notebookId, cellId: text }))).toMatchObject({ code: Code.FailedPrecondition });
    expect(await refusal(service.runCell({ notebookId, cellId: "none" }))).toMatchObject({ code: Code.NotFound });
    expect((await service.removeCell({ notebookId, cellId: text })).cell?.source).toBe("# Title");
    expect(await order()).toEqual([code]);
  }, 300_000);

  test("go out as files and come back the same", async () => {
    const notebookId = await create();
    await service.addCell({ notebookId, kind: CellKind.MARKDOWN, source: "# Title\ntext" });
    await run(notebookId, "print('a\\nb')\ndisplay('c')\n1 / 0");
    await run(notebookId, "'end'");
    const { ipynb } = await service.exportNotebook({ id: notebookId });
    const { notebook } = await service.importNotebook({ title: "Came back", ipynb });
    expect(notebook).toMatchObject({ title: "Came back", cellCount: 3 });
    const outputs = async (id: string) =>
      (await service.getNotebook({ named: { case: "id", value: id }, includeOutputs: true })).cells.map((cell) => [
        cell.kind,
        cell.source,
        cell.executionCount,
        cell.outputs.map(plain),
      ]);
    expect(await outputs(notebook?.id ?? "")).toEqual(await outputs(notebookId));
    for (const wrong of ["", "[]", "{}", '{"nbformat": 3, "cells": []}'])
      expect(await refusal(service.importNotebook({ ipynb: wrong }))).toMatchObject({ code: Code.InvalidArgument });
    await service.stopKernel({ notebookId });
  }, 300_000);

  test("are of their environment alone", async () => {
    const id = await create();
    const { environment } = await server.client(EnvironmentService).createEnvironment({ name: "other" });
    const other = server.client(NotebookService, { headers: { "svc-environment": environment?.id ?? "" } });
    expect(await refusal(other.getNotebook({ named: { case: "id", value: id } }))).toMatchObject({ code: Code.NotFound });
    expect((await other.listNotebooks({})).notebooks).toEqual([]);
    const { notebook } = await other.createNotebook({ title: "Once" });
    const { cell } = await other.addCell({ notebookId: notebook?.id ?? "", source: "1" });
    expect(await refusal(other.runCell({ notebookId: notebook?.id ?? "", cellId: cell?.id ?? "" }))).toMatchObject({
      code: Code.FailedPrecondition,
      message: "Nothing is deployed in environment 'other' yet.",
    });
  }, 300_000);
});

test("a kernel ends when nothing was run for a while, and when its server stops; cells stay", async () => {
  using other = new TempFolder();
  let own = await TestServer.start(other.path, { kernelIdleMs: 60_000 });
  expectLive(await deploy(own, FILES));
  let notebooks = own.client(NotebookService);
  const { notebook: { id: notebookId = "" } = {} } = await notebooks.createNotebook({});
  const { cell: { id: cellId = "" } = {} } = await notebooks.addCell({ notebookId, source: "print('kept')" });
  await notebooks.runCell({ notebookId, cellId });
  await Array.fromAsync(notebooks.watchCell({ notebookId, cellId }));
  const { credentials } = own;
  await own[Symbol.asyncDispose]();
  own = await TestServer.start(other.path, { credentials, kernelIdleMs: 1 });
  notebooks = own.client(NotebookService);
  const found = await notebooks.getNotebook({ named: { case: "id", value: notebookId }, includeOutputs: true });
  expect(found.notebook?.kernel).toMatchObject({ state: KernelState.ENDED, end: "its server was stopped" });
  expect(found.cells[0]?.outputs.map(plain)).toEqual(["stdout: kept\n"]);
  await own.server.ready;
  await notebooks.runCell({ notebookId, cellId });
  const standing = async () => (await notebooks.getNotebook({ named: { case: "id", value: notebookId } })).notebook?.kernel;
  await eventually(async () => (await standing())?.state === KernelState.ENDED, "the end of an idle kernel");
  expect((await standing())?.end).toContain("nothing ran for");
  await own[Symbol.asyncDispose]();
}, 300_000);
