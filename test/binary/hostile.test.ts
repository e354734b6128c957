/** The binary in folders and environments that were not made for it. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { fakeServer, protoAnswer, tokenAnswer } from "../client/fake-server.ts";
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
  for (const env of [
    { LANG: "C", LC_ALL: "C" },
    { TERM: "dumb" },
    { COLUMNS: "40" },
    { HOME: undefined },
    { HOME: "/proc/nonexistent/home" },
  ]) {
    const help = await sandbox.svc(["help"], { env });
    expect(help.exitCode).toBe(0);
    expect(help.stdout).toContain("apply");
  }
});

test("bun's debug variables leak no credentials", async () => {
  const [secret, token] = ["ts-canary-3f9a1c", "token-canary-77aa02"];
  const asked: string[] = [];
  const server = fakeServer({
    exchange: () => tokenAnswer(token),
    call: (request) => {
      asked.push(request.headers.get("authorization") ?? "");
      return protoAnswer(WhoAmIResponseSchema, { userId: "user-1" });
    },
  });
  try {
    const env = { BUN_CONFIG_VERBOSE_FETCH: "curl", NODE_DEBUG: "http,http2", NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    const outcome = await sandbox.svc(["user", "-vv", "--client-id", "id", "--client-secret", secret, "--api-host", server.url], { env });
    expect([outcome.exitCode, outcome.stdout]).toEqual([0, expect.stringContaining("user-1")]);
    expect(asked).toEqual([`Bearer ${token}`]);
    for (const canary of [secret, token]) expect(outcome.stdout + outcome.stderr).not.toContain(canary);
  } finally {
    await server.stop();
  }
});
