import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

test("a server that is told to stop while it begins its work ends, whatever it was at", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-stop-"));
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "stopped-early.ts"), folder, "40"], { stdout: "pipe", stderr: "pipe" });
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  rmSync(folder, { recursive: true, force: true });
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});
