/**
 * Has-many relations, DataFrames, expressions and windows as a project writes them: real analyzer,
 * real worker, real SQLite.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { QueryRequest } from "../../../../src/server/query/request/request.ts";
import { PythonWorld } from "../python-world.ts";
import { valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

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
    kinds_seen: int = _.txns[_.merchant.loud].approx_count_distinct()
    half: float | None = _.txns[_.amount].approx_percentile(0.5)
    usual: list[str] = _.txns[_.merchant.loud].approx_top_k(k=1)
    latest: str | None = _.txns[_.merchant.loud].max_by(_.at)
    dearest: list[float] = _.txns[_.amount].max_by_n(_.cents / 2, 2)
    dearest_shop: Windowed[str | None] = windowed("1d", "30d", expression=_.txns[_.merchant.name, _.at > _.svc_window, _.at <= _.svc_now].max_by(_.amount))
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

let world: PythonWorld;

beforeAll(async () => {
  world = await PythonWorld.start(PROJECT, createShop);
});

/** Makes the project's database. */
function createShop(root: string): Record<string, string> {
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
  return { DB_SQLITE_PATH: database };
}

afterAll(() => world?.close());

const query = async (
  inputs: Record<string, unknown>,
  outputs: string[],
  more: Partial<QueryRequest> = {},
): Promise<Record<string, FeatureValue>> => {
  const answer = await world.ask(inputs, outputs, more);
  expect(answer.failures.map((failure) => failure.message)).toEqual([]);
  return valuesOf(answer);
};

test("approximate aggregations, and rows by a key", async () => {
  const outputs = ["kinds_seen", "half", "usual", "latest", "dearest", "dearest_shop"].map((name) => `user.${name}`);
  expect(await query({ "user.id": 1 }, outputs)).toEqual({
    "user.kinds_seen": 2,
    "user.half": 5,
    "user.usual": ["BAR"],
    "user.latest": "SHOP",
    "user.dearest": [50, 5],
    "user.dearest_shop__86400__": "shop",
    "user.dearest_shop__2592000__": "bar",
  });
});

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
  const answer = await world.askBulk({ "user.id": [2, 1] }, ["user.rank", "user.label", "user.city"]);
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
