/** The library comes out of the binary whole, once, and only where nobody else can change it. */

import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LibraryFiles } from "../../../../src/server/tables/duckdb/library-files.ts";
import { checkOf, unpackLibrary } from "../../../../src/server/tables/duckdb/unpack-library.ts";
import { TableError } from "../../../../src/server/tables/engine.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-unpack-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const content = Buffer.from("a library ".repeat(10_000));
const asset = join(folder, "library.zst");
writeFileSync(asset, Bun.zstdCompressSync(content));
const file = { name: "addon.node", asset, size: content.length, check: checkOf(content) };
const LIBRARY = { kind: "packed", hash: "ab".repeat(32), addon: "addon.node", files: [file] } as const satisfies LibraryFiles;

test("it is unpacked once, and again when it is damaged, cut off, or open to others", () => {
  const cache = join(folder, "cache");
  const path = unpackLibrary(LIBRARY, [cache]);
  expect(readFileSync(path).equals(content)).toBe(true);
  const { ino, mode } = statSync(path);
  expect(mode & 0o777).toBe(0o500);
  expect(unpackLibrary(LIBRARY, [cache])).toBe(path);
  expect(statSync(path).ino).toBe(ino);
  for (const harm of [
    () => writeFileSync(path, content.toReversed()),
    () => writeFileSync(path, content.subarray(1)),
    () => chmodSync(path, 0o777),
    () => rmSync(path),
  ]) {
    if (existsSync(path)) chmodSync(path, 0o700);
    harm();
    unpackLibrary(LIBRARY, [cache]);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o500);
  }
  expect(readdirSync(cache)).toEqual([`duckdb-${"ab".repeat(16)}`]);
});

test("several processes at once leave one whole library", async () => {
  const cache = join(folder, "shared");
  const program = `import { unpackLibrary } from ${JSON.stringify(join(import.meta.dir, "../../../../src/server/tables/duckdb/unpack-library.ts"))};
    console.log(unpackLibrary(JSON.parse(process.argv[1]), [process.argv[2]]));`;
  const runs = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, "-e", program, JSON.stringify(LIBRARY), cache], { stdout: "pipe" }),
  );
  const said = await Promise.all(runs.map(async (run) => (await new Response(run.stdout).text()).trim()));
  expect(new Set(said).size).toBe(1);
  expect(readFileSync(said[0] as string).equals(content)).toBe(true);
  expect(readdirSync(cache)).toHaveLength(1);
});

test("the next folder is taken where the first cannot be written; without any, the reasons are said", () => {
  const blocked = join(folder, "blocked");
  writeFileSync(blocked, "a file");
  const second = join(folder, "second");
  expect(unpackLibrary(LIBRARY, [blocked, second])).toStartWith(second);
  const refusal = (() => {
    try {
      return unpackLibrary(LIBRARY, [join(blocked, "below")]);
    } catch (error) {
      return error as TableError;
    }
  })();
  expect(refusal).toBeInstanceOf(TableError);
  expect(refusal).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^the table engine has to be unpacked once.*blocked/),
  });
});

test("a library that is damaged in the binary is not unpacked", () => {
  const cache = join(folder, "none");
  mkdirSync(cache);
  expect(() => unpackLibrary({ ...LIBRARY, files: [{ ...file, check: "0".repeat(16) }] }, [cache])).toThrow("install svc anew");
  expect(readdirSync(cache)).toEqual([]);
});
