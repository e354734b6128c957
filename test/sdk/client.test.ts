/** The Python client against the real server, on every supported interpreter that is installed. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
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

test("in a project's folder the client asks that project, as the command line does", async () => {
  const folder = tempFolder("svc-second-");
  writeFileSync(join(folder, "svc.yaml"), "project: second\nenvironments:\n  default: {}\n");
  const code = "from svc import online\nfrom svc.features import features\n\n\n@features\nclass User:\n    id: int\n    name: str\n";
  const resolver = '\n\n@online\ndef name(id: User.id) -> User.name:\n    return f"second-{id}"\n';
  writeFileSync(join(folder, "features.py"), code + resolver);
  const options = { home: platform.home, env: platform.env, dir: folder };
  const applied = await runCommand("apply", ["--force", "--await"], options);
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  const listed = await runCommand("environment/list", ["--json"], options);
  const { environments } = listed.json() as { environments: { id: string; project_name: string }[] };
  const idIn = (isSecond: boolean) => environments.find((one) => (one.project_name === "second") === isSecond)?.id ?? "none";
  const [first, second] = [idIn(false), idIn(true)];
  const script = `
import asyncio, sys
from svc.client import AsyncSvcClient, OnlineQueryContext, SvcClient
async def ask():
    async with AsyncSvcClient() as client:
        return (await client.query({"user.id": 1}, ["user.name"]))["user.name"]
client = SvcClient()
told = [OnlineQueryContext(environment=name) for name in ("default", *sys.argv[1:])]
print(client.query({"user.id": 1}, ["user.name"])["user.name"], asyncio.run(ask()), *[client.query({"user.id": 1}, ["user.name"], context=one)["user.name"] for one in told])
`;
  const ask = async (cwd: string, more: Record<string, string> = {}): Promise<string> => {
    const argv = [INTERPRETERS[0]?.path ?? "python3", "-c", script, first, second];
    const child = Bun.spawn(argv, { cwd, env: { ...env, PYTHONPATH: SDK_ROOT, ...more }, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return stdout + stderr;
  };
  expect(await ask(folder)).toBe("second-1 second-1 second-1 user-1 second-1\n");
  expect(await ask(tempFolder())).toBe("user-1 user-1 user-1 user-1 second-1\n");
  expect(await ask(folder, { SVC_ENVIRONMENT: first })).toBe("user-1 user-1 second-1 user-1 second-1\n");
}, 600_000);
