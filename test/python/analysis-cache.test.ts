import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { analyzedFiles } from "../../src/domain/source-file.ts";
import { analyzeProject } from "../../src/python/analyze.ts";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import type { AnalyzeOptions } from "../../src/python/toolchain.ts";
import { runs, seed } from "../harness/seed.ts";

setDefaultTimeout(300_000);

type Files = Record<string, string>;

let folder: string;
let home: string;
let count = 0;
const env: Record<string, string | undefined> = { ...process.env, SVC_WORKER_ENV: "SHOP_*" };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-analysis-cache-"));
  home = join(folder, "home");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PROJECT: Files = {
  "shop/user.py": `from svc.features import features

@features
class User:
    id: int
    name: str
    shout: str
`,
  "shop/resolvers.py": `from svc import online
from shop.user import User

@online
def shout(name: User.name) -> User.shout:
    return name.upper()
`,
};

/** A module that reads a file when it is imported, and what of that is in the graph. */
const READS_DATA = `import os
from svc.features import feature, features

with open(os.path.join(os.path.dirname(__file__), "data.txt")) as stream:
    DATA = stream.read()

@features(owner=DATA)
class Thing:
    id: int
`;

async function write(files: Files, root = join(folder, `project${count++}`)): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  await Bun.sleep(100); // what was changed a moment before an import may change again in the same step of the file system's clock
  return root;
}

function filesOf(root: string): string[] {
  return analyzedFiles(readdirSync(root, { recursive: true, withFileTypes: false }).map(String));
}

/** An analysis by a new process's toolchain: its graph, and whether Python was started for it. */
async function analyze(root: string, options: Partial<AnalyzeOptions> = {}, at = home): Promise<{ graph: Graph; imported: boolean }> {
  let imported = false;
  const { graph } = await createToolchain({ home: at, env }).analyze({
    root,
    files: filesOf(root),
    onStart: () => {
      imported = true;
    },
    ...options,
  });
  return { graph, imported };
}

/** The same without anything that is kept. */
async function analyzeAnew(root: string, options: Partial<AnalyzeOptions> = {}): Promise<Graph> {
  const chain = createToolchain({ home, env });
  const scratchDir = join(folder, `scratch${count++}`);
  const analyzer = {
    python: await chain.environmentPython({}),
    sdkRoot: await chain.sdkRoot(),
    scratchDir,
    env,
    codeFile: join(scratchDir, "code"),
  };
  return (await analyzeProject({ root, files: filesOf(root), ...options }, analyzer)).graph;
}

const bytesOf = (graph: Graph): string => Buffer.from(toBinary(GraphSchema, graph)).toString("hex");

test("a project that did not change is not imported again, wherever it lies", async () => {
  const root = await write(PROJECT);
  const first = await analyze(root);
  const again = await analyze(root);
  const elsewhere = await analyze(await write(PROJECT));
  expect([first.imported, again.imported, elsewhere.imported]).toEqual([true, false, false]);
  expect(bytesOf(again.graph)).toBe(bytesOf(first.graph));
  expect(bytesOf(elsewhere.graph)).toBe(bytesOf(await analyzeAnew(root)));
});

test("an environment that a link leads to is the same one, and another is not", async () => {
  const root = await write({ ...PROJECT, "shop/linked.py": "" });
  await analyze(root);
  const [linked, other] = [join(folder, "linked"), join(folder, "other")];
  symlinkSync(home, linked);
  await mkdir(join(other, "cache"), { recursive: true, mode: 0o700 });
  symlinkSync(join(home, "cache", "analyses"), join(other, "cache", "analyses"));
  expect((await analyze(root, {}, linked)).imported).toBe(false);
  expect((await analyze(root, {}, other)).imported).toBe(true);
});

test("a file that changed, came or went is seen", async () => {
  const root = await write({ ...PROJECT, "shop/more.py": "RATE = 1\n" });
  await analyze(root);
  await write({ "shop/more.py": "RATE = 2\n" }, root);
  expect((await analyze(root)).imported).toBe(true);
  await write({ "shop/late.svc.sql": "-- resolves: User\n-- source: lite\nselect id, name from app_user\n" }, root);
  expect((await analyze(root)).imported).toBe(true);
  rmSync(join(root, "shop/more.py"));
  expect((await analyze(root)).imported).toBe(true);
});

