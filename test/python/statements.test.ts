/** Findings about statements in Python, at their place in the code, by the real analyzer. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import { sharedHome } from "../harness/first-use.ts";
import { marked, shown, spanOf } from "../harness/marked.ts";

setDefaultTimeout(300_000);

const FEATURES = `
from svc.features import DataFrame, features
from svc.sources import SQLiteSource

db = SQLiteSource(name="db", path="rows.db")

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float

@features
class User:
    id: int
    txns: DataFrame[Txn]
    name: str
    email: str
`;
const IMPORTS =
  "from features import Txn, User, db\nfrom svc import Now, offline, online\nfrom svc.features import DataFrame, Features\n\n";

/** Functions with one mark each, and what is said of it. */
const CASES: readonly (readonly [rule: string, message: string, code: string])[] = [
  [
    "E210",
    "placeholder :j has no value: give it in args=",
    'return db.query_string("select name from u where id = :i or id = «:j»", args={"i": i}).one()',
  ],
  [
    "E210",
    "args= has 'k', which is no placeholder of the statement: it has :i",
    'return db.query_string("«select name from u where id = :i»", args={"i": i, "k": 1}).one()',
  ],
  [
    "E153",
    "output feature 'nmae' does not exist in class User; the closest is 'name'",
    'return db.query_string("select name, title as «nmae» from u where id = :i", args={"i": i}).one()',
  ],
  [
    "E210",
    "column 'email' fills user.email, which f3 does not return",
    'return db.query_string("select name, «email» from u where id = :i", args={"i": i}).one()',
  ],
  [
    "E210",
    "f4 returns user.name, and the statement has no column for it",
    'return db.query_string("«select id from u where id = :i»", args={"i": i}).one()',
  ],
  [
    "E152",
    "`fields` names column 'displey', which the query does not return; it returns name",
    'return db.query_string("«select name from u where id = :i»", args={"i": i}, fields={"displey": User.name}).one()',
  ],
  [
    "E157",
    "a SQL resolver is one statement; a second one begins here",
    'return db.query_string("select name from u where id = :i; «d»rop table u", args={"i": i}).one()',
  ],
  [
    "E157",
    "the file must be one query, but it begins with 'delete'",
    'return db.query_string("«delete» from u where id = :i", args={"i": i}).one()',
  ],
  [
    "W158",
    "the columns of `*` are known to the database alone: only the server can check them",
    'return db.query_string("select «*» from u where id = :i", args={"i": i}).one()',
  ],
  [
    "E210",
    "f returns values of a row: end with .one() or .one_or_none(), not .all()",
    'return «db.query_string("select name from u where id = :i", args={"i": i}).all()»',
  ],
  [
    "E210",
    "args={'i': ...} is list: a placeholder takes one value, such as a number or a text",
    'return db.query_string("select name", args={"i": [i]}).one()',
  ],
];

