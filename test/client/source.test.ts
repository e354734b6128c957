import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { unpackSource } from "../../src/client/source.ts";
import { loadProject } from "../../src/project/load.ts";

const root = mkdtempSync(join(tmpdir(), "svc-source-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let place = "";
let made = 0;
beforeEach(() => {
  place = join(root, `case${made++}`);
  mkdirSync(place);
});

interface Entry {
  readonly name: string;
  readonly content?: string;
  readonly type?: string;
  readonly link?: string;
  /** Size written in the header, when it lies. */
  readonly size?: number;
}

/** A tar written byte by byte, so that it can say what no archiver would. */
function tar(entries: readonly Entry[], end = true): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const { name, content = "", type = "0", link = "", size } of entries) {
    const header = Buffer.alloc(512);
    const body = Buffer.from(content);
    header.write(name, 0, 100, "utf8");
    header.write("0000644\0", 100);
    header.write(`${(size ?? body.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write(type, 156);
    header.write(link, 157);
    header.write("ustar\0", 257);
    header.write("00", 263);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    blocks.push(header, body, Buffer.alloc((512 - (body.length % 512)) % 512));
  }
  if (end) blocks.push(Buffer.alloc(1024));
  return Buffer.concat(blocks);
}
const archive = (...entries: Entry[]) => gzipSync(tar(entries));
const pax = (path: string): Entry => {
  const record = ` path=${path}\n`;
  let length = record.length;
  while (String(length).length + record.length !== length) length = String(length).length + record.length;
  return { name: "pax", type: "x", content: `${length}${record}` };
};

describe("archives that are unpacked", () => {
  test("files and folders, private, whole", async () => {
    const target = join(place, "out");
    const long = `${"d".repeat(90)}/${"e".repeat(90)}.py`;
    const files = await unpackSource(
      archive(
        { name: "a.py", content: "x = 1\n" },
        { name: "pkg/", type: "5" },
        { name: "pkg/b.py", content: "y" },
        { name: "./c.py" },
        pax(long),
        { name: "short", content: "z" },
      ),
      target,
    );
    expect(files).toEqual(["a.py", "c.py", long, "pkg/b.py"].sort());
    expect(readFileSync(join(target, "a.py"), "utf8")).toBe("x = 1\n");
    expect(readFileSync(join(target, long), "utf8")).toBe("z");
    expect([
      statSync(target).mode & 0o777,
      statSync(join(target, "pkg")).mode & 0o777,
      statSync(join(target, "a.py")).mode & 0o777,
    ]).toEqual([0o700, 0o700, 0o600]);
    expect(readdirSync(place)).toEqual(["out"]);
  });
  test("what a project bundles", async () => {
    const project = join(place, "project");
    mkdirSync(join(project, "deep/er"), { recursive: true });
    const texts: Record<string, string> = {
      "svc.yaml": "project: x\n",
      "deep/er/é.py": "# é\n",
      "empty.txt": "",
      "big.txt": "x".repeat(100_000),
    };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(project, name), text);
    const { bytes } = await (await loadProject(project)).bundle();
    const files = await unpackSource(bytes, join(place, "out"));
    expect(Object.fromEntries(files.map((name) => [name, readFileSync(join(place, "out", name), "utf8")]))).toEqual(texts);
  });
  test("names that only Windows minds are taken elsewhere", async () => {
    const names = ["CON", "aux.py", "ab:c", "trailing.", "README", "readme"];
    expect(await unpackSource(archive(...names.map((name) => ({ name }))), join(place, "out"), { maxEntries: 9, maxBytes: 9 })).toEqual(
      [...names].sort(),
    );
  });
});

describe("archives that are refused: nothing outside the target, nothing left behind", () => {
  const portable = { maxEntries: 100, maxBytes: 1000, portableNames: true };
  const cases: [name: string, bytes: () => Uint8Array, said: RegExp, limits?: typeof portable][] = [
    ["..", () => archive({ name: "../evil", content: "x" }), /leads out/],
    [".. inside", () => archive({ name: "a/../../evil", content: "x" }), /leads out/],
    [".. in a long name", () => archive(pax("a/../../evil"), { name: "ok", content: "x" }), /leads out/],
    ["absolute", () => archive({ name: "/tmp/evil", content: "x" }), /absolute/],
    ["drive letter", () => archive({ name: "C:evil", content: "x" }), /absolute/],
    ["backslash", () => archive({ name: "..\\evil", content: "x" }), /characters/],
    ["control character", () => archive({ name: "a\u001b[31m", content: "x" }), /characters/],
    ["symbolic link", () => archive({ name: "link", type: "2", link: "/etc/passwd" }), /symbolic link/],
    [
      "write through a symbolic link",
      () => archive({ name: "d", type: "2", link: ".." }, { name: "d/evil", content: "x" }),
      /symbolic link/,
    ],
    ["hard link", () => archive({ name: "link", type: "1", link: "/etc/passwd" }), /hard link/],
    ["device", () => archive({ name: "dev", type: "3" }), /character device/],
    ["pipe", () => archive({ name: "fifo", type: "6" }), /named pipe/],
    ["unknown kind", () => archive({ name: "odd", type: "Z" }), /kind/],
    ["twice", () => archive({ name: "a", content: "1" }, { name: "./a", content: "2" }), /twice/],
    ["file and folder", () => archive({ name: "a", content: "1" }, { name: "a/b", content: "2" }), /both a file and a folder/],
    ["double slash", () => archive({ name: "a//b", content: "1" }), /plain form/],
    ["long path", () => archive(pax(`${"a/".repeat(600)}b`), { name: "ok" }), /too long/],
    ["too many entries", () => archive(...Array.from({ length: 101 }, (_, i) => ({ name: `f${i}` }))), /more than 100/, portable],
    ["too many bytes", () => archive({ name: "a", content: "x".repeat(1001) }), /larger than 1000/, portable],
    ["too many bytes by its header", () => archive({ name: "a", content: "x", size: 8_000_000_000 }), /larger than 1000/, portable],
    ["case on such a system", () => archive({ name: "README" }, { name: "readme" }), /twice/, portable],
    ["a device's name on such a system", () => archive({ name: "aux.py" }), /something else/, portable],
    ["a stream's name on such a system", () => archive({ name: "a/b:c" }), /something else/, portable],
    ["cut in a file", () => gzipSync(tar([{ name: "a", content: "x".repeat(2000) }], false).subarray(0, 1000)), /ends in the middle/],
    ["without an end", () => gzipSync(tar([{ name: "a", content: "x" }], false)), /ends in the middle/],
    ["no tar", () => gzipSync(Buffer.alloc(2048, "abc")), /not a tar archive/],
  ];
  for (const [name, bytes, said, limits] of cases) {
    test(name, async () => {
      const failed = unpackSource(bytes(), join(place, "in/out"), limits);
      await expect(failed).rejects.toMatchObject({ code: "unsafe_archive", exitCode: 1 });
      await expect(failed).rejects.toThrow(said);
      expect(existsSync(join(place, "in")) ? readdirSync(join(place, "in")) : []).toEqual([]);
      expect(readdirSync(place).filter((entry) => entry !== "in")).toEqual([]);
    });
  }
  test("gzip that is cut or none", async () => {
    const whole = archive({ name: "a", content: "x".repeat(5000) });
    for (const bytes of [whole.subarray(0, whole.length - 6), whole.subarray(0, 5), Buffer.from("<html>"), new Uint8Array()]) {
      await expect(unpackSource(bytes, join(place, "out"))).rejects.toBeInstanceOf(Error);
      expect(readdirSync(place)).toEqual([]);
    }
  });
  test("a bomb stops at the limit", async () => {
    const bomb = gzipSync(tar([{ name: "zeros", content: "\0".repeat(30_000_000) }]));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(unpackSource(bomb, join(place, "out"), { maxEntries: 10, maxBytes: 1_000_000 })).rejects.toThrow(/larger than/);
    expect(readdirSync(place)).toEqual([]);
  });
  test("a target that is there, also as a link", async () => {
    const elsewhere = join(place, "elsewhere");
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(place, "out"));
    await expect(unpackSource(archive({ name: "a" }), join(place, "out"))).rejects.toMatchObject({ code: "exists" });
    await expect(unpackSource(archive({ name: "a" }), elsewhere)).rejects.toMatchObject({ code: "exists" });
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
