import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Severity } from "../../gen/svc/v1/error_pb.ts";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import type { AnalyzeOptions, PythonToolchain } from "../../src/python/toolchain.ts";
import { isAlive } from "../harness/is-alive.ts";

setDefaultTimeout(300_000);

let folder: string;
let chain: PythonToolchain;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-analyze-"));
  chain = createToolchain({ home: join(folder, "home"), env: { ...process.env, SECRET_TOKEN: "hunter2" } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<string> {
  const root = join(folder, `project${count++}`);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

async function analyze(files: Readonly<Record<string, string>>, options: Partial<AnalyzeOptions> = {}): Promise<Graph> {
  const root = await write(files);
  return (await chain.analyze({ root, files: Object.keys(files), ...options })).graph;
}

const found = (graph: Graph) => graph.diagnostics.map((finding) => finding.code);

const PROJECT = {
  "shop/user.py": `from svc.features import features

@features
class User:
    id: int
    name: str
    email: str
    domain: str
`,
  "shop/resolvers.py": `from svc import online
from svc.sources import SQLiteSource
from shop.user import User

lite = SQLiteSource(name="lite", path="app.db")

@online
def domain(email: User.email) -> User.domain:
    return email.split("@")[1]
`,
  "shop/user.svc.sql": "-- resolves: User\n-- source: lite\nselect id, name, email from app_user\n",
};

test("Python and SQL make one graph, sorted", async () => {
  const graph = await analyze(PROJECT);
  expect(graph.diagnostics.map((finding) => finding.message)).toEqual([]);
  expect(graph.resolvers.map((resolver) => [resolver.fqn, resolver.body.case])).toEqual([
    ["shop.resolvers.domain", "python"],
    ["user", "sql"],
  ]);
  expect(graph.featureSets.map((set) => set.namespace)).toEqual(["user"]);
  expect(graph.sources.map((source) => source.name)).toEqual(["lite"]);
  expect(graph.pythonVersion).toMatch(/^3\.1[0-3]\.\d+$/);
});

test("a toolchain for who runs nothing gives graphs without translations, and the bytes of whole ones", async () => {
  const project = { ...PROJECT, "shop/resolvers.py": PROJECT["shop/resolvers.py"].replace('email.split("@")[1]', "email.lower()") };
  const root = await write(project);
  const files = Object.keys(project);
  const whole = (await chain.analyze({ root, files })).graph;
  expect(whole.resolvers.map(({ translated }) => Object.keys(translated))).toEqual([["user.domain"], []]);
  const light = () =>
    createToolchain({ home: join(folder, "light"), env: process.env, withoutTranslations: true }).analyze({ root, files });
  for (const { graph, bytes } of [await light(), await light()]) {
    const read = fromBinary(GraphSchema, bytes());
    expect(Buffer.from(toBinary(GraphSchema, read)).equals(toBinary(GraphSchema, whole))).toBe(true);
    expect(graph.resolvers).toEqual(whole.resolvers.map((resolver) => ({ ...resolver, translated: {} })));
    expect({ ...graph, resolvers: [] }).toEqual({ ...whole, resolvers: [] });
  }
});

test.each(["python310", "python311", "python312", "python313"])("%s makes the same graph", async (runtime) => {
  const search = await chain.findInterpreter(runtime);
  if (!search.found) return console.warn(`${runtime} is not installed here: not tested`);
  const graph = await analyze(PROJECT, { runtime });
  expect(graph.pythonVersion).toBe(search.found.version);
  expect(graph.diagnostics).toEqual([]);
  expect(graph.resolvers.map((resolver) => resolver.fqn)).toEqual(["shop.resolvers.domain", "user"]);
});

test("findings of SQL files and of the whole graph are among those of Python", async () => {
  const graph = await analyze({ ...PROJECT, "shop/user.svc.sql": "-- resolves: User\n-- source: lite\nselect id, nane as nmae from t\n" });
  expect(graph.diagnostics.map((finding) => [finding.code, finding.span?.file])).toContainEqual([153, "shop/user.svc.sql"]);
  const { "shop/user.svc.sql": _, ...withoutSql } = PROJECT;
  const cycle = await analyze({
    ...withoutSql,
    "shop/more.py":
      "from svc import online\nfrom shop.user import User\n\n@online\ndef email(domain: User.domain) -> User.email:\n    return domain\n",
  });
  expect(found(cycle)).toContain(161);
});

test("a module that raises is finding 102, and the rest is still there", async () => {
  const graph = await analyze({ ...PROJECT, "broken.py": "import nothing_of_that_name\n" });
  expect(graph.diagnostics).toMatchObject([{ code: 102, span: { file: "broken.py", line: 1 } }]);
  expect(graph.featureSets).toHaveLength(1);
});

test("an import that hangs is stopped, and finding 103 says where it was", async () => {
  const started = performance.now();
  await analyze({ "mod.py": "" });
  const seconds = Math.max(0.5, Math.ceil((performance.now() - started) / 250));
  const graph = await analyze({ "mod.py": "import time\n\ndef wait():\n    time.sleep(3600)\n\nwait()\n" }, { timeoutMs: seconds * 1000 });
  expect(graph.diagnostics).toMatchObject([{ code: 103, severity: Severity.ERROR, span: { file: "mod.py", line: 4 } }]);
  expect(graph.diagnostics[0]?.message).toStartWith(
    `importing the project took longer than ${seconds} s; it was stopped at mod.py:4 in wait`,
  );
});

test("an import that cannot be interrupted is killed", async () => {
  const stubborn =
    "import signal\nfor s in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(s, signal.SIG_IGN)\nwhile True: pass\n";
  const graph = await analyze({ "mod.py": stubborn }, { timeoutMs: 400 });
  expect(graph.diagnostics[0]?.message).toStartWith("importing the project took longer than 0.4 s");
});

test("an import that ends the process is finding 103 with its code and last lines", async () => {
  const graph = await analyze({ "mod.py": "import os, sys\nprint('one last word', file=sys.stderr, flush=True)\nos._exit(7)\n" });
  expect(graph.diagnostics.map((finding) => finding.message)).toEqual([
    "importing the project ended the interpreter with exit code 7. Its last lines:\n  one last word",
  ]);
});

test("an import that exits with code 0 is no success", async () => {
  expect((await analyze({ "mod.py": "import os\nos._exit(0)\n" })).diagnostics[0]?.message).toBe(
    "importing the project ended the interpreter with exit code 0",
  );
});

test("an import that crashes is finding 103 with the signal and the place", async () => {
  const graph = await analyze({ "pkg/mod.py": "import ctypes\n\ndef crash():\n    ctypes.string_at(0)\n\ncrash()\n" });
  expect(graph.diagnostics).toMatchObject([{ code: 103, span: { file: "pkg/mod.py", line: 4 } }]);
  expect(graph.diagnostics[0]?.message).toStartWith("importing the project was killed by SIGSEGV at pkg/mod.py:4 in crash");
});

test("a process that an import leaves behind ends with the analysis, and does not hold it up", async () => {
  const root = await write({
    ...PROJECT,
    "zoo.py": "import subprocess\nwith open('child', 'w') as file: file.write(str(subprocess.Popen(['sleep', '600']).pid))\n",
  });
  const { graph } = await chain.analyze({ root, files: [...Object.keys(PROJECT), "zoo.py"] });
  expect(graph.diagnostics).toEqual([]);
  const child = Number(await Bun.file(join(root, "child")).text());
  while (isAlive(child)) await Bun.sleep(5);
});

test("an import that prints without end is only slow", async () => {
  const graph = await analyze({ ...PROJECT, "zoo.py": "for i in range(200_000): print('x' * 100)\n" });
  expect(graph.diagnostics).toEqual([]);
});

test("user code sees what it needs and no secrets, and the source stays untouched", async () => {
  const code = `import os, sys
raise RuntimeError("|".join([os.environ.get("SECRET_TOKEN", "-"), os.environ["TARGET_ROOT"], os.environ["SVC_ENVIRONMENT_NAME"], os.getcwd(), str(os.path.basename(sys.prefix) != "")]))
`;
  const root = await write({ ...PROJECT, "mod.py": code });
  const { graph } = await chain.analyze({ root, files: [...Object.keys(PROJECT), "mod.py"], environmentName: "prod" });
  expect(graph.diagnostics[0]?.message).toContain(`-|${root}|prod|${root}|True`);
  expect(await readdir(root)).toEqual(expect.arrayContaining(["mod.py", "shop"]));
  expect(existsSync(join(root, "shop", "__pycache__"))).toBe(false);
  expect(await readdir(join(folder, "home", "tmp"))).toEqual([]);
});

test("a variable that is not handed on is named at import, and SVC_WORKER_ENV hands it on", async () => {
  const root = await write({ ...PROJECT, "mod.py": 'import os\nTOKEN = os.environ["SECRET_TOKEN"]\n' });
  const files = [...Object.keys(PROJECT), "mod.py"];
  const [finding] = (await chain.analyze({ root, files })).graph.diagnostics;
  expect(finding).toMatchObject({
    code: 102,
    message: expect.stringContaining("there is no environment variable SECRET_TOKEN (mod.py:2)"),
  });
  expect(finding?.hint).toContain("SVC_WORKER_ENV=SECRET_TOKEN");
  for (const handed of ["SECRET_TOKEN", "OTHER, SECRET_*"]) {
    const env = { ...process.env, SECRET_TOKEN: "hunter2", SVC_WORKER_ENV: handed };
    const { graph } = await createToolchain({ home: join(folder, "home"), env }).analyze({ root, files });
    expect([handed, graph.diagnostics.filter(({ code }) => code === 102)]).toEqual([handed, []]);
  }
});

test("bytecode of the package is kept, so that the next start is quick", async () => {
  await analyze({ ...PROJECT, "shop/own.py": "" });
  expect((await readdir(join(await chain.sdkRoot(), "svc", "__pycache__"))).length).toBeGreaterThan(5);
});

test("only the files that are named are read", async () => {
  const named = { ...PROJECT, "shop/named.py": "" };
  const root = await write({ ...named, "ignored.py": "raise RuntimeError\n" });
  expect((await chain.analyze({ root, files: Object.keys(named) })).graph.diagnostics).toEqual([]);
});

test("without an interpreter the graph holds finding 191 and nothing else", async () => {
  const none = createToolchain({ home: join(folder, "none"), env: { PATH: folder }, homeDir: folder });
  const analysis = await none.analyze({ root: folder, files: [] });
  expect(analysis.python).toBeUndefined();
  expect(found(analysis.graph)).toEqual([191]);
});

test("requirements that cannot be installed are a finding, too", async () => {
  const root = await write(PROJECT);
  const analysis = await chain.analyze({ root, files: Object.keys(PROJECT), requirements: "--no-index\nno-such-package\n" });
  expect(analysis.python).toBeUndefined();
  expect(found(analysis.graph)).toEqual([102]);
});

test("an analysis can be given up", async () => {
  const controller = new AbortController();
  const root = await write({ "mod.py": "import os, time\nopen('started', 'w').close()\ntime.sleep(60)\n" });
  const running = chain.analyze({ root, files: ["mod.py"], signal: controller.signal });
  while (!existsSync(join(root, "started"))) await Bun.sleep(5);
  controller.abort(new Error("stopped by the user"));
  await expect(running).rejects.toThrow("stopped by the user");
});

test("several analyses at once do not meet", async () => {
  const graphs = await Promise.all(Array.from({ length: 4 }, (_, at) => analyze({ ...PROJECT, [`shop/number${at}.py`]: "" })));
  expect(graphs.map((graph) => graph.resolvers.length)).toEqual([2, 2, 2, 2]);
});
