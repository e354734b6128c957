/** Files to and from a sandbox as archives: what is packed, and what a hostile archive can do. */

import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArchive } from "../../src/domain/tar/reader.ts";
import { TAR_END, type TarHead, tarHead, tarPadding } from "../../src/domain/tar/writer.ts";
import { type Packed, pack } from "../../src/sandbox-files/pack.ts";
import { placeOf, splitPath } from "../../src/sandbox-files/place.ts";
import { targetOf, type Unpacked, unpack } from "../../src/sandbox-files/unpack.ts";
import { TempFolder } from "../harness/running-server.ts";

const nothing = (): Packed => ({ files: 0, bytes: 0, leftOut: [] });

async function* inPieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

function archive(...entries: readonly (Partial<TarHead> & { readonly path: string; readonly text?: string })[]): Uint8Array {
  const parts = entries.flatMap(({ text = "", ...head }) => [
    ...tarHead({ kind: "file", size: text.length, mode: 0o644, time: 0, ...head }),
    Buffer.from(text),
    tarPadding(text.length),
  ]);
  return Buffer.concat([...parts, TAR_END]);
}

async function unpackedIn(folder: string, bytes: Uint8Array, name = "a", maxBytes = 1_000_000): Promise<Unpacked | string> {
  const unpacked: Unpacked = { files: 0, bytes: 0, leftOut: 0, first: undefined };
  try {
    await unpack(inPieces(bytes), { name, target: join(folder, "target"), maxBytes }, unpacked);
    return unpacked;
  } catch (error) {
    return (error as Error).message;
  }
}

test("what is packed is unpacked by tar, links as links, and back", async () => {
  using folder = new TempFolder();
  const source = join(folder.path, "source");
  mkdirSync(join(source, "sub"), { recursive: true });
  writeFileSync(join(source, "run"), "#!/bin/sh\n");
  chmodSync(join(source, "run"), 0o755);
  const long = `${"é".repeat(60)}-${"n".repeat(100)}`;
  writeFileSync(join(source, "sub", long), "x".repeat(1_000));
  symlinkSync("/etc/passwd", join(source, "link"));
  symlinkSync("t".repeat(150), join(source, "sub", "far"));
  const packed = nothing();
  const bytes = Buffer.concat(await Array.fromAsync(pack(source, "a", packed)));
  expect([packed.files, packed.bytes]).toEqual([2, 1_010]);
  expect(bytes.includes("root:")).toBe(false);
  const out = join(folder.path, "out");
  mkdirSync(out);
  const tar = Bun.spawnSync(["tar", "-xf", "-", "-C", out], { stdin: bytes });
  expect([tar.exitCode, tar.stderr.toString()]).toEqual([0, ""]);
  expect(readdirSync(join(out, "a", "sub")).toSorted()).toEqual(["far", long].toSorted());
  expect(statSync(join(out, "a", "run")).mode & 0o777).toBe(0o755);

  expect(await unpackedIn(folder.path, bytes)).toMatchObject({ files: 2, bytes: 1_010, leftOut: 2, first: { path: "a/link" } });
  expect(readFileSync(join(folder.path, "target", "sub", long), "utf8")).toBe("x".repeat(1_000));
  expect(statSync(join(folder.path, "target", "run")).mode & 0o777).toBe(0o755);
  expect(existsSync(join(folder.path, "target", "link"))).toBe(false);
});

test("a file that is larger than a head can say is packed with its size", () => {
  const size = 9 * 2 ** 30;
  expect(Buffer.concat(tarHead({ kind: "file", path: "a", size, mode: 0o644, time: 0 })).toString("latin1")).toContain(`size=${size}\n`);
});

test("a file that shrinks while it is read is told", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "big");
  writeFileSync(path, Buffer.alloc(1_000_000));
  const reading = pack(path, "big", nothing())[Symbol.asyncIterator]();
  await reading.next();
  await reading.next();
  truncateSync(path, 10);
  const rest = async (): Promise<void> => {
    while (!(await reading.next()).done);
  };
  expect(await rest().catch((error: Error) => error.message)).toContain("became shorter while it was read");
});