describe("a statement in Python", () => {
  let folder: string;
  let graph: Graph;
  const modules = CASES.map(([, , code], at) => {
    const body = marked(`${IMPORTS}@online(name="f${at}")\ndef f(i: User.id) -> User.name:\n    ${code}\n`);
    return { name: `m${at}.py`, body };
  });
  const more = `${IMPORTS}@offline
def new() -> DataFrame[Txn.id, Txn.amount]:
    return db.query_string('''
        select id, amount, changed
        from txn
    ''').incremental(incremental_column="changed", lookback_period="1h")

@offline
def seen(i: User.id) -> User.txns[Txn.id]:
    return db.query_string("select id from txn where user = :i", args={"i": i}).incremental(incremental_column="id")

@offline
def timed(now: Now) -> DataFrame[User.id, User.name]:
    return db.query_string("select id, name from u where at <= :now and ratio > :r and name <> ':x' -- :y", args={"now": now, "r": -0.5}).all()

@online
def table() -> DataFrame[User.id, User.email]:
    return db.with_table("u", features=[User.id, User.email]).all()
`;
  const grouped = `${IMPORTS}from dataclasses import dataclass
from svc.sources import TopicSource
from svc.streams import stream

@dataclass
class Said:
    id: int
    amount: float

@online(resource_group="big")
def one(i: User.id) -> User.name:
    return db.query_string("select name from u where id = :i", args={"i": i}).one()

@stream(source=TopicSource(name="said"), resource_group="big")
def many(said: DataFrame[Said]) -> DataFrame[Txn.id, Txn.amount]:
    return f"select id, amount from {said}"
`;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-statements-"));
    const files = {
      "features.py": FEATURES,
      "more.py": more,
      "grouped.py": grouped,
      ...Object.fromEntries(modules.map(({ name, body }) => [name, body.text])),
    };
    for (const [path, text] of Object.entries(files)) await Bun.write(join(folder, path), text);
    const chain = createToolchain({ home: sharedHome(), env: process.env });
    ({ graph } = await chain.analyze({ root: folder, files: Object.keys(files) }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  for (const [at, [rule, message]] of CASES.slice(0, -1).entries())
    test(`${rule} ${message}`, () => {
      const { name, body } = modules[at] as (typeof modules)[number];
      const own = shown(graph.diagnostics).filter((finding) => finding.at.startsWith(`${name}:`));
      expect(own.map((finding) => [finding.rule, finding.message, finding.at])).toContainEqual([rule, message, spanOf(name, body)]);
    });

  test("whose arguments are no literals and parameters stays in Python", () => {
    const { name } = modules.at(-1) as (typeof modules)[number];
    expect(shown(graph.diagnostics).filter((finding) => finding.at.startsWith(`${name}:`))).toEqual([]);
    expect(graph.resolvers.find(({ fqn }) => fqn === `${name.slice(0, -3)}.f${CASES.length - 1}`)?.body.case).toBe("python");
  });

  test("is read incrementally where it is all of its function, else refused", () => {
    const found = graph.resolvers.find(({ fqn }) => fqn === "more.new")?.body;
    expect(found?.case === "sql" && found.value.incremental?.column).toBe("changed");
    expect(found?.case === "sql" && Number(found.value.incremental?.lookback?.seconds)).toBe(3600);
    const [refused] = shown(graph.diagnostics).filter((finding) => finding.at.startsWith("more.py"));
    expect(refused?.message).toContain("seen has .incremental(...), which is seen only where");
  });

  test("has no workers whose resource group could be chosen", () => {
    const refused = shown(graph.diagnostics).filter(({ at }) => at.startsWith("grouped.py"));
    const message = "resource_group chooses workers, and the server runs this statement without any: leave it out";
    expect(refused.map((one) => [one.rule, one.message, one.at.split(":")[1]])).toEqual([
      ["E146", message, "14"],
      ["E146", message, "18"],
    ]);
  });

  test("has the query's time and constants bound", () => {
    const found = graph.resolvers.find(({ fqn }) => fqn === "more.timed")?.body;
    const parameters = found?.case === "sql" ? found.value.parameters : [];
    expect(parameters.map(({ path, constant, length }) => [path, constant?.kind.value, length])).toEqual([
      ["", undefined, 4],
      ["", -0.5, 2],
    ]);
  });

  test("of a file is read again when the file changes, whose place and text count", async () => {
    const root = await mkdtemp(join(tmpdir(), "svc-statements-"));
    try {
      const code = `${IMPORTS}@online\ndef f(i: User.id) -> User.name:\n    return db.query_sql_file("name.sql", args={"i": i}).one()\n`;
      const files = { "features.py": FEATURES, "f.py": code, "name.sql": "select name from u where id = :i" };
      const chain = createToolchain({ home: sharedHome(), env: process.env });
      const analyzed = async (text: string) => {
        for (const [path, written] of Object.entries({ ...files, "name.sql": text })) await Bun.write(join(root, path), written);
        return (await chain.analyze({ root, files: Object.keys(files) })).graph;
      };
      const before = (await analyzed(files["name.sql"])).resolvers[0];
      const after = await analyzed("select name,\n  nick\nfrom u where id = :i");
      expect(before?.body.case === "sql" && before.body.value.python?.textSpan?.file).toBe("name.sql");
      expect(shown(after.diagnostics)).toMatchObject([{ rule: "E153", at: "name.sql:2:3-2:7" }]);
      const changed = (await analyzed("select upper(name) as name from u where id = :i")).resolvers[0];
      expect(changed?.body.case === "sql" && changed.body.value.body).toContain("upper");
      expect(changed?.sourceSha256).not.toBe(before?.sourceSha256 as string);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  test("of a table has its columns", () => {
    const found = graph.resolvers.find(({ fqn }) => fqn === "more.table")?.body;
    expect(found?.case === "sql" && found.value.body).toBe("select id, email from u");
    expect(found?.case === "sql" && found.value.columns.map(({ feature }) => feature)).toEqual(["user.id", "user.email"]);
  });
});
