/** Bytes on their way to the disk: only those that were signed arrive there. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { decompressed, type Encoding, writeChecked } from "../../src/release/checked-file.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-checked-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * index) % 251));
const facts = (bytes: Uint8Array) => ({ size: bytes.length, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") });
const code = (value: string) => expect.objectContaining({ code: value });

async function* pieces(bytes: Uint8Array, length = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

describe("writing", () => {
  test("keeps what fits, private until it may be run", async () => {
    const told: number[] = [];
    const path = join(dir, "new");
    await writeChecked(path, pieces(CONTENT), facts(CONTENT), { name: "it", executable: true, onBytes: (total) => told.push(total) });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect([told.length, told.at(-1)]).toEqual([200, CONTENT.length]);
    await writeChecked(join(dir, "part"), pieces(CONTENT), facts(CONTENT), { name: "it" });
    expect(statSync(join(dir, "part")).mode & 0o777).toBe(0o600);
  });

  test("stops at the first byte too many, and leaves nothing", async () => {
    let taken = 0;
    async function* endless() {
      for (;;) {
        taken++;
        yield CONTENT;
      }
    }
    await expect(writeChecked(join(dir, "new"), endless(), facts(CONTENT), { name: "it" })).rejects.toEqual(code("release_too_large"));
    expect([taken, readdirSync(dir)]).toEqual([2, []]);
  });

  test.each([
    ["a byte too few", CONTENT.subarray(1)],
    ["other bytes", Buffer.from(CONTENT).fill(1, 5, 6)],
    ["nothing", Buffer.alloc(0)],
  ])("refuses %s, and leaves nothing", async (_, bytes) => {
    await expect(writeChecked(join(dir, "new"), pieces(bytes), facts(CONTENT), { name: "it" })).rejects.toEqual(code("release_checksum"));
    expect(readdirSync(dir)).toEqual([]);
  });

  test("writes through no link, and over nothing that is there", async () => {
    const elsewhere = join(dir, "elsewhere");
    symlinkSync(elsewhere, join(dir, "link"));
    writeFileSync(join(dir, "file"), "mine");
    for (const name of ["link", "file"])
      await expect(writeChecked(join(dir, name), pieces(CONTENT), facts(CONTENT), { name })).rejects.toEqual(code("EEXIST"));
    expect([existsSync(elsewhere), readFileSync(join(dir, "file"), "utf8")]).toEqual([false, "mine"]);
  });
});

describe("decompressing", () => {
  async function whole(bytes: Uint8Array, encoding: Encoding): Promise<Buffer> {
    const path = join(dir, `in-${crypto.randomUUID()}`);
    writeFileSync(path, bytes);
    const parts: Uint8Array[] = [];
    for await (const part of decompressed(path, encoding, "it")) parts.push(part);
    return Buffer.concat(parts);
  }

  test("zst and gz give what went in", async () => {
    expect((await whole(zstdCompressSync(CONTENT), { kind: "zst" })).equals(CONTENT)).toBe(true);
    expect((await whole(gzipSync(CONTENT), { kind: "gz" })).equals(CONTENT)).toBe(true);
  });

  test("a delta gives what went in with the file it was made from, and never that with another", async () => {
    const base = join(dir, "base");
    const noise = crypto.getRandomValues(new Uint8Array(60_000));
    writeFileSync(base, noise);
    const target = Buffer.concat([noise, Buffer.from("and something new")]);
    const delta = zstdCompressSync(target, { dictionary: noise } as Parameters<typeof zstdCompressSync>[1]);
    expect(delta.length).toBeLessThan(1000);
    expect((await whole(delta, { kind: "delta", base })).equals(target)).toBe(true);
    writeFileSync(base, crypto.getRandomValues(new Uint8Array(60_000)));
    const other = await whole(delta, { kind: "delta", base }).catch(() => Buffer.alloc(0));
    expect(other.equals(target)).toBe(false);
  });

  test.each<[string, Encoding["kind"], Uint8Array]>([
    ["a zst that is none", "zst", Buffer.from("not at all")],
    ["a gz that is none", "gz", Buffer.from("not at all")],
    ["half a gz", "gz", gzipSync(CONTENT).subarray(0, 40)],
  ])("%s is damaged", async (_, kind, bytes) => {
    await expect(whole(bytes, { kind } as Encoding)).rejects.toEqual(code("release_damaged"));
  });

  test("half a zst may end without an error, but is never taken for the file", async () => {
    const path = join(dir, "half");
    const packed = zstdCompressSync(CONTENT);
    writeFileSync(path, packed.subarray(0, packed.length / 2));
    const writing = writeChecked(join(dir, "new"), decompressed(path, { kind: "zst" }, "it"), facts(CONTENT), { name: "it" });
    await expect(writing).rejects.toMatchObject({ code: expect.stringMatching(/^release_(checksum|damaged)$/) });
    expect(readdirSync(dir)).toEqual(["half"]);
  });
});
