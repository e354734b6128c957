import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { unpackArchive } from "../../src/disk/unpack.ts";
import { ArchiveRefused } from "../../src/domain/tar/reader.ts";
import { TempFolder } from "../harness/running-server.ts";
import { bundle, entry, pax } from "./tar.ts";

async function refusal(archive: Blob, limits?: { maxEntries: number; maxBytes: number }): Promise<string> {
  using folder = new TempFolder();
  const target = join(folder.path, "deep", "src");
  const error = await unpackArchive(archive.stream(), target, limits).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ArchiveRefused);
  const left = readdirSync(folder.path, { recursive: true }).map(String);
  expect(left.filter((name) => name !== "deep")).toEqual([]);
  return (error as ArchiveRefused).message;
}

describe("unpacking an archive", () => {
  test("files and folders, long and strange names, in private files", async () => {
    using folder = new TempFolder();
    const target = join(folder.path, "src");
    const long = `${"d".repeat(90)}/${"f".repeat(90)}.py`;
    const big = crypto.getRandomValues(new Uint8Array(60_000));
    const paths = await unpackArchive(
      bundle(
        entry({ name: "./", kind: "5" }),
        entry({ name: "pkg/", kind: "5" }),
        entry({ name: "pkg/mod.py", content: "x = 1\n" }),
        entry({ name: "./dot.py", content: "" }),
        entry({ name: "inner.py", prefix: "from/prefix", content: "p" }),
        pax(long),
        entry({ name: "short", content: "long" }),
        pax("ünï/cödé 1.sql"),
        entry({ name: "short", content: "select 1" }),
        entry({ name: "././@LongLink", kind: "L", content: "gnu/name.py\0" }),
        entry({ name: "cut", content: big }),
      ).stream(),
      target,
    );
    expect(paths).toEqual([long, "dot.py", "from/prefix/inner.py", "gnu/name.py", "pkg/mod.py", "ünï/cödé 1.sql"].sort());
    expect(readFileSync(join(target, "ünï/cödé 1.sql"), "utf8")).toBe("select 1");
    expect(new Uint8Array(readFileSync(join(target, "gnu/name.py")))).toEqual(big);
    expect([statSync(target).mode & 0o777, statSync(join(target, "pkg/mod.py")).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test("what the system's tar makes", async () => {
    using folder = new TempFolder();
    await Bun.write(join(folder.path, "in/pkg/a.py"), "a");
    await Bun.write(join(folder.path, `in/${"x".repeat(120)}/b.sql`), "b");
    const archive = join(folder.path, "b.tgz");
    expect(Bun.spawnSync(["tar", "czf", archive, "-C", join(folder.path, "in"), "."]).success).toBe(true);
    expect(await unpackArchive(Bun.file(archive).stream(), join(folder.path, "src"))).toEqual(["pkg/a.py", `${"x".repeat(120)}/b.sql`]);
  });

  test.each<[string, readonly Uint8Array[], string]>([
    ["a path that leads out", [entry({ name: "../evil" })], 'the path "../evil" leads out of the archive'],
    ["one that leads out in the middle", [entry({ name: "a/../../evil" })], "leads out"],
    ["one that leads out by its long name", [pax("../evil"), entry({ name: "fine" })], "leads out"],
    [
      "one that leads out by GNU's long name",
      [entry({ name: "@", kind: "L", content: "../evil\0" }), entry({ name: "fine" })],
      "leads out",
    ],
    ["one that leads out by its prefix", [entry({ name: "evil", prefix: "a/../.." })], "leads out"],
    ["an absolute path", [entry({ name: "/etc/evil" })], "is absolute"],
    ["a drive", [entry({ name: "C:evil" })], "is absolute"],
    ["a NUL in a long name", [pax("a\0b"), entry({ name: "fine" })], "characters"],
    ["a size below zero", [entry({ name: "a", size: "-0000000001\0" })], "no known size"],
    [
      "a size in binary",
      [entry({ name: "a", size: "\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0001\u0001\u0001\u0001" })],
      "no known size",
    ],
    ["a path of a thousand folders", [pax(`${"d/".repeat(1000)}f`), entry({ name: "fine" })], "too long"],
    ["a backslash", [entry({ name: "a\\..\\evil" })], "characters"],
    ["a control character", [entry({ name: "a\u001bb" })], "characters"],
    ["an empty segment", [entry({ name: "a//b" })], "plain form"],
    [
      "a symbolic link",
      [entry({ name: "link", kind: "2", link: "/etc" }), entry({ name: "link/passwd", content: "x" })],
      '"link" is a symbolic link',
    ],
    ["a hard link", [entry({ name: "link", kind: "1", link: "/etc/passwd" })], '"link" is a hard link'],
    ["a named pipe", [entry({ name: "pipe", kind: "6" })], "is a named pipe"],
    ["a device", [entry({ name: "null", kind: "3" })], "is a character device"],
    ["a sparse file", [entry({ name: "s", kind: "S" })], "of a kind"],
    ["a file twice", [entry({ name: "a", content: "1" }), entry({ name: "./a", content: "2" })], "in the archive twice"],
    ["a file that is a folder too", [entry({ name: "a" }), entry({ name: "a/b" })], "both a file and a folder"],
    [
      "a size hidden in a header",
      [entry({ name: "x", kind: "x", content: "18 size=99999999999\n".replace("18", "20") }), entry({ name: "a" })],
      "not taken",
    ],
    ["a damaged header", [entry({ name: "a" }).fill(7, 0, 3)], "not a tar archive"],
  ])("refuses %s, and leaves nothing", async (_name, entries, message) => {
    expect(await refusal(bundle(...entries))).toContain(message);
  });

  test("refuses a bundle that is cut, is no gzip, or lacks its end", async () => {
    const whole = gzipSync(
      Buffer.concat([entry({ name: "a", content: crypto.getRandomValues(new Uint8Array(50_000)) }), new Uint8Array(1024)]),
    );
    expect(await refusal(new Blob([whole.subarray(0, 20_000)]))).toContain("not a whole gzip file");
    expect(await refusal(new Blob(["not gzip at all"]))).toContain("not a whole gzip file");
    expect(await refusal(new Blob([gzipSync(entry({ name: "a", content: "x" }))]))).toBe("the archive ends in the middle");
    expect(await refusal(new Blob([gzipSync(entry({ name: "a", content: "x".repeat(2000) }).subarray(0, 1000))]))).toBe(
      "the archive ends in the middle of a file",
    );
    expect(await refusal(new Blob([]))).toContain("archive");
  });

  test("keeps to its limits, also against a bomb", async () => {
    const many = Array.from({ length: 20 }, (_, n) => entry({ name: `f${n}` }));
    expect(await refusal(bundle(...many), { maxEntries: 10, maxBytes: 1000 })).toBe("the archive has more than 10 entries");
    const bomb = bundle(entry({ name: "zeros", content: new Uint8Array(20 * 1024 * 1024) }));
    expect(bomb.size).toBeLessThan(100_000);
    expect(await refusal(bomb, { maxEntries: 10, maxBytes: 1024 * 1024 })).toContain("larger than 1048576 bytes");
  });
});
