/** Secrets and integrations with the compiled binary: they reach resolvers, and are said nowhere. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Outcome, Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

const PROJECT = {
  "svc.yaml": "project: shop\nenvironments:\n  default: {}\n",
  "features.py": `import os
from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    size: int = feature(max_staleness="0s")
    host: str = feature(max_staleness="0s")


@online
def size(id: User.id) -> User.size:
    return len(os.environ["THE_KEY"])


@online
def host(id: User.id) -> User.host:
    return os.environ["MY_PG_PGHOST"]
`,
};
const CANARY = "canary/of+a=binary-81c2e7";
const sandbox = new Sandbox();
let project = "";
const said: Outcome[] = [];
const svc = async (words: readonly string[], input?: string): Promise<Outcome> => {
  const outcome = await sandbox.svc([...words, "-vv"], { cwd: project, ...(input !== undefined && { input }) });
  said.push(outcome);
  return outcome;
};
const answer = async (feature: string): Promise<unknown> => {
  const { stdout, stderr } = await sandbox.svc(["query", "--in", "user.id=1", "--out", feature, "--json"], { cwd: project });
  return stdout === "" ? stderr : (JSON.parse(stdout) as { data: { value: unknown }[] }).data[0]?.value;
};

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write(PROJECT);
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

test("a secret and an integration reach the resolvers that run, without another deployment", async () => {
  expect(await answer("user.size")).not.toBe(CANARY.length);
  expect((await svc(["secret", "set", "THE_KEY"], CANARY)).stdout).toBe("Set THE_KEY.\n");
  await eventually(async () => (await answer("user.size")) === CANARY.length, "the resolver has the secret");
  const pg = `name: my-pg\nkind: postgresql\nenvironment_variables:\n  PGHOST: db.example.com\n  PGPASSWORD: ${CANARY}\n`;
  expect((await svc(["integration", "apply", "-f", "-"], pg)).exitCode).toBe(0);
  await eventually(async () => (await answer("user.host")) === "db.example.com", "the resolver has the variable");
  const listed = await svc(["secrets", "list"]);
  expect(listed.stdout).toMatch(/^MY_PG_PGPASSWORD +\*{8}c2e7 +my-pg /m);
  expect((await svc(["secret", "get", "--name", "THE_KEY", "--decrypt", "--json"])).stdout).toContain(JSON.stringify(CANARY).slice(1, -1));
  expect((await svc(["integrations", "list"])).stdout).toContain("my-pg");
  expect((await svc(["integration", "delete", "my-pg", "--yes"])).exitCode).toBe(0);
  expect((await svc(["secret", "delete", "THE_KEY", "--yes"])).exitCode).toBe(0);
}, 300_000);

test.skipIf(process.platform === "win32")(
  "a terminal asks for a value without echo, and for the variables of an integration",
  async () => {
    const set = Terminal.start(sandbox, ["secret", "set", "TYPED"], { columns: 120 });
    await set.until("Enter the value of TYPED");
    set.press(`${CANARY}\r`);
    const ended = await set.ended();
    expect([ended.exitCode, ended.screen.includes("Set TYPED."), ended.screen.includes(CANARY)]).toEqual([0, true, false]);
    expect(ended.after).toBe(ended.before);

    const insert = Terminal.start(sandbox, ["integration", "insert", "--kind", "cohere"], { columns: 120 });
    await insert.until("Name of the integration");
    insert.press("typed\r");
    await insert.until("COHERE_API_KEY");
    insert.press(`${CANARY}\r`);
    await insert.until("COHERE_BASE_URL");
    insert.press("\r");
    const inserted = await insert.ended();
    expect([inserted.exitCode, inserted.screen.includes(CANARY)]).toEqual([0, false]);
    expect((await sandbox.svc(["integration", "get", "--name", "typed", "--decrypt"])).stdout).toContain(`COHERE_API_KEY=${CANARY}`);
  },
  300_000,
);

test("no value is in verbose output, the server's log or any file", () => {
  const bytes = Buffer.from(CANARY);
  const forms = [CANARY, bytes.toString("base64").replace(/=+$/, ""), bytes.toString("base64url"), encodeURIComponent(CANARY)];
  const leaks = (text: string) => forms.filter((form) => text.includes(form));
  expect(said.length).toBeGreaterThan(5);
  for (const { stderr } of said) expect(leaks(stderr)).toEqual([]);
  const files = readdirSync(sandbox.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  expect(paths.some((path) => path.endsWith("meta.db"))).toBe(true);
  for (const path of paths) expect([path, leaks(readFileSync(path, "latin1"))]).toEqual([path, []]);
});
