/** Projects and environments, with the compiled binary and the server that it started. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

const features = (word: string) => `import os
from svc import online
from svc.features import features


@features(max_staleness="1h")
class User:
    id: int
    said: str


@online
def say(id: User.id) -> User.said:
    return f"${word} {os.environ.get('WORD', '-')} {id}"
`;

interface Listed {
  readonly environments: readonly { readonly id: string; readonly name: string; readonly project_name: string }[];
}

const sandbox = new Sandbox();
let [one, two] = ["", ""];
let user = 0;
const said = async (cwd: string) => {
  const id = String(++user);
  const { exitCode, stdout, stderr } = await sandbox.svc(["query", "--in", `user.id=${id}`, "--out", "user.said", "--json"], { cwd });
  return exitCode === 0 ? String((JSON.parse(stdout) as { data: { value: string }[] }).data[0]?.value).replace(` ${id}`, "") : stderr;
};
const svc = async (cwd: string, ...words: string[]) => {
  const outcome = await sandbox.svc(words, { cwd });
  expect([words, outcome.exitCode, outcome.exitCode === 0 ? "" : outcome.stderr]).toEqual([words, 0, ""]);
  return outcome.stdout;
};

beforeAll(async () => {
  one = await sandbox.write({ "svc.yaml": "project: one\nenvironments:\n  default: {}\n", "features.py": features("one") }, "one");
  two = await sandbox.write(
    { "svc.yaml": "project: two\nenvironments:\n  default: {}\n  prod: {}\n", "features.py": features("two") },
    "two",
  );
  await sandbox.startServer();
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

test("two folders on one server do not overwrite each other", async () => {
  await svc(one, "apply", "--force", "--await");
  await svc(two, "apply", "--force", "--await");
  expect([await said(one), await said(two), await said(sandbox.work)]).toEqual(["one -", "two -", "one -"]);
  await svc(two, "apply", "--force", "--await", "--environment", "prod");
  const { environments } = await sandbox.json<Listed>(["environment", "list"]);
  expect(environments.map(({ name, project_name }) => `${project_name}/${name}`)).toEqual(["one/default", "two/default", "two/prod"]);
}, 300_000);

test("what is configured and suspended stays so when the server is killed", async () => {
  const file = join(await sandbox.write({ "environment.yaml": "additional_env_vars: { WORD: servus }\n" }, "settings"), "environment.yaml");
  expect(await svc(two, "environment", "update", "-f", file, "--yes")).toBe("Updated environment 'default'\n");
  await eventually(async () => (await said(two)) === "two servus", "the variable reaches the resolver");
  expect(await said(one)).toBe("one -");
  await svc(two, "environment", "suspend", "--force");
  await sandbox.killServer();
  await sandbox.startServer();
  expect([await said(one), await said(two)]).toEqual(["one -", expect.stringContaining("Environment 'default' is suspended")]);
  await svc(two, "environment", "resume", "--force");
  expect(await said(two)).toBe("two servus");
}, 300_000);

test("a deletion goes on when the server is killed, and leaves nothing", async () => {
  const { environments } = await sandbox.json<Listed>(["environment", "list"]);
  const leaving = environments.filter(({ project_name }) => project_name === "two").map(({ id }) => id);
  await svc(two, "webhook", "create", "--name", "ops", "--url", "https://hooks.invalid/", "--subscriptions", "query.run");
  await said(two);
  const deliveries = async () => (await sandbox.json<{ deliveries: [] }>(["webhook", "deliveries", "list"], { cwd: two })).deliveries;
  await eventually(async () => (await deliveries()).length > 0, "a delivery waits");
  for (const id of leaving) await svc(sandbox.work, "environment", "delete", id, "--force");
  await sandbox.killServer();
  await sandbox.startServer();
  const data = (file: string) => join(sandbox.home, ".svc/data", file);
  const rows = (file: string, sql: string) => {
    using db = new Database(data(file), { readonly: true });
    return db.query(sql).all();
  };
  await eventually(() => rows("meta.db", "select id from environment").length === 1, "the environments are erased");
  expect(rows("meta.db", "select name from project")).toEqual([{ name: "one" }]);
  const own = rows("meta.db", "select id from feature").map((row) => (row as { id: number }).id);
  expect(rows("online.db", `select fid from online where fid not in (${own.join(", ")})`)).toEqual([]);
  expect(rows("offline.db", `select fid from version where fid not in (${own.join(", ")})`)).toEqual([]);
  expect(rows("telemetry.db", "select distinct environment_id from query_log").length).toBe(1);
  expect(rows("meta.outbox.db", "select id from job")).toEqual([]);
  expect(await said(one)).toBe("one -");
  expect(await said(two)).toContain("There is no project 'two' on this server.");
}, 300_000);
