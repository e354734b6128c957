import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bakePlugin } from "../../src/packaging/bake.ts";
import { SDK_FILES, sdkHash, unpackSdk } from "../../src/python/sdk.ts";

setDefaultTimeout(300_000);

const SOURCE = resolve(import.meta.dir, "../../src/sdk");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-sdk-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function filesBelow(root: string): Promise<string[]> {
  return (await Array.fromAsync(new Bun.Glob("**/*").scan({ cwd: root, dot: true })))
    .filter((path) => !path.includes("__pycache__"))
    .sort();
}

test("every file of the package is carried", async () => {
  expect([...SDK_FILES]).toEqual(await filesBelow(SOURCE));
  expect(SDK_FILES).toContain("svc/_boot.py");
});

test("it is unpacked as it is, privately, under its hash", async () => {
  const root = await unpackSdk(join(folder, "a"));
  expect(root).toBe(join(folder, "a", sdkHash()));
  expect(await filesBelow(root)).toEqual([...SDK_FILES]);
  for (const path of SDK_FILES) {
    expect(await readFile(join(root, path), "utf8")).toBe(await readFile(join(SOURCE, path), "utf8"));
    expect((await stat(join(root, path))).mode & 0o777).toBe(0o600);
  }
  expect((await stat(root)).mode & 0o777).toBe(0o700);
  expect((await stat(join(root, "svc"))).mode & 0o777).toBe(0o700);
});

test("many may unpack at once, and what a killed one left does not matter", async () => {
  const target = join(folder, "b");
  await mkdir(join(target, ".unpacking-1-killed", "svc"), { recursive: true });
  const roots = await Promise.all(Array.from({ length: 8 }, () => unpackSdk(target)));
  expect(new Set(roots).size).toBe(1);
  expect(await filesBelow(roots[0] as string)).toEqual([...SDK_FILES]);
  expect((await readdir(target)).sort()).toEqual([".unpacking-1-killed", sdkHash()]);
});

test("a folder that cannot be written is an error", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  await expect(unpackSdk(join(file, "sdk"))).rejects.toThrow("ENOTDIR");
});

test("a compiled binary carries it, alone in an empty folder", async () => {
  const entry = join(folder, "entry.ts");
  const source = (path: string) => JSON.stringify(resolve(import.meta.dir, "../../src", path));
  await writeFile(
    entry,
    `import { createToolchain } from ${source("python/create-toolchain.ts")};
import { createWorkerPool } from ${source("server/python/worker-pool.ts")};
const chain = createToolchain({ home: process.cwd() + "/state", env: process.env });
const { graph, python } = await chain.analyze({ root: process.cwd() + "/project", files: ["mod.py"] });
const sdkRoot = await chain.sdkRoot();
const pool = await createWorkerPool({
  python: python as string, sdkRoot, sourceRoot: process.cwd() + "/project", env: {}, size: 1, socketDir: process.cwd() + "/s", onLog: () => {},
  clock: { now: Date.now, sleep: (ms) => Bun.sleep(ms) }, deploymentId: "d", environmentName: "e", defaultTimeoutMs: 60_000,
  resolverFqns: graph.resolvers.map((resolver) => resolver.fqn),
});
const context = { queryId: "", traceId: "", tags: [], queryContext: {} };
const result = await pool.call({ resolver: "mod.twice", rows: 1, columns: { i: [21] }, now: [""], deadlineMs: 0, context });
await pool.drain(1_000);
console.log(JSON.stringify({ sdkRoot, result: result.columns }));
`,
  );
  const built = await Bun.build({
    plugins: [bakePlugin],
    entrypoints: [entry],
    compile: { outfile: join(folder, "built") },
    bytecode: true,
    format: "esm",
    minify: true,
  });
  expect(built.success).toBe(true);
  const empty = await realpath(await mkdtemp(join(tmpdir(), "svc-empty-")));
  try {
    await copyFile(join(folder, "built"), join(empty, "program"));
    await rm(join(folder, "built"));
    await mkdir(join(empty, "project"));
    await writeFile(
      join(empty, "project", "mod.py"),
      "from svc import online\nfrom svc.features import features\n\n@features\nclass A:\n    id: int\n    two: int\n\n@online\ndef twice(i: A.id) -> A.two:\n    return 2 * i\n",
    );
    const child = Bun.spawn([join(empty, "program")], { cwd: empty, env: process.env, stdout: "pipe", stderr: "inherit" });
    const printed = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    const { sdkRoot, result } = JSON.parse(printed);
    expect(result).toEqual({ "a.two": [42] });
    expect(sdkRoot).toBe(join(empty, "state", "sdk", sdkHash()));
    for (const path of SDK_FILES) expect(await readFile(join(sdkRoot, path), "utf8")).toBe(await readFile(join(SOURCE, path), "utf8"));
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
});
