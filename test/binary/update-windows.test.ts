/**
 * Updating on Windows, under Wine: `svc.exe` is a copy, and the one that runs cannot be replaced,
 * but moved aside.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed, type TestFeed } from "../harness/release-feed.ts";
import { lacksWine, WineMachine, windowsPath } from "../harness/wine.ts";

const isLacking = lacksWine() || lacksProgram("zstd");
/** Built outside of a hook's time: other files may be building theirs, one after the other. */
const built = isLacking ? undefined : await builtFeed("windows-amd64");

describe.skipIf(isLacking)("svc.exe update", () => {
  let machine: WineMachine;
  let bin: string;
  const svc = (...args: string[]) => machine.run([join(bin, "svc.exe"), ...args], { timeoutMs: 240_000 });
  const files = () => readdirSync(bin).sort();
  const sameFile = (a: string, b: string) => readFileSync(join(bin, a)).equals(readFileSync(join(bin, b)));

  beforeAll(async () => {
    const feed = built as TestFeed;
    machine = await WineMachine.boot({ hasBinary: false });
    bin = join(await machine.userProfile(), ".svc", "bin");
    mkdirSync(bin, { recursive: true });
    const build = join(feed.dir, "releases", "v0.1.0", "svc-windows-amd64.exe");
    for (const name of ["svc-v0.1.0.exe", "svc.exe"]) copyFileSync(build, join(bin, name));
    writeFileSync(join(bin, ".svc-install.json"), JSON.stringify({ source: windowsPath(feed.dir), target: "windows-amd64" }));
  }, 600_000);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  test("the delta is taken, the running exe is replaced, and nothing is left of it afterwards", async () => {
    const { exitCode, stdout, stderr } = await svc("update", "--version", "v0.2.0");
    expect([exitCode, stderr.replaceAll("\r", "")]).toEqual([0, expect.stringMatching(/^Downloading svc v0\.2\.0\n/)]);
    expect(stdout).toContain("OS: windows");
    expect((await svc("version", "--tag-only")).stdout.trim()).toBe("v0.2.0");
    expect(sameFile("svc.exe", "svc-v0.2.0.exe")).toBe(true);
    const again = await svc("update", "--version", "v0.2.0", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ version: "v0.2.0", changed: false, downloaded_bytes: 0 });
    expect(files()).toEqual([".svc-install.json", ".svc-update.lock", "svc-v0.1.0.exe", "svc-v0.2.0.exe", "svc.exe"]);
  }, 600_000);

  test("going back, and forth to the latest", async () => {
    const back = await svc("update", "--rollback", "--json");
    expect([back.exitCode, back.stderr]).toEqual([0, ""]);
    expect(JSON.parse(back.stdout)).toMatchObject({ version: "v0.1.0", previous: "v0.2.0", changed: true });
    expect(sameFile("svc.exe", "svc-v0.1.0.exe")).toBe(true);
    const latest = await svc("update", "--json");
    expect(JSON.parse(latest.stdout)).toMatchObject({ version: "v0.3.0", method: "delta", previous: "v0.1.0" });
    const { stdout } = await svc("update", "--list");
    expect(stdout.replaceAll("\r", "")).toMatch(/^v0\.3\.0 .*✓\nv0\.2\.0 .*\d\nv0\.1\.0 .*\d$/m);
    expect((await svc("update", "--prune", "--yes")).stdout).toContain("Removed v0.2.0");
    expect(files()).toEqual([".svc-install.json", ".svc-update.lock", "svc-v0.1.0.exe", "svc-v0.3.0.exe", "svc.exe"]);
  }, 600_000);
});
