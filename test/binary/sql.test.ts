/** Statements over what is stored, with the compiled binary and the engine that it unpacks. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

const FEATURES = `from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    name: str
    score: float = feature(store_offline=True, max_staleness="1d")
    tags: list[str] = feature(store_offline=True, max_staleness="1d")


@online
def get_score(id: User.id) -> User.score:
    return id * 1.5


@online
def get_tags(id: User.id) -> User.tags:
    return ["a"] * id
`;

let sandbox: Sandbox;
let cwd: string;
const svc = (...words: string[]) => sandbox.svc(words, { cwd });

beforeAll(async () => {
  sandbox = new Sandbox();
  cwd = await sandbox.write({
    "svc.yaml": "project: statements\nenvironments:\n  default: {}\n",
    "features.py": FEATURES,
    "people.csv": "id,Full name\n1,Ada\n2,Grace\n",
    "report.sql": "select count(*) as people\nfrom datasets.people",
  });
  await sandbox.startServer();
  expect((await svc("apply", "--yes", "--await")).exitCode).toBe(0);
  for (const id of [1, 2, 3]) await svc("query", `--in=user.id=${id}`, "--out=user.score", "--out=user.tags");
  const uploaded = await svc("dataset", "upload", "people.csv", "--name=people");
  expect([uploaded.exitCode, uploaded.stderr]).toEqual([0, expect.any(String)]);
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

test("histories and datasets are joined, under the names that the catalog and the offline store print", async () => {
  expect((await svc("catalog", "list")).stdout).toMatch(/^datasets +datasets$[\s\S]*^historical +history$/m);
  const { schemas } = await sandbox.json<{ schemas: { table: string; sql_name: string }[] }>(
    ["catalog", "schemas", "--show-tables", "--table=*o*"],
    { cwd },
  );
  expect(schemas.map((one) => one.sql_name)).toEqual(["datasets.people", "historical.user.score"]);
  expect((await svc("catalog", "schemas", "--catalog=history")).stderr).toContain("There is no catalog 'history'");
  const table = (await svc("offline-store", "table", "user.score")).stdout.trim();
  expect(table).toBe("historical.user.score");
  const statement = `select s.key, p."Full name" as name, s.value, t.value as tags from ${table} s join historical.user.tags t using (key) join datasets.people p on p.id = s.key order by 1`;
  expect(await sandbox.json<object>(["sql", statement], { cwd })).toEqual({
    columns: [
      { name: "key", type: "int" },
      { name: "name", type: "str" },
      { name: "value", type: "float" },
      { name: "tags", type: "list[str]" },
    ],
    rows: [
      { key: 1, name: "Ada", value: 1.5, tags: ["a"] },
      { key: 2, name: "Grace", value: 3, tags: ["a", "a"] },
    ],
    truncated: false,
  });
}, 300_000);

test("an answer is a table, text in a pipe, or a file", async () => {
  expect((await svc("sql", "@report.sql")).stdout).toMatch(/^people\n +2\n$/);
  const csv = await svc("sql", "select key, value from historical.user.score order by key", "--format=csv", "--limit=2");
  expect(csv.stdout).toBe("key,value\n1,1.5\n2,3.0\n");
  expect(csv.stderr).toContain("There are more rows; these are the first 2.");
  const piped = await sandbox.svc(["sql", "--format", "json"], { cwd, input: "select 9007199254740993 as large, 'ü' as text" });
  expect(piped.stdout).toBe('{"large":9007199254740993,"text":"ü"}\n');
  expect((await svc("sql", "select range as i from range(5)", "--out=five.parquet")).stdout).toMatch(/^\S*five\.parquet \(5 rows, /);
  expect(readFileSync(join(cwd, "five.parquet")).subarray(0, 4).toString()).toBe("PAR1");
  expect((await svc("sql", "select 1", "--format=parquet")).stderr).toContain("--out answer.parquet");
}, 300_000);

test("what is wrong is said with the line, and what is close", async () => {
  const said = async (...words: string[]) => {
    const { exitCode, stderr } = await svc("sql", ...words);
    return [exitCode, stderr];
  };
  expect(await said("select *\nfrom historical.user.scor")).toEqual([
    1,
    expect.stringMatching(/There is no table historical\.user\.scor in this environment \(line 2\)\.\n.*'historical\.user\.score'/),
  ]);
  expect(await said("select vale from historical.user.score")).toEqual([1, expect.stringContaining('"value" (line 1: ')]);
  expect(await said("delete from historical.user.score")).toEqual([1, expect.stringContaining("Only a select statement")]);
  expect(await said("select count(*) from range(100000000000)", "--timeout=1s")).toEqual([1, expect.stringContaining("longer than 1 s")]);
}, 300_000);

test("nothing of a statement stays, and its interruption ends it on the server", async () => {
  const data = join(sandbox.home, ".svc/data");
  const statements = () => readdirSync(join(data, "tables/tmp")).filter((name) => name.startsWith("select-"));
  const running = Bun.spawn([sandbox.binary, "sql", "select count(*) from range(1000000000) a, range(1000000) b"], {
    cwd,
    env: sandbox.env,
    stdout: "ignore",
    stderr: "ignore",
  });
  await eventually(() => statements().length === 1, "the statement runs");
  running.kill("SIGINT");
  expect(await running.exited).toBe(130);
  await eventually(
    () => readdirSync(join(data, "tmp/statements")).length === 0 && readdirSync(join(data, "tables/tmp")).length === 0,
    "its files are gone",
  );
  expect(existsSync(join(sandbox.home, ".svc/cache"))).toBe(true);
}, 300_000);
