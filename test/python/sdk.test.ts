import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SDK_FILES, sdkHash, unpackSdk } from "../../src/python/sdk.ts";

setDefaultTimeout(60_000);

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
  await writeFile(
    entry,
    `import { unpackSdk } from ${JSON.stringify(resolve(import.meta.dir, "../../src/python/sdk.ts"))};\nconsole.log(await unpackSdk(process.argv[2] as string));\n`,
  );
  const built = await Bun.build({
    entrypoints: [entry],
    compile: { outfile: join(folder, "built") },
    bytecode: true,
    format: "esm",
    minify: true,
  });
  expect(built.success).toBe(true);
  const empty = join(folder, "empty");
  await mkdir(empty);
  await copyFile(join(folder, "built"), join(empty, "program"));
  await rm(join(folder, "built"));
  const child = Bun.spawn([join(empty, "program"), join(empty, "state")], { cwd: empty, env: {}, stdout: "pipe", stderr: "inherit" });
  const printed = (await new Response(child.stdout).text()).trim();
  expect(await child.exited).toBe(0);
  expect(printed).toBe(join(empty, "state", sdkHash()));
  for (const path of SDK_FILES) expect(await readFile(join(printed, path), "utf8")).toBe(await readFile(join(SOURCE, path), "utf8"));
});
