/** The binary in folders and environments that were not made for it. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";

let sandbox: Sandbox;
beforeAll(() => {
  sandbox = new Sandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const PRELOAD = (marker: string) => `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "ran");`;

test("nothing in the working directory is loaded", async () => {
  const dir = join(sandbox.work, "hostile");
  const marker = join(sandbox.root, "marker-cwd");
  await Bun.write(join(dir, "evil.js"), PRELOAD(marker));
  await Bun.write(join(dir, "bunfig.toml"), 'preload = ["./evil.js"]\n');
  await Bun.write(join(dir, ".env"), "SVC_API_SERVER=http://evil.example\nSVC_CLIENT_ID=evil\nHTTPS_PROXY=http://evil.example\n");
  await Bun.write(join(dir, "package.json"), '{"name": "evil", "type": "commonjs", "imports": {"#x": "./evil.js"}}');
  await Bun.write(join(dir, "tsconfig.json"), '{"compilerOptions": {"paths": {"yaml": ["./evil.js"], "citty": ["./evil.js"]}}}');
  for (const name of ["yaml", "citty", "ofetch", "consola"]) await Bun.write(join(dir, "node_modules", name, "index.js"), PRELOAD(marker));
  const version = await sandbox.svc(["version"], { cwd: dir });
  expect(version.exitCode).toBe(0);
  const config = await sandbox.json<Record<string, unknown>>(["config"], { cwd: dir });
  expect(JSON.stringify(config)).not.toContain("evil");
  expect(existsSync(marker)).toBe(false);
});

test("deleted working directory, no HOME, odd terminals and locales", async () => {
  const gone = join(sandbox.work, "gone");
  mkdirSync(gone);
  const script = `cd ${gone} && rmdir ${gone} && exec ${sandbox.binary} "$@"`;
  for (const args of [["version"], ["help"], ["files"]]) {
    if (!existsSync(gone)) mkdirSync(gone);
    const child = Bun.spawnSync(["sh", "-c", script, "sh", ...args], { env: { PATH: sandbox.env.PATH ?? "" } });
    expect(child.stderr.toString()).not.toMatch(/\n\s+at .*\(/);
    expect([0, 1]).toContain(child.exitCode);
  }
  if (existsSync(gone)) rmdirSync(gone);
  for (const env of [{ LANG: "C", LC_ALL: "C" }, { TERM: "dumb" }, { COLUMNS: "40" }, { HOME: undefined }, { HOME: "/nonexistent/home" }]) {
    const help = await sandbox.svc(["help"], { env });
    expect(help.exitCode).toBe(0);
    expect(help.stdout).toContain("apply");
  }
});

test("output to a full disk is an error, a closed pipe is not", async () => {
  const full = Bun.spawnSync(["sh", "-c", `${sandbox.binary} help --all --json > /dev/full`], { env: sandbox.env });
  expect(full.exitCode).toBe(1);
  expect(full.stderr.toString()).toMatch(/no space left/i);
  const head = Bun.spawnSync(["bash", "-c", `${sandbox.binary} help --all --json | head -1; exit \${PIPESTATUS[0]}`], { env: sandbox.env });
  expect([0, 141]).toContain(head.exitCode);
  expect(head.stderr.toString()).toBe("");
});

test("a slow reader gets every byte", async () => {
  const hash = (text: string) => Bun.spawnSync(["bash", "-c", text], { env: sandbox.env }).stdout.toString().split(" ")[0];
  const direct = hash(`${sandbox.binary} help --all --json > ${sandbox.root}/all.json; sha256sum < ${sandbox.root}/all.json`);
  expect(Bun.file(join(sandbox.root, "all.json")).size).toBeGreaterThan(10_000);
  expect(hash(`${sandbox.binary} help --all --json | (sleep 0.5; sha256sum)`)).toBe(direct as string);
});

test("bun's debug variables leak no credentials", async () => {
  const env = { BUN_CONFIG_VERBOSE_FETCH: "curl", NODE_DEBUG: "http,http2", NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const canary = "ts-canary-3f9a1c";
  const outcome = await sandbox.svc(["user", "-vv", "--client-id", "id", "--client-secret", canary, "--api-host", "http://127.0.0.1:9"], {
    env,
  });
  expect(outcome.exitCode).toBe(1);
  expect(outcome.stdout + outcome.stderr).not.toContain(canary);
});
