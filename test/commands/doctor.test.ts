/** `svc doctor` on a healthy machine, and on machines on which one thing each is wrong. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

interface Report {
  readonly removed: number;
  readonly closed: readonly string[];
  readonly checks: readonly { readonly name: string; readonly status: string; readonly message: string; readonly fix: string | null }[];
}

let platform: Platform;
/** The folder of state, the same for all, so that Python is looked for once. */
let state: string;
beforeAll(async () => {
  platform = await startPlatform();
  state = join(platform.home, ".svc");
});
afterAll(() => platform.server.stop());

/** What `svc doctor --json` reports. */
async function examine(words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) {
  const env = { SVC_HOME: state, ...(options.env ?? platform.env) };
  const done = await runCommand("doctor", [...words, "--json"], { ...options, env });
  const report = done.json() as Report;
  return { ...done, report, check: (name: string) => report.checks.find((check) => check.name === name) };
}

/** The configuration of a login to the platform, with a mode. */
function configured(mode: number): string {
  const home = tempFolder();
  const file = join(home, ".config/svc.yml");
  mkdirSync(join(home, ".config"));
  const { SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: secret } = platform.env;
  writeFileSync(file, `tokens:\n  default:\n    clientId: ${id}\n    clientSecret: ${secret}\n    apiServer: ${platform.url}\n`);
  chmodSync(file, mode);
  return home;
}

test("on a healthy machine every check passes, in the order in which they build on each other", async () => {
  const home = configured(0o600);
  const dir = writeProject();
  const { exitCode, report } = await examine([], { home, dir, env: {} });
  expect(report.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
    "config ok",
    "address ok",
    "server warning",
    "clock ok",
    "login ok",
    "health ok",
    "python ok",
    "state ok",
    "project ok",
  ]);
  expect([exitCode, report.checks.every(({ status, fix }) => (status === "ok") === (fix === null))]).toEqual([0, true]);
  expect(report.checks.find(({ name }) => name === "server")?.message).toContain("v0.0.0-test");
});

test("cached tokens are removed and counted; as text each check has a line and its fix one below", async () => {
  const home = tempFolder();
  await runCommand("user", [], { home, env: platform.env });
  const done = await runCommand("doctor", [], { home, env: platform.env });
  expect(done.stdout).toStartWith("Removed 1 cached token.\n✓ config  none yet");
  expect(done.stdout).toMatch(/\n! server {2}it runs v0\.0\.0-test.*\n {10}Run `svc update --version v0\.0\.0-test`/);
});

describe("what is wrong fails, with what mends it, and exit code 1:", () => {
  test("nothing answers: what the server would be asked is left out, what is on this machine is not", async () => {
    const { exitCode, report, check } = await examine(["--api-host", "http://127.0.0.1:9"]);
    expect([exitCode, report.checks.map(({ name }) => name)]).toEqual([1, ["config", "address", "server", "python", "state", "project"]]);
    expect(check("server")).toMatchObject({ status: "failed", fix: expect.stringContaining("svc server start") });
  });

  test("a config file that is no YAML", async () => {
    const home = tempFolder();
    writeFileSync(join(home, ".svc.yml"), "tokens: [");
    const { exitCode, report, check } = await examine([], { home, env: {} });
    expect([exitCode, report.checks.map(({ name }) => name)]).toEqual([1, ["config", "python", "state", "project"]]);
    expect(check("config")?.message).toContain(".svc.yml");
  });

  test("no login, and a login that the server does not take", async () => {
    const none = await examine(["--api-host", platform.url], { env: {} });
    expect([none.exitCode, none.check("login")?.fix, none.check("health")]).toEqual([1, "Run `svc login`.", undefined]);
    const wrong = await examine([], { env: { ...platform.env, SVC_CLIENT_SECRET: "wrong" } });
    expect(wrong.check("login")).toMatchObject({ status: "failed", message: expect.stringContaining("rejected") });
    const token = await examine([], { env: { ...platform.env, SVC_ACCESS_TOKEN: "wrong" } });
    expect([token.exitCode, token.check("login")?.status]).toEqual([1, "failed"]);
  });

  test("a proxy that cannot be used, and certificates that cannot be read", async () => {
    const home = tempFolder();
    const proxy = await examine(["--api-host", "https://svc.example.test"], { home, env: { HTTPS_PROXY: "socks5://127.0.0.1:9" } });
    expect(proxy.check("address")).toMatchObject({ status: "failed", message: expect.stringContaining("socks5") });
    expect(proxy.check("server")).toBeUndefined();
    const authorities = await examine([], { env: { ...platform.env, NODE_EXTRA_CA_CERTS: join(home, "none.pem") } });
    expect(authorities.check("address")).toMatchObject({ status: "warning", message: expect.stringContaining("none.pem") });
  });

  test("a clock that is wrong is a warning", async () => {
    const clock = { now: () => Date.now() + 3_600_000, sleep: (ms: number) => Bun.sleep(ms) };
    const { check } = await examine([], { clock });
    expect(check("clock")).toMatchObject({ status: "warning", message: expect.stringMatching(/^(1h|59m5\ds|1h1s) ahead of/) });
  });

  test("no Python", async () => {
    const { exitCode, check } = await examine([], { env: { ...platform.env, PATH: tempFolder() } });
    expect([exitCode, check("python")?.status, check("python")?.message]).toEqual([1, "failed", expect.stringContaining("no Python 3.10")]);
  });

  test("a Python without pip, where there is no uv, is a warning", async () => {
    const run = async () => ({ exitCode: 1, stdout: "", stderr: "" });
    const { check } = await examine([], { machine: { run, which: () => undefined } });
    expect(check("python")).toMatchObject({ status: "warning", fix: expect.stringContaining("-venv") });
  });

  test("a project file with an error", async () => {
    const home = tempFolder();
    writeFileSync(join(home, "svc.yaml"), "project: p\nenvironments:\n  default:\n    runtime: python27\n");
    const { exitCode, check } = await examine([], { home });
    expect([exitCode, check("project")]).toMatchObject([1, { status: "failed", fix: "Run `svc lint --local`." }]);
  });

  test("a folder of state with too little room, or in which nothing may be written", async () => {
    const facts = { path: "/state", isWritable: true, isOpenToOthers: false, freeBytes: 5e7 };
    for (const [change, says] of [
      [{}, "50.0 MB free"],
      [{ isWritable: false }, "/state may not be written"],
    ] as const) {
      const { exitCode, check } = await examine([], { machine: { folder: async () => ({ ...facts, ...change }) } });
      expect([exitCode, check("state")]).toMatchObject([1, { status: "failed", message: expect.stringContaining(says) }]);
    }
  });
});

test.skipIf(process.platform === "win32")("--fix closes what other users may read or change, and only that", async () => {
  const home = configured(0o644);
  chmodSync(state, 0o777);
  const open = await examine([], { home, env: {} });
  expect([open.exitCode, open.check("config")?.fix, open.check("state")?.fix, open.check("login")?.status]).toEqual([
    1,
    "Run `svc doctor --fix`.",
    "Run `svc doctor --fix`.",
    "ok",
  ]);
  const fixed = await examine(["--fix"], { home, env: {} });
  expect([fixed.exitCode, fixed.report.closed]).toEqual([0, [join(home, ".config/svc.yml"), state]]);
  expect([join(home, ".config/svc.yml"), state].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
  expect((await examine(["--fix"], { home, env: {} })).report.closed).toEqual([]);
});
