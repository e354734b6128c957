/**
 * Archives that unpack to more than a machine has: they are refused before they take much of it.
 */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpackArchive } from "../../src/disk/unpack.ts";
import { ARCHIVE_LIMITS, ArchiveRefused } from "../../src/domain/tar/reader.ts";
import { TempFolder } from "../harness/running-server.ts";
import { bundle, entry } from "./tar.ts";

test.each([
  ["a million files", "the archive has more than 500 entries"],
  ["a million folders in one another's place", "the archive has more than 500 entries"],
  ["files of 5 GiB", "the archive's files are larger than 1073741824 bytes"],
  ["a million files of 10 MiB", "the archive's files are larger than 33554432 bytes"],
  ["10 GiB behind the end", "the archive goes on after its end"],
  ["a header of 5 GiB", "the archive has a header that is too long"],
])(
  "%s",
  async (name, message) => {
    using folder = new TempFolder();
    const target = join(folder.path, "target");
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "unpack-measured.ts"), name, target], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const { said, peakMebibytes } = JSON.parse(await new Response(child.stdout).text()) as { said: string; peakMebibytes: number };
    expect(said).toBe(`ArchiveRefused: ${message}`);
    expect(peakMebibytes).toBeLessThan(300);
    expect(readdirSync(folder.path)).toEqual([]);
  },
  300_000,
);

test("names that mean something else on Windows are refused where that matters, and taken where it does not", async () => {
  const limits = { ...ARCHIVE_LIMITS, portableNames: true };
  for (const name of ["CON", "con.py", "pkg/aux/x.py", "com1.txt", "LPT9", "NUL.tar.gz", "a:b", "x.py:stream", "dot.", "space ", "a /b"]) {
    using folder = new TempFolder();
    const target = join(folder.path, "target");
    const error = await unpackArchive(bundle(entry({ name })).stream(), target, limits).catch((reason: unknown) => reason);
    expect([name, error]).toEqual([name, expect.any(ArchiveRefused)]);
    expect(readdirSync(folder.path)).toEqual([]);
    if (!/^[a-z]:/.test(name))
      expect(await unpackArchive(bundle(entry({ name })).stream(), target, { ...limits, portableNames: false })).toEqual([name]);
  }
  for (const [one, other] of [
    ["a.py", "A.py"],
    ["dir/x", "DIR/x"],
    ["\u00fc.py", "u\u0308.py"],
  ] as const) {
    using folder = new TempFolder();
    const both = bundle(entry({ name: one }), entry({ name: other }));
    await expect(unpackArchive(both.stream(), join(folder.path, "target"), limits)).rejects.toThrow(ArchiveRefused);
  }
});

test("a link that stands where the archive goes is not followed", async () => {
  using folder = new TempFolder();
  const elsewhere = join(folder.path, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "kept"), "");
  const target = join(folder.path, "target");
  symlinkSync(elsewhere, target);
  await expect(unpackArchive(bundle(entry({ name: "evil" })).stream(), target)).rejects.toThrow();
  expect(readdirSync(elsewhere)).toEqual(["kept"]);
  expect(readdirSync(folder.path).sort()).toEqual(["elsewhere", "target"]);
});
