import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEntries, updateEntry } from "../../src/config/file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-config-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
function home(): string {
  const folder = join(root, `home${made++}`);
  mkdirSync(folder);
  return folder;
}
const mode = (path: string) => statSync(path).mode & 0o777;

test("a first write makes the file and its folder private, also under umask 0", async () => {
  const homeDir = home();
  const before = process.umask(0);
  try {
    const path = await updateEntry({}, { env: {}, homeDir }, "default", { clientId: "a", clientSecret: "0123" });
    expect(path).toBe(join(homeDir, ".config/svc.yml"));
    expect([mode(path), mode(join(homeDir, ".config"))]).toEqual([0o600, 0o700]);
    for (const name of readdirSync(join(homeDir, ".config"))) expect(mode(join(homeDir, ".config", name))).toBe(0o600);
  } finally {
    process.umask(before);
  }
});

test("a file that others could read is private after a write", async () => {
  const homeDir = home();
  writeFileSync(join(homeDir, ".svc.yml"), "tokens: {}\n");
  chmodSync(join(homeDir, ".svc.yml"), 0o644);
  const path = await updateEntry({}, { env: {}, homeDir }, "default", { clientId: "a" });
  expect([path, mode(path)]).toEqual([join(homeDir, ".svc.yml"), 0o600]);
});

test("comments, order and unknown keys survive; a removed field is gone; values come back as text", async () => {
  const homeDir = home();
  const path = join(homeDir, ".svc.yml");
  writeFileSync(
    path,
    "# mine\nother: 1\ntokens:\n  # work\n  default:\n    clientId: old # id\n    extra: kept\n    grpcServer: http://old.example.com\n  /p/a: {clientId: x}\n",
  );
  await updateEntry({}, { env: {}, homeDir }, "default", { clientId: "0123", clientSecret: "a: b #c", grpcServer: undefined });
  const text = readFileSync(path, "utf8");
  for (const kept of ["# mine", "# work", "# id", "other: 1", "extra: kept", "/p/a"]) expect(text).toContain(kept);
  expect(text).not.toContain("old.example.com");
  expect(Object.fromEntries(await readEntries(path))).toEqual({
    default: { clientId: "0123", clientSecret: "a: b #c" },
    "/p/a": { clientId: "x" },
  });
});

test("what was read from ~/.config.yml is taken along to the file that is written", async () => {
  const homeDir = home();
  writeFileSync(join(homeDir, ".config.yml"), "tokens: {default: {clientId: old, clientSecret: s}}\n");
  const path = await updateEntry({}, { env: {}, homeDir }, "/p", { activeEnvironment: "e" });
  expect(path).toBe(join(homeDir, ".config/svc.yml"));
  expect((await readEntries(path)).get("default")?.clientId).toBe("old");
  expect(readFileSync(join(homeDir, ".config.yml"), "utf8")).toContain("old");
});

test("a symbolic link at the path is refused, and its target stays as it was", async () => {
  const homeDir = home();
  const target = join(homeDir, "target");
  writeFileSync(target, "tokens: {}\n");
  symlinkSync(target, join(homeDir, ".svc.yml"));
  await expect(updateEntry({}, { env: {}, homeDir }, "default", { clientSecret: "s3cret" })).rejects.toMatchObject({
    code: "symlink_refused",
  });
  expect(readFileSync(target, "utf8")).toBe("tokens: {}\n");
  expect(lstatSync(join(homeDir, ".svc.yml")).isSymbolicLink()).toBe(true);
});

test("a symbolic link at the lock is refused", async () => {
  const homeDir = home();
  const target = join(homeDir, "target");
  symlinkSync(target, join(homeDir, ".svc.yml.lock"));
  writeFileSync(join(homeDir, ".svc.yml"), "tokens: {}\n");
  await expect(updateEntry({}, { env: {}, homeDir }, "default", { clientId: "a" })).rejects.toMatchObject({ code: "symlink_refused" });
  expect(existsSync(target)).toBe(false);
});

test("a broken file is not overwritten", async () => {
  const homeDir = home();
  const path = join(homeDir, ".svc.yml");
  writeFileSync(path, "tokens: {default: [");
  await expect(updateEntry({}, { env: {}, homeDir }, "default", { clientId: "a" })).rejects.toMatchObject({ code: "config_broken" });
  expect(readFileSync(path, "utf8")).toBe("tokens: {default: [");
  expect(readdirSync(homeDir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

/**
 * Each waits for its turn by asking again and again: much more of them compute for long, and meet
 * in no other way.
 */
const WRITERS = 24;

test(`${WRITERS} processes that write at once keep ${WRITERS} entries, and the file is whole at every moment`, async () => {
  const homeDir = home();
  const worker = join(import.meta.dir, "write-entry.ts");
  const children = Array.from({ length: WRITERS }, (_, i) =>
    Bun.spawn([process.execPath, worker, homeDir, `/p/${i}`, `id-${i}`], { stdout: "ignore", stderr: "pipe" }),
  );
  const path = join(homeDir, ".config/svc.yml");
  let running = true;
  let read = 0;
  const watcher = (async () => {
    while (running) {
      if (existsSync(path)) {
        await readEntries(path);
        read++;
      }
      await Bun.sleep(1);
    }
  })();
  const codes = await Promise.all(children.map((child) => child.exited));
  running = false;
  await watcher;
  expect(codes.filter((code) => code !== 0)).toEqual([]);
  const entries = await readEntries(path);
  expect([...entries.keys()].sort()).toEqual(Array.from({ length: WRITERS }, (_, i) => `/p/${i}`).sort());
  for (const [key, { clientId }] of entries) expect(clientId).toBe(`id-${key.slice(3)}`);
  expect(read).toBeGreaterThan(0);
}, 300_000);
