/** Has-many relations, DataFrames, expressions and windows as a project writes them: real analyzer, real worker, real SQLite. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createToolchain } from "../../../src/python/create-toolchain.ts";
import { unpackSdk } from "../../../src/python/sdk.ts";
import { createLog } from "../../../src/server/log.ts";
import type { PythonPool } from "../../../src/server/python/pool.ts";
import { createWorkerPool } from "../../../src/server/python/worker-pool.ts";
import { createEngine } from "../../../src/server/query/create-engine.ts";
import type { LiveDeployment } from "../../../src/server/query/engine.ts";
import { type Ask, bulkColumn } from "../../../src/server/query/request.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import type { SqlSources } from "../../../src/server/sql/source.ts";
import { openSqliteOnlineStore } from "../../../src/server/stores/online/sqlite.ts";
import { anyPython } from "../python/project.ts";
import { featureIdsOf } from "./graphs.ts";
import { ask, valuesOf } from "./worlds.ts";

setDefaultTimeout(60_000);

const PROJECT: Record<string, string> = {
  "features.py": `
import svc.functions as F
from svc.features import DataFrame, FeatureTime, _, features
from svc.sources import SQLiteSource
from svc.streams import Windowed, windowed

db = SQLiteSource(name="db", path="shop.db")

@features
class Merchant:
    id: int
    name: str
    loud: str = F.upper(_.name)

@features
class Txn:
    id: int
    user_id: "User.id"
    merchant_id: Merchant.id
    merchant: Merchant
    amount: float
    at: FeatureTime
    risk: float
    cents: float = _.amount * 100

@features
class Login:
    id: int
    user_id: "User.id"
    ok: bool

@features
class User:
    id: int
    name: str
    city: str
    txns: DataFrame[Txn]
    logins: DataFrame[Login]
    total: float = _.txns[_.amount].sum()
    big: int = _.txns[_.cents > 1000].count()
    merchants: int = _.txns[_.merchant.loud].n_unique()
    failed: int = _.logins[_.ok == False].count()  # noqa: E712
    spend: Windowed[float] = windowed("1d", "30d", expression=_.txns[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
    label: str
    spread: str
    kinds: int
    rank: int
`,
  "resolvers.py": `
from features import Login, Merchant, Txn, User
from svc import online
from svc.features import DataFrame

@online
def risk(amount: Txn.amount, merchant: Txn.merchant.name) -> Txn.risk:
    return amount / 100 + len(merchant)

@online
def label(name: User.name, txns: User.txns[Txn.amount * 2 > 12 and Txn.amount is not None, Txn.amount, Txn.risk]) -> User.label:
    return f"{name}: {[(row.amount, row.risk) for row in txns]}"

@online
def spread(amounts: User.txns.amount, names: User.txns.merchant.name) -> User.spread:
    assert type(amounts) is list
    return f"{sorted(amounts)} {names}"

@online
def kinds(txns: User.txns) -> User.kinds:
    return len({row.merchant_id for row in txns})

@online
def logins(id: User.id) -> User.logins:
    return [Login(id=id * 10 + i, user_id=id, ok=i > 0) for i in range(id)]

@online
def cities() -> DataFrame[User.id, User.city]:
    return DataFrame([User(id=1, city="Rome"), User(id=2, city="Oslo")])

@online
def rank(users: DataFrame[User.id, User.total]) -> DataFrame[User.id, User.rank]:
    best = sorted(users, key=lambda user: -user.total)
    return DataFrame([User(id=user.id, rank=place) for place, user in enumerate(best, 1)])
`,
  "txns.svc.sql": "-- resolves: Txn\n-- source: db\nselect id, user_id, merchant_id, amount, at from txns order by id\n",
  "merchants.svc.sql": "-- resolves: Merchant\n-- source: db\nselect id, name from merchants\n",
  "users.svc.sql": "-- resolves: User\n-- source: db\nselect id, name from users where id = ${user.id}\n",
};

const clock = { now: () => Date.parse("2024-05-01T12:00:00Z"), sleep: (ms: number) => Bun.sleep(ms) };
const engine = createEngine({ clock, log: createLog({ write: () => {}, clock, level: "error" }) });
let folder: string;
let pool: PythonPool;
let sources: SqlSources;
let deployment: LiveDeployment;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-relations-"));
  const root = join(folder, "project");
  await mkdir(root);
  for (const [name, text] of Object.entries(PROJECT)) await writeFile(join(root, name), text);
  const database = join(root, "shop.db");
  using db = new Database(database, { create: true });
  db.run("create table users (id integer primary key, name text)");
  db.run("insert into users values (1, 'ann'), (2, 'bob')");
  db.run("create table merchants (id integer primary key, name text)");
  db.run("insert into merchants values (1, 'shop'), (2, 'bar')");
  db.run("create table txns (id integer primary key, user_id integer, merchant_id integer, amount real, at text)");
  db.run(
    `insert into txns values (1, 1, 1, 5, '2024-04-30T13:00:00Z'), (2, 1, 2, 50, '2024-04-20T00:00:00Z'), (3, 2, 1, 7, '2024-05-01T11:00:00Z'),
       (4, 1, 2, 500, '2024-05-02T00:00:00Z')`,
  );
  const chain = createToolchain({ home: join(folder, "home"), env: process.env });
  const { graph }: { graph: Graph } = await chain.analyze({ root, files: Object.keys(PROJECT) });
  expect(graph.diagnostics.filter((finding) => finding.severity === 1).map((finding) => finding.message)).toEqual([]);
  pool = await createWorkerPool({
    python: (await anyPython()) as string,
    sdkRoot: await unpackSdk(join(folder, "sdk")),
    sourceRoot: root,
    env: { PATH: process.env.PATH },
    size: 1,
    socketDir: join(folder, "sockets"),
    onLog: () => {},
    clock,
    deploymentId: "dpl_1",
    environmentName: "default",
    defaultTimeoutMs: 20_000,
    resolverFqns: graph.resolvers.filter((resolver) => resolver.body.case === "python").map((resolver) => resolver.fqn),
  });
  sources = createSqlSources({ declared: graph.sources, env: { DB_SQLITE_PATH: database } });
  deployment = {
    id: "dpl_1",
    environmentId: "env_1",
    environmentName: "default",
    scope: "main",
    graph,
    featureIds: featureIdsOf(graph),
    pool,
    sources,
    online: openSqliteOnlineStore(":memory:"),
  };
});

afterAll(async () => {
  await pool?.drain(0);
  await sources?.close();
  await rm(folder, { recursive: true, force: true });
});

const query = async (
  inputs: Record<string, unknown>,
  outputs: string[],
  more: Partial<Ask> = {},
): Promise<Record<string, FeatureValue>> => {
  const answer = await engine.answer(deployment, ask(inputs, outputs, more), clock.now());
  expect(answer.failures.map((failure) => failure.message)).toEqual([]);
  return valuesOf(answer);
};

test("a feature of the rows of a relation is a list for a resolver", async () => {
  expect(await query({ "user.id": 1 }, ["user.spread"])).toEqual({ "user.spread": "[5.0, 50.0] ['shop', 'bar']" });
  expect(await query({ "user.id": 9, "user.txns": [] }, ["user.spread"])).toEqual({ "user.spread": "[] []" });
});

test("rows are found, computed and aggregated across SQL, Python and expressions", async () => {
  const outputs = ["user.total", "user.big", "user.merchants", "user.failed", "user.spend", "user.txns.risk", "user.txns.merchant.loud"];
  expect(await query({ "user.id": 1 }, outputs)).toEqual({
    "user.total": 55,
    "user.big": 1,
    "user.merchants": 2,
    "user.failed": 1,
    "user.spend__86400__": 5,
    "user.spend__2592000__": 55,
    "user.txns.risk": [4.05, 3.5],
    "user.txns.merchant.loud": ["SHOP", "BAR"],
  });
  expect(await query({ "user.id": 1 }, ["user.logins"])).toEqual({ "user.logins": [{ id: 10, user_id: 1, ok: false }] });
});

test("DataFrames are handed to resolvers filtered and projected, and whole", async () => {
  expect(await query({ "user.id": 1 }, ["user.label", "user.kinds"])).toEqual({ "user.label": "ann: [(50.0, 3.5)]", "user.kinds": 2 });
  expect(await query({ "user.id": 9, "user.name": "new" }, ["user.label", "user.kinds"])).toEqual({
    "user.label": "new: []",
    "user.kinds": 0,
  });
});

test("DataFrames that resolvers return are looked up by key, and computed for a whole batch", async () => {
  expect(await query({ "user.id": 2 }, ["user.city"])).toEqual({ "user.city": "Oslo" });
  const answer = await engine.answerBulk(
    deployment,
    { ask: ask({}, ["user.rank", "user.label", "user.city"]), columns: [bulkColumn("user.id", [2, 1])] },
    clock.now(),
  );
  expect(answer.failures.map((failure) => failure.message)).toEqual([]);
  expect(answer.columns.map((column) => column.values)).toEqual([
    [2, 1],
    ["bob: [(7.0, 4.07)]", "ann: [(50.0, 3.5)]"],
    ["Oslo", "Rome"],
  ]);
});

test("given rows go the same way", async () => {
  const txns = [{ id: 7, merchant_id: 2, amount: 8, at: "2024-05-01T00:00:00Z" }];
  expect(await query({ "user.id": 1, "user.txns": txns }, ["user.total", "user.label", "user.merchants"])).toEqual({
    "user.total": 8,
    "user.label": "ann: [(8.0, 3.08)]",
    "user.merchants": 1,
  });
});
