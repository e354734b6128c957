import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { unpackArchive } from "../../src/disk/unpack.ts";
import { ArchiveRefused } from "../../src/domain/archive.ts";
import { TempFolder } from "../server/running-server.ts";

const encoder = new TextEncoder();

interface Entry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  readonly kind?: string;
  readonly link?: string;
  readonly prefix?: string;
}

/** One tar entry, written here so that any header can be made. */
function entry({ name, content = "", kind = "0", link = "", prefix = "" }: Entry): Uint8Array {
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  const block = new Uint8Array(512 + Math.ceil(bytes.length / 512) * 512);
  const put = (text: string, at: number) => block.set(encoder.encode(text), at);
  put(name, 0);
  put("0000644\0", 100);
  put(`${bytes.length.toString(8).padStart(11, "0")}\0`, 124);
  put("        ", 148);
  put(kind, 156);
  put(link, 157);
  put("ustar\u000000", 257);
  put(prefix, 345);
  const sum = block.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  block.set(bytes, 512);
  return block;
}

function pax(path: string): Uint8Array {
  const record = (length: number) => `${length} path=${path}\n`;
  let length = encoder.encode(record(0)).length;
  while (encoder.encode(record(length)).length !== length) length = encoder.encode(record(length)).length;
  return entry({ name: "pax", kind: "x", content: record(length) });
}

function bundle(...entries: readonly Uint8Array[]): Blob {
  return new Blob([gzipSync(Buffer.concat([...entries, new Uint8Array(1024)]))]);
}

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