test("a file that the import reads counts, wherever the project lies", async () => {
  const root = await write({ "shop/thing.py": READS_DATA, "shop/data.txt": "a@x.io" });
  expect((await analyze(root)).graph.featureSets[0]?.owner).toBe("a@x.io");
  expect((await analyze(root)).imported).toBe(false);
  await write({ "shop/data.txt": "b@x.io" }, root);
  expect((await analyze(root)).graph.featureSets[0]?.owner).toBe("b@x.io");
  const other = await write({ "shop/thing.py": READS_DATA, "shop/data.txt": "c@x.io" });
  expect((await analyze(other)).graph.featureSets[0]?.owner).toBe("c@x.io");
});

test("a folder that the import lists counts", async () => {
  const lists = `import os
from svc.features import features

@features(owner=",".join(sorted(os.listdir(os.path.join(os.path.dirname(__file__), "parts")))))
class Thing:
    id: int
`;
  const root = await write({ "shop/thing.py": lists, "shop/parts/a.txt": "" });
  await analyze(root);
  expect((await analyze(root)).imported).toBe(false);
  await write({ "shop/parts/b.txt": "" }, root);
  expect((await analyze(root)).graph.featureSets[0]?.owner).toBe("a.txt,b.txt");
});

test("a file outside of the project that the import reads counts", async () => {
  const outside = join(folder, "outside.txt");
  writeFileSync(outside, "a@x.io");
  const reads = `from svc.features import features

@features(owner=open(${JSON.stringify(outside)}).read())
class Thing:
    id: int
`;
  const root = await write({ "thing.py": reads });
  await analyze(root);
  expect((await analyze(root)).imported).toBe(false);
  writeFileSync(outside, "bb@x.io");
  expect((await analyze(root)).graph.featureSets[0]?.owner).toBe("bb@x.io");
  rmSync(outside);
  expect((await analyze(root)).graph.diagnostics.map(({ code }) => code)).toEqual([102]);
});

test("a graph that names the project's folder is not that of another folder", async () => {
  const names = `import os
from svc.sources import SQLiteSource

lite = SQLiteSource(name="lite", path=os.path.join(os.environ["TARGET_ROOT"], "app.db"))
`;
  const [root, other] = [await write({ "sources.py": names }), await write({ "sources.py": names })];
  await analyze(root);
  expect((await analyze(root)).imported).toBe(false);
  const { graph, imported } = await analyze(other);
  expect(imported).toBe(true);
  expect(graph.sources[0]?.settings.path).toBe(join(other, "app.db"));
  expect((await analyze(root)).graph.sources[0]?.settings.path).toBe(join(root, "app.db"));
});

test.each([
  ["starts a program", "import subprocess\nsubprocess.run(['true'])\n"],
  ["opens a connection", "import socket\nsocket.socket().close()\n"],
  ["writes a file", "import os\nopen(os.path.join(os.path.dirname(__file__), 'made.txt'), 'w').close()\n"],
  ["opens a database", "import sqlite3\nsqlite3.connect(':memory:').close()\n"],
])("an import that %s is made again each time", async (_, code) => {
  const root = await write({ ...PROJECT, "shop/acts.py": code });
  await analyze(root);
  await Bun.sleep(100);
  expect((await analyze(root)).imported).toBe(true);
});

test("a project with errors is imported again each time", async () => {
  const root = await write({ ...PROJECT, "shop/broken.py": "raise RuntimeError('no')\n" });
  await analyze(root);
  expect((await analyze(root)).imported).toBe(true);
});

test("the variables that user code sees and the environment's name count; other variables do not", async () => {
  const root = await write({ ...PROJECT, "shop/here.py": "RATE = 3\n" });
  await analyze(root);
  const other = async (more: Record<string, string>): Promise<boolean> => {
    let imported = false;
    const onStart = () => {
      imported = true;
    };
    await createToolchain({ home, env: { ...env, ...more } }).analyze({ root, files: filesOf(root), onStart });
    return imported;
  };
  expect(await other({ SECRET_TOKEN: "hunter2" })).toBe(false);
  expect(await other({ SHOP_MODE: "test" })).toBe(true);
  expect((await analyze(root, { environmentName: "prod" })).imported).toBe(true);
});

