import { afterAll, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ResultCache } from "../../src/disk/result-cache.ts";

const above = mkdtempSync(join(tmpdir(), "svc-results-"));
afterAll(() => rmSync(above, { recursive: true, force: true }));

const LIMITS = { maxBytes: 1_000_000, maxFiles: 3 };
let folder: string;
let cache: ResultCache;
let count = 0;
beforeEach(() => {
  folder = join(above, String(count++), "results");
  cache = new ResultCache(folder, LIMITS);
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (content: Uint8Array | undefined): string | undefined => content && new TextDecoder().decode(content);

/** Makes a file as old as that many seconds. */
function age(key: string, seconds: number): void {
  const then = new Date(Date.now() - seconds * 1000);
  utimesSync(join(folder, key), then, then);
}

test("a result is found under its key by every process, in private files", () => {
  expect(cache.get("aa")).toBeUndefined();
  cache.put("aa", bytes("one"));
  expect(text(new ResultCache(folder, LIMITS).get("aa"))).toBe("one");
  expect(cache.get("bb")).toBeUndefined();
  expect(statSync(join(folder, "aa")).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("the last one who writes wins, and leaves nothing beside", () => {
  cache.put("aa", bytes("one"));
  cache.put("aa", bytes("two"));
  expect(text(cache.get("aa"))).toBe("two");
  expect(readdirSync(folder)).toEqual(["aa"]);
});

test("every damaged byte, a file cut short and one under another name count as absent", () => {
  cache.put("aa", bytes("a result of some length"));
  const whole = readFileSync(join(folder, "aa"));
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(join(folder, "aa"), damaged);
    expect(cache.get("aa"), `byte ${at}`).toBeUndefined();
  }
  writeFileSync(join(folder, "bb"), whole, { mode: 0o600 });
  expect(cache.get("bb")).toBeUndefined();
  writeFileSync(join(folder, "aa"), whole);
  expect(text(cache.get("aa"))).toBe("a result of some length");
  for (const length of [0, 10, 32, whole.length - 1]) {
    truncateSync(join(folder, "aa"), length);
    expect(cache.get("aa"), `${length} bytes`).toBeUndefined();
  }
});

test.skipIf(process.platform === "win32")("a file that others may read or write, or a link, counts as absent", () => {
  cache.put("aa", bytes("one"));
  symlinkSync(join(folder, "aa"), join(folder, "bb"));
  expect(cache.get("bb")).toBeUndefined();
  chmodSync(join(folder, "aa"), 0o622);
  expect(cache.get("aa")).toBeUndefined();
});

test("what was asked for longest ago goes first", () => {
  for (const [key, seconds] of [
    ["aa", 40],
    ["bb", 30],
    ["cc", 20],
  ] as const) {
    cache.put(key, bytes(key));
    age(key, seconds);
  }
  expect(text(cache.get("aa"))).toBe("aa");
  cache.put("dd", bytes("dd"));
  expect(readdirSync(folder).sort()).toEqual(["aa", "cc", "dd"]);
});

test("the files are no more bytes together than allowed", () => {
  const random = () => crypto.getRandomValues(new Uint8Array(30_000));
  const small = new ResultCache(folder, { maxBytes: 70_000, maxFiles: 100 });
  for (const [index, key] of ["aa", "bb", "cc", "dd"].entries()) {
    small.put(key, random());
    age(key, 100 - index);
  }
  expect(readdirSync(folder).sort()).toEqual(["cc", "dd"]);
});

test("a folder that cannot be written is done without", () => {
  writeFileSync(join(above, "file"), "");
  const nowhere = new ResultCache(join(above, "file", "results"), LIMITS);
  nowhere.put("aa", bytes("one"));
  expect(nowhere.get("aa")).toBeUndefined();
});
