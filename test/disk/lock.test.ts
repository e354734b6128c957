import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withFileLock } from "../../src/disk/lock.ts";

const root = mkdtempSync(join(tmpdir(), "svc-lock-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function holder(path: string): Promise<ReturnType<typeof Bun.spawn>> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "hold-lock.ts"), path], { stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  await reader.read();
  return child;
}

test("calls of one process exclude each other", async () => {
  const path = join(root, "one.lock");
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      withFileLock(path, { what: "test" }, async () => {
        most = Math.max(most, ++inside);
        await Bun.sleep(2);
        inside--;
      }),
    ),
  );
  expect(most).toBe(1);
});

test("a lock whose holder was killed is free at once", async () => {
  const path = join(root, "killed.lock");
  const child = await holder(path);
  await expect(withFileLock(path, { what: "test", timeoutMs: 60 }, async () => 1)).rejects.toMatchObject({ code: "lock_timeout" });
  child.kill("SIGKILL");
  await child.exited;
  expect(await withFileLock(path, { what: "test", timeoutMs: 0 }, async () => 2)).toBe(2);
});

test("waiting ends with the signal", async () => {
  const path = join(root, "signal.lock");
  const child = await holder(path);
  const abort = new AbortController();
  const waiting = withFileLock(path, { what: "test", signal: abort.signal }, async () => 1);
  abort.abort(new Error("interrupted"));
  await expect(waiting).rejects.toThrow("interrupted");
  child.kill("SIGKILL");
  await child.exited;
});

test("the lock is free after work that fails", async () => {
  const path = join(root, "failed.lock");
  const failed = withFileLock(path, { what: "test" }, async () => {
    throw new Error("work failed");
  });
  await expect(failed).rejects.toThrow("work failed");
  expect(await withFileLock(path, { what: "test", timeoutMs: 0 }, async () => 3)).toBe(3);
});