test("another interpreter, and packages that came or went, count", async () => {
  const root = await write({ ...PROJECT, "shop/there.py": "RATE = 4\n" });
  const chain = createToolchain({ home, env });
  const runtimes: string[] = [];
  for (const runtime of ["python310", "python311", "python312", "python313"])
    if ((await chain.findInterpreter(runtime)).found) runtimes.push(runtime);
  for (const runtime of runtimes) {
    const { graph, imported } = await analyze(root, { runtime });
    expect(imported).toBe(true);
    expect(graph.pythonVersion).toStartWith(runtime.replace("python3", "3."));
  }
  const python = await chain.environmentPython({ runtime: runtimes[0] as string });
  const libraries = join(dirname(dirname(python)), "lib");
  const packages = join(libraries, readdirSync(libraries)[0] as string, "site-packages");
  expect((await analyze(root, { runtime: runtimes[0] as string })).imported).toBe(false);
  writeFileSync(join(packages, "arrived.py"), "");
  expect((await analyze(root, { runtime: runtimes[0] as string })).imported).toBe(true);
});

test("what is damaged is made again, for graphs and for compiled modules", async () => {
  const root = await write({ ...PROJECT, "shop/damaged.py": "RATE = 5\n" });
  const sound = bytesOf((await analyze(root)).graph);
  for (const kind of ["analyses", "code"]) {
    const kept = join(home, "cache", kind);
    for (const name of readdirSync(kept)) {
      const content = readFileSync(join(kept, name));
      content[Math.floor(content.length / 2)] = (content[Math.floor(content.length / 2)] ?? 0) ^ 0xff;
      writeFileSync(join(kept, name), content);
    }
  }
  const { graph, imported } = await analyze(root);
  expect(imported).toBe(true);
  expect(bytesOf(graph)).toBe(sound);
});

test("several that analyze at once get the same, and so does who finds no folder to write", async () => {
  const root = await write({ ...PROJECT, "shop/many.py": "RATE = 6\n" });
  const graphs = await Promise.all(Array.from({ length: 4 }, () => analyze(root)));
  expect(new Set(graphs.map(({ graph }) => bytesOf(graph))).size).toBe(1);
  const blocked = join(folder, "blocked");
  await mkdir(blocked, { recursive: true });
  writeFileSync(join(blocked, "cache"), "");
  const { graph } = await createToolchain({ home: blocked, env }).analyze({ root, files: filesOf(root) });
  expect(graph.diagnostics).toEqual([]);
});

test.skipIf(process.platform === "win32")("what is kept is private", () => {
  for (const kind of ["analyses", "code"]) {
    const kept = join(home, "cache", kind);
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    expect(readdirSync(kept).map((name) => statSync(join(kept, name)).mode & 0o777)).toSatisfy(
      (modes) => modes.length > 0 && modes.every((mode) => mode === 0o600),
    );
  }
});

test("whatever is edited, an analysis is what it would be without anything kept", async () => {
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x7fffffff) * below);
  };
  const files: Files = { ...PROJECT, "shop/thing.py": READS_DATA, "shop/data.txt": "o0@x.io" };
  const root = await write(files);
  const edits: readonly ((at: number) => void)[] = [
    (at) => {
      files["shop/data.txt"] = `o${at % 3}@x.io`;
    },
    (at) => {
      files["shop/user.py"] = (PROJECT["shop/user.py"] ?? "").replace("name: str", at % 2 === 0 ? "name: str" : "name: str | None");
    },
    (at) => {
      const body = at % 2 === 0 ? "name.upper()" : "name if 'x' in name and not name else name";
      files["shop/resolvers.py"] = (PROJECT["shop/resolvers.py"] ?? "").replace("name.upper()", body);
    },
    (at) => {
      if (at % 2 === 0) files["shop/extra.py"] = `from shop.user import User\nRATE = ${at % 4}\n`;
      else delete files["shop/extra.py"];
    },
    (at) => {
      if (at % 2 === 0) files["shop/get.svc.sql"] = "-- resolves: User\n-- source: lite\nselect id, name from app_user\n";
      else delete files["shop/get.svc.sql"];
    },
  ];
  let known = 0;
  for (let step = 0; step < runs(12, 200); step++) {
    edits[random(edits.length)]?.(random(12));
    await rm(root, { recursive: true, force: true });
    await write(files, root);
    const { graph, imported } = await analyze(root);
    if (!imported) known++;
    expect(bytesOf(graph), `step ${step}`).toBe(bytesOf(await analyzeAnew(root)));
  }
  expect(known).toBeGreaterThan(0);
});
