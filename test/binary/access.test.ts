/**
 * Service tokens and the audit log with the binary and a server of its own: credentials of programs
 * from the command line, many processes at once, and what the log tells of them afterwards.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

interface ServiceToken {
  readonly id: string;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
}

const PROCESSES = 60;

describe("service tokens", () => {
  test("one is made, used by a program, restricted and taken back; the log tells all of it", async () => {
    const token = await sandbox.json<ServiceToken>(["service-token", "create", "--name", "ci", "--permission", "read"]);
    const env = { SVC_CLIENT_ID: token.client_id, SVC_CLIENT_SECRET: token.client_secret };
    const home = { ...env, HOME: join(sandbox.root, "elsewhere"), SVC_API_SERVER: sandbox.url };
    expect((await sandbox.svc(["user"], { env: home })).stdout).toContain(token.client_id);
    const bare = await sandbox.svc(["token"], { env: home });
    const who = await fetch(`${sandbox.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${bare.stdout.trim()}` } });
    expect(((await who.json()) as { user: string }).user).toBe(token.client_id);
    const refused = await sandbox.svc(["audit", "list"], { env: home });
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("audit.read")]);
    expect((await sandbox.svc(["service-token", "delete", token.id, "--yes"])).exitCode).toBe(0);
    expect((await sandbox.svc(["user"], { env: home })).exitCode).toBe(4);
    const { logs } = await sandbox.json<{ logs: { endpoint: string; code: string; client_name: string }[] }>(["audit", "list"]);
    const told = logs.map(({ endpoint, code, client_name }) => `${client_name} ${endpoint.split("/").at(-1)} ${code}`);
    expect(told).toContain("ci token ok");
    expect(told).toContain("ci ListAuditLogs permission_denied");
    expect(told.some((line) => line.endsWith("DeleteServiceToken ok"))).toBe(true);
  });

  test(`${PROCESSES} processes that make one each at once lose none, and the log has each`, async () => {
    const names = Array.from({ length: PROCESSES }, (_, n) => `at-once-${n}`);
    const made = await Promise.all(names.map((name) => sandbox.svc(["service-token", "create", "--name", name, "--role", "viewer"])));
    expect(made.filter(({ exitCode }) => exitCode !== 0).map(({ stderr }) => stderr)).toEqual([]);
    const { service_tokens } = await sandbox.json<{ service_tokens: ServiceToken[] }>(["service-token", "list"]);
    expect(
      service_tokens
        .map(({ name }) => name)
        .filter((name) => name.startsWith("at-once"))
        .sort(),
    ).toEqual(names.toSorted());
    const { logs } = await sandbox.json<{ logs: { about: { name: string } }[] }>([
      "audit",
      "list",
      "--endpoint",
      "CreateServiceToken",
      "--limit",
      "500",
    ]);
    expect(
      logs
        .map(({ about }) => about.name)
        .filter((name) => name.startsWith("at-once"))
        .sort(),
    ).toEqual(names.toSorted());
    expect((await sandbox.svc(["audit", "verify"])).exitCode).toBe(0);
  }, 300_000);
});

test(`${PROCESSES} processes that choose an environment for a project each at once lose none`, async () => {
  const folders = Array.from({ length: PROCESSES }, (_, n) => join(sandbox.work, `project-${n}`));
  for (const folder of folders) {
    mkdirSync(folder);
    writeFileSync(join(folder, "svc.yaml"), "project: demo\nenvironments:\n  default: {}\n");
  }
  const chosen = await Promise.all(folders.map((cwd) => sandbox.svc(["environment", "default"], { cwd })));
  expect(chosen.filter(({ exitCode }) => exitCode !== 0).map(({ stderr }) => stderr)).toEqual([]);
  const config = Bun.YAML.parse(readFileSync(join(sandbox.home, ".config/svc.yml"), "utf8")) as { tokens: Record<string, unknown> };
  expect(folders.filter((folder) => !Object.hasOwn(config.tokens, folder))).toEqual([]);
}, 300_000);

test("a row that somebody changed in the database is named, with exit code 1", async () => {
  const sound = await sandbox.json<{ head_seq: number; head_hash: string }>(["audit", "verify"]);
  const [file = ""] = new Bun.Glob("**/meta.db").scanSync({ cwd: sandbox.home, dot: true, absolute: true });
  const db = new Database(file);
  db.run("update audit set address = '10.0.0.1' where seq = ?", [sound.head_seq]);
  db.close();
  const { exitCode, stdout } = await sandbox.svc(["audit", "verify", "--noted-hash", sound.head_hash]);
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining(`Row ${sound.head_seq} is not as it was written`)]);
});
