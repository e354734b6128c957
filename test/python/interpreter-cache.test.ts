import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SearchContext, searchInterpreter } from "../../src/python/interpreter.ts";
import { findInterpreterCached } from "../../src/python/interpreter-cache.ts";
import type { Interpreter } from "../../src/python/toolchain.ts";

setDefaultTimeout(300_000);

let folder: string;
let real: Interpreter;
let runtime: string;
let count = 0;
/**
 * Of each test: where what was found is kept, a folder on PATH, and a program there that notes its
 * starts.
 */
let cache: string;
let bin: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-known-"));
  const { found } = await searchInterpreter(undefined, { env: process.env, platform: process.platform, homeDir: process.env.HOME ?? "/" });
  if (!found) throw new Error("the tests need Python");
  real = found;
  runtime = `python${found.version.split(".").slice(0, 2).join("")}`;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  const made = join(folder, String(count++));
  cache = join(made, "cache");
  bin = join(made, "bin");
  await mkdir(bin, { recursive: true });
  program = await wrapper(bin);
});

/** A program that runs the interpreter as the search does, and notes that it was started. */
async function wrapper(into: string): Promise<string> {
  const path = join(into, `python3.${runtime.slice("python3".length)}`);
  await writeFile(path, `#!/bin/sh\necho started >> "${bin}/starts"\nexec "${real.path}" "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

const machine = (path = bin): SearchContext => ({ env: { PATH: path }, platform: "linux", homeDir: folder });
const find = (places = machine()) => findInterpreterCached(cache, runtime, places);
const starts = () => {
  try {
    return readFileSync(join(bin, "starts"), "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
};

test("what was found is found again without starting anything, by every process", async () => {
  const first = await find();
  expect([first.found, starts()]).toEqual([real, 1]);
  const second = await find();
  expect([second.found, starts()]).toEqual([real, 1]);
  expect(second.searched).toEqual([`${real.path}: found before`]);
  expect(statSync(join(cache, "interpreters.json")).mode & 0o777).toBe(0o600);
});

test("a change in what the search goes by makes it search again", async () => {
  await find();
  appendFileSync(program, "\n");
  await find();
  expect(starts()).toBe(2);
  const earlier = join(bin, "earlier");
  await mkdir(earlier);
  await wrapper(earlier);
  await find(machine(`${earlier}:${bin}`));
  expect(starts()).toBe(3);
  await mkdir(join(folder, ".pyenv", "versions"), { recursive: true });
  await find();
  await rm(join(folder, ".pyenv"), { recursive: true });
  expect(starts()).toBe(4);
});

test("another runtime is another question", async () => {
  await find();
  expect((await findInterpreterCached(cache, undefined, machine())).found).toEqual(real);
  expect(starts()).toBe(2);
  await find();
  expect(starts()).toBe(2);
});

test("an interpreter that is gone or was replaced is looked for again, and so is one that was found a day ago", async () => {
  await find();
  const file = join(cache, "interpreters.json");
  const edit = (change: object): void => {
    const entries = Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, object>);
    writeFileSync(file, JSON.stringify(Object.fromEntries(entries.map(([key, known]) => [key, { ...known, ...change }]))));
  };
  for (const change of [
    { path: join(bin, "gone") },
    { stamp: "0/0/0" },
    { foundAt: Date.now() - 90_000_000 },
    { foundAt: Date.now() + 90_000_000 },
  ]) {
    const before = starts();
    edit(change);
    expect((await find()).found).toEqual(real);
    expect(starts()).toBe(before + 1);
  }
});

test("a file that cannot be read or written is done without", async () => {
  await find();
  for (const text of ["{", "[1]", '{"a": null}', '{"a": {"path": 5}}', ""]) {
    writeFileSync(join(cache, "interpreters.json"), text);
    expect((await find()).found).toEqual(real);
  }
  await rm(cache, { recursive: true });
  writeFileSync(cache, "a file");
  expect((await find()).found).toEqual(real);
});

test("a place that cannot be looked at is none", async () => {
  symlinkSync("versions", join(bin, "versions"));
  expect((await find({ ...machine(), env: { PATH: bin, PYENV_ROOT: bin } })).found).toEqual(real);
});

test("that nothing was found is not remembered", async () => {
  const empty = join(bin, "empty");
  await mkdir(empty);
  const places = machine(empty);
  expect((await find(places)).found).toBeUndefined();
  await wrapper(empty);
  expect((await find(places)).found).toEqual(real);
});
