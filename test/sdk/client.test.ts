/** The Python client against the real server, on every supported interpreter that is installed. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { updateEntry } from "../../src/config/file.ts";
import { tempFolder } from "../client/test-context.ts";
import { copyProject, type Platform, runCommand, startPlatform } from "../commands/platform.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

const HERE = join(import.meta.dir, "client");
let platform: Platform;
let env: Record<string, string> = {};

beforeAll(async () => {
  platform = await startPlatform();
  const project = copyProject(join(HERE, "project"));
  const options = { home: platform.home, env: platform.env, dir: project };
  const applied = await runCommand("apply", ["--force", "--await", "--json"], options);
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  const login = ["--client-id", platform.env.SVC_CLIENT_ID ?? "", "--client-secret", platform.env.SVC_CLIENT_SECRET ?? ""];
  const stored = await runCommand("login", [...login, "--api-host", platform.url], { home: platform.home, dir: platform.home });
  if (stored.exitCode !== 0) throw new Error(stored.stderr);
  const printed = (await runCommand("config", ["--format", "svcpy"], options)).stdout;
  const sdkRoot = /^# .*PYTHONPATH=(\S+)$/m.exec(printed)?.[1];
  env = {
    ...platform.env,
    HOME: platform.home,
    PATH: process.env.PATH ?? "",
    PYTHONPATH: `${sdkRoot}:${project}`,
    TEST_DEPLOYMENT: (applied.json() as { deployment_id: string }).deployment_id,
    TEST_CONFIG_FILE: await Bun.file(join(platform.home, ".config/svc.yml")).text(),
    TEST_SVCPY: printed,
  };
}, 300_000);
afterAll(() => platform.server.stop());

test.each(INTERPRETERS.map((item) => [item.version, item.path] as const))(
  "the client on Python %s",
  async (_, path) => {
    const child = Bun.spawn([path, "-B", "-X", "utf8", "-W", "error", "-m", "unittest", "discover", "-s", join(HERE, "cases")], {
      env,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(exitCode, stderr).toBe(0);
    expect(Number(/^Ran (\d+) tests/m.exec(stderr)?.[1] ?? 0), stderr).toBeGreaterThan(25);
  },
  600_000,
);

test("the client reads every config file that the command line writes", async () => {
  const odd = [
    "plain",
    "with: colon",
    "#hash",
    "a # b",
    "quote \" ' \\",
    "line\nbreak\ttab",
    "\u0000\u0007\u001b\u0085\u00a0\u2028",
    "grüß 😀",
    "- dash",
    "[x]",
    "null",
    "~",
    "1",
    "  blanks  ",
    "{}",
    "a: b: c",
    "é: #",
  ];
  const home = tempFolder();
  const surroundings = { env: {}, homeDir: home };
  const wanted: Record<string, Record<string, string>> = {};
  for (const [index, text] of odd.entries()) {
    const key = index === 0 ? "default" : `/srv/${text}`;
    wanted[key] = { clientId: text, clientSecret: `${text}!`, apiServer: "http://127.0.0.1:1" };
    await updateEntry({}, surroundings, key, wanted[key]);
  }
  const script =
    "import json, sys; from svc._client.config import config_file, read_config; path = config_file({'HOME': sys.argv[1]}); print(json.dumps(read_config(path)))";
  for (const { path, version } of INTERPRETERS) {
    const child = Bun.spawnSync([path, "-B", "-X", "utf8", "-c", script, home], { env: { PYTHONPATH: SDK_ROOT } });
    expect(child.stderr.toString(), version).toBe("");
    expect(JSON.parse(child.stdout.toString())).toEqual(wanted);
  }
});
