/** The archives, read by the system's own tools. */

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeArchive } from "../../src/disk/archive-file.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-archive-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const TIME = Date.parse("2024-02-29T12:34:56Z");
const FILES = [
  { path: "svc-v1.0.0/svc", content: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))), mode: 0o755 },
  { path: "svc-v1.0.0/LICENSE", content: Buffer.from("free\n"), mode: 0o644 },
  { path: "svc-v1.0.0/man/man1/empty.1", content: Buffer.alloc(0), mode: 0o644 },
  { path: "svc-v1.0.0/block", content: Buffer.alloc(1024, "x"), mode: 0o644 },
];

function run(argv: string[]): string {
  const result = Bun.spawnSync(argv, { cwd: dir, env: { ...process.env, TZ: "UTC" } });
  if (!result.success) throw new Error(`${argv.join(" ")}: ${result.stderr.toString()}`);
  return result.stdout.toString();
}

/** Unpacks and lists by Python, whose two modules check sums and structure. */
const LIST = `
import sys, tarfile, zipfile, datetime
path, out = sys.argv[1:]
if path.endswith(".zip"):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            archive.extract(info, out)
            print(info.filename, oct(info.external_attr >> 16), "%d-%02d-%02dT%02d:%02d:%02dZ" % info.date_time)
else:
    with tarfile.open(path) as archive:
        for info in archive:
            archive.extract(info, out)
            when = datetime.datetime.fromtimestamp(info.mtime, datetime.timezone.utc)
            print(info.name, oct(0o100000 | info.mode), when.strftime("%Y-%m-%dT%H:%M:%SZ"), info.uid + info.gid or "")
`;

test.each(["a.tar.gz", "a.zip"])("%s holds the files, in order, with their modes and one time, and nothing else", async (name) => {
  await writeArchive(join(dir, name), { files: FILES, time: TIME, level: 1 });
  const lines = run(["python3", "-c", LIST, name, `out-${name}`])
    .trim()
    .split("\n");
  expect(lines.map((line) => line.trim())).toEqual(FILES.map(({ path, mode }) => `${path} 0o100${mode.toString(8)} 2024-02-29T12:34:56Z`));
  for (const { path, content } of FILES) expect(readFileSync(join(dir, `out-${name}`, path)).equals(content)).toBe(true);
});

test("tar itself keeps the modes", async () => {
  await writeArchive(join(dir, "b.tar.gz"), { files: FILES, time: TIME, level: 1 });
  run(["tar", "-xzf", "b.tar.gz"]);
  expect(statSync(join(dir, "svc-v1.0.0/svc")).mode & 0o777).toBe(0o755);
  expect(statSync(join(dir, "svc-v1.0.0/LICENSE")).mode & 0o777).toBe(0o644);
});

test.each(["tar.gz", "zip"])("a %s of the same files has the same bytes", async (kind) => {
  const bytes: Buffer[] = [];
  for (const name of [`one.${kind}`, `two.${kind}`]) {
    await writeArchive(join(dir, name), { files: FILES, time: TIME, level: 6 });
    bytes.push(readFileSync(join(dir, name)));
  }
  expect(bytes[0]?.equals(bytes[1] ?? Buffer.alloc(0))).toBe(true);
});

test("a time before 1980 is the earliest that a zip can state", async () => {
  await writeArchive(join(dir, "old.zip"), { files: FILES.slice(1, 2), time: 0, level: 1 });
  expect(run(["python3", "-c", LIST, "old.zip", "out-old"])).toContain("1980-01-01T00:00:00Z");
});