test.each([
  ["a path above", archive({ path: "a/../../x", text: "1" }), "leads out of the archive's root"],
  ["an absolute path", archive({ path: "/etc/x", text: "1" }), "is absolute"],
  ["another name", archive({ path: "b", text: "1" }), "was not asked for"],
  ["a link and what is written through it", archive({ kind: "link", path: "a", target: "/tmp" }, { path: "a/x", text: "1" }), undefined],
  ["a link alone", archive({ kind: "link", path: "a", target: "/etc/passwd" }), "is a symbolic link, which is not followed"],
  ["a file that is a folder too", archive({ path: "a", text: "1" }, { path: "a/x", text: "1" }), "both a file and a folder"],
  ["more bytes than are taken", archive({ path: "a", text: "x".repeat(2_000_000) }), "larger than 1000000 bytes"],
  ["nothing", archive(), "what the sandbox sent is nothing"],
  ["no archive", Buffer.from("tar: not found\n"), "ends in the middle"],
])("an archive of a sandbox with %s leads nowhere else, and leaves nothing", async (_what, bytes, said) => {
  using folder = new TempFolder();
  const outcome = await unpackedIn(folder.path, bytes);
  if (said === undefined) {
    expect(outcome).toMatchObject({ files: 1, leftOut: 1 });
    expect(readFileSync(join(folder.path, "target", "x"), "utf8")).toBe("1");
    expect(readdirSync(folder.path)).toEqual(["target"]);
  } else {
    expect(outcome).toContain(said);
    expect(readdirSync(folder.path)).toEqual([]);
  }
});

test("links and devices count as entries: there is a bound", async () => {
  const many = archive(...Array.from({ length: 20 }, (_, at) => ({ kind: "link" as const, path: `l${at}`, target: "/" })));
  const read = async (maxEntries: number): Promise<number> =>
    (await Array.fromAsync(readArchive(inPieces(many), { maxEntries, maxBytes: 1, onLeftOut: () => undefined }))).length;
  expect(await read(20)).toBe(0);
  expect(await read(19).catch((error: Error) => error.message)).toContain("more than 19 entries");
});

test("a file takes the place of a file or link, and a folder that of nothing", async () => {
  using folder = new TempFolder();
  const target = join(folder.path, "target");
  writeFileSync(join(folder.path, "kept"), "kept");
  symlinkSync(join(folder.path, "kept"), target);
  expect(await unpackedIn(folder.path, archive({ path: "a", text: "new" }))).toMatchObject({ files: 1 });
  expect([readFileSync(target, "utf8"), readFileSync(join(folder.path, "kept"), "utf8")]).toEqual(["new", "kept"]);
  expect(await unpackedIn(folder.path, archive({ path: "a/x", text: "1" }))).toContain("what comes is a folder");
  mkdirSync(join(folder.path, "there", "a"), { recursive: true });
  expect(await targetOf(join(folder.path, "there"), "b")).toBe(join(folder.path, "there", "b"));
  expect(await targetOf(join(folder.path, "there"), "a").catch((error: Error) => error.message)).toContain("there is a folder at");
});

test("places are told apart", () => {
  expect(placeOf("try:/a/b")).toEqual({ is: "sandbox", sandbox: "try", path: "/a/b" });
  expect(placeOf("./try:/a")).toEqual({ is: "machine", path: "./try:/a" });
  expect(placeOf("/x:/a")).toEqual({ is: "machine", path: "/x:/a" });
  expect(placeOf("-")).toEqual({ is: "stream" });
  expect(() => placeOf("try:relative")).toThrow("names no absolute path in a sandbox");
  expect(["/a/b", "/a/", "/", "/a"].map(splitPath)).toEqual([
    { folder: "/a", name: "b" },
    { folder: "/", name: "a" },
    { folder: "/", name: "" },
    { folder: "/", name: "a" },
  ]);
});
