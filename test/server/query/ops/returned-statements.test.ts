/** Statements that Python resolvers return: real analyzer, real worker, real SQLite. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { PythonWorld } from "../python-world.ts";
import { failureOf, valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const PROJECT = {
  "features.py": `
from datetime import date, datetime
from decimal import Decimal
from svc.features import DataFrame, features
from svc.sources import SQLiteSource, SQLSourceGroup

db = SQLiteSource(name="db", path="rows.db")
other = SQLiteSource(name="other", path="other.db")
both = SQLSourceGroup("both", default=db, tagged_sources={"eu": other})

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float
    kind: str

@features
class User:
    id: int
    txns: DataFrame[Txn]
    name: str
    email: str | None
    plain: str
    nick: str
    born: date
    seen: datetime
    ratio: float
    balance: Decimal
    place: str
    total: float
    listed: int
    strange: str
    several: str
    none: str | None
    nobody: str
    lacking: str
    unbound: str
    broken: str
    slow: int

@features
class Shop:
    id: int
    city: str
    size: int

@features
class Animal:
    id: int
    sort: str

@features
class Item:
    id: int
    label: str
`,
  "item.sql": "select id, label -- all of them\nfrom item where kind = :kind",
  "resolvers.py": `
from datetime import date, datetime
from features import Animal, Item, Shop, Txn, User, both, db
from svc import offline, online
from svc.features import DataFrame, Features

# Statements that are all of their function.
@online
def contact(i: User.id) -> Features[User.name, User.email]:
    """Who it is."""
    return db.query_string("select display, email from person where id = :i", args={"i": i}, fields={"display": User.name}).one_or_none()

@online
def shops() -> DataFrame[Shop.id, Shop.city, Shop.size]:
    return db.query_string("select id, city, size from shop where size > :least and city <> ':x'", args={"least": 1}).all()

@online
def items() -> DataFrame[Item.id, Item.label]:
    return db.query_sql_file("item.sql", args={"kind": "a"}).all()

# Statements that Python makes.
@online
def plain(i: User.id) -> User.plain:
    table = "person"
    return db.query_string(f"select display as plain from {table} where id = :i", args={"i": i}).one()

@online
def typed(i: User.id) -> Features[User.born, User.seen, User.ratio, User.balance]:
    found = db.query_string(
        "select :day as born, :at as seen, :half / 2 as ratio, :balance as balance, id from person where id = :i",
        args={"i": i, "day": date(2024, 2, 3), "at": datetime(2024, 2, 3, 4), "half": 5.0, "balance": "12.50"},
    )
    return found.one()

@online
def place(i: User.id) -> User.place:
    statement = both.query_string("select place from place where id = :i", args={"i": i})
    return statement.one()

@online
def txns(i: User.id) -> User.txns[Txn.id, Txn.amount, Txn.kind]:
    return db.query_string("select id, amount, kind from txn where owner = :i order by id", args={"i": i}).all() if i != 3 else [Txn(id=9, amount=1.5, kind="own")]

@online
def total(rows: User.txns[Txn.amount]) -> User.total:
    return rows.sum(Txn.amount) if len(rows) else 0.0

@online
async def nick(i: User.id) -> User.nick:
    return db.query_string("select upper(display) as nick from person where id = :i", args={"i": i}).one() if i < 2 else "none"

@online
def listed(rows: DataFrame[User.id, User.plain]) -> DataFrame[User.id, User.listed]:
    # For a table there is one statement.
    return db.query_string("select id, id * 10 as listed from person").all()

@online
def everybody() -> DataFrame[Animal.id, Animal.sort]:
    # All of them.
    query = "select id, sort from animal"
    return db.query_string(query).all()

@online(timeout="50ms")
def slow(i: User.id) -> User.slow:
    query = "with recursive n(x) as (select 1 union all select x + 1 from n) select max(x) as slow from n where x > :i"
    return db.query_string(query, args={"i": i}).one()

@online
def strange(i: User.id) -> User.strange:
    query = "select display as strange, id as what from person where id = :i"
    return db.query_string(query, args={"i": i}).one()

@online
def several(i: User.id) -> User.several:
    query = "select display as several from person"
    return db.query_string(query, args={}).one()

@online
def none(i: User.id) -> User.none:
    query = "select display as none from person where id = -:i"
    return db.query_string(query, args={"i": i}).one_or_none()

@online
def nobody(i: User.id) -> User.nobody:
    query = "select display as nobody from person where id = -:i"
    return db.query_string(query, args={"i": i}).one()

@online
def lacking(i: User.id) -> User.lacking:
    query = "select id from person where id = :i"
    return db.query_string(query, args={"i": i}).one()

@online
def unbound(i: User.id) -> User.unbound:
    query = "select display as unbound from person where id = :i and id = :j"
    return db.query_string(query, args={"i": i}).one()

@online
def broken(i: User.id) -> User.broken:
    query = "select display as broken from persons where id = :i"
    return db.query_string(query, args={"i": i}).one()
`,
};

let world: PythonWorld;
beforeAll(async () => {
  world = await PythonWorld.start(PROJECT, (root) => {
    const db = new Database(join(root, "rows.db"));
    db.run("create table person (id integer primary key, display text, email text)");
    db.run("insert into person values (1, 'Ada', 'ada@x'), (2, 'Bob''; drop table person', null), (3, 'Cyd', 'c@x')");
    db.run("create table txn (id integer primary key, owner integer, amount real, kind text)");
    db.run("insert into txn values (1, 1, 10, 'a'), (2, 1, 20.5, 'b'), (3, 2, 1, 'a')");
    db.run("create table shop (id integer primary key, city text, size integer)");
    db.run("insert into shop values (1, 'Oslo', 1), (2, 'Rome', 2), (3, 'Bonn', 3)");
    db.run("create table item (id integer primary key, label text, kind text)");
    db.run("insert into item values (1, 'one', 'a'), (2, 'two', 'b')");
    db.run("create table animal (id integer primary key, sort text)");
    db.run("insert into animal values (1, 'cat'), (2, 'dog')");
    db.run("create table place (id integer, place text)");
    db.run("insert into place values (1, 'here')");
    const other = new Database(join(root, "other.db"));
    other.run("create table place (id integer, place text)");
    other.run("insert into place values (1, 'there')");
    return { DB_SQLITE_PATH: join(root, "rows.db"), OTHER_SQLITE_PATH: join(root, "other.db") };
  });
});
afterAll(() => world?.close());

/** Values in the order of the outputs. */
const told = (answer: Parameters<typeof valuesOf>[0]) => Object.values(valuesOf(answer));
const of = async (id: number, ...outputs: string[]) => told(await world.ask({ "user.id": id }, outputs));

describe("a function that is no more than its statement", () => {
  test("is a SQL resolver, which no worker runs", async () => {
    const kinds = new Map(world.graph.resolvers.map(({ fqn, body }) => [fqn.split(".").at(-1), body.case]));
    expect(["contact", "shops", "items"].map((name) => kinds.get(name))).toEqual(["sql", "sql", "sql"]);
    expect(["plain", "typed", "txns", "place"].map((name) => kinds.get(name))).toEqual(["python", "python", "python", "python"]);
    world.takeCalledRows();
    expect(await of(1, "user.name", "user.email")).toEqual(["Ada", "ada@x"]);
    expect(await of(2, "user.name", "user.email")).toEqual(["Bob'; drop table person", null]);
    expect(told(await world.ask({ "shop.id": 2 }, ["shop.city", "shop.size"]))).toEqual(["Rome", 2]);
    expect(failureOf(await world.ask({ "shop.id": 1 }, ["shop.city"]), "shop.city").message).toContain("found no row with shop.id = 1");
    expect(told(await world.ask({ "item.id": 1 }, ["item.label"]))).toEqual(["one"]);
    expect(failureOf(await world.ask({ "item.id": 2 }, ["item.label"]), "item.label").message).toContain("found no row with item.id = 2");
    expect(world.takeCalledRows()).toBe(0);
  });
});

describe("a statement that Python makes", () => {
  test("is run with its arguments bound", async () => {
    expect(await of(2, "user.plain")).toEqual(["Bob'; drop table person"]);
    expect(await of(1, "user.born", "user.seen", "user.ratio", "user.balance")).toEqual([
      "2024-02-03",
      "2024-02-03T04:00:00.000000Z",
      2.5,
      "12.50",
    ]);
  });

  test("gives the rows of a relation, for some parents beside rows of Python's own", async () => {
    const { columns } = await world.askBulk({ "user.id": [3, 1, 2] }, ["user.total", "user.nick"]);
    expect(columns.map(({ values }) => values)).toEqual([
      [1.5, 30.5, 1],
      ["none", "ADA", "none"],
    ]);
    expect(await of(1, "user.total", "user.nick")).toEqual([30.5, "ADA"]);
    expect(await of(2, "user.total", "user.nick")).toEqual([1, "none"]);
    expect(await of(3, "user.total")).toEqual([1.5]);
  });

  test("gives the rows of a class for a whole table", async () => {
    expect(await of(3, "user.listed")).toEqual([30]);
  });

  test("gives all rows of a class, which are looked up by key", async () => {
    expect(told(await world.ask({ "animal.id": 2 }, ["animal.sort"]))).toEqual(["dog"]);
  });

  test("ends with its resolver's time", async () => {
    const { code, message } = failureOf(await world.ask({ "user.id": 1 }, ["user.slow"]), "user.slow");
    expect([code, message]).toEqual(["RESOLVER_TIMED_OUT", expect.stringContaining("did not finish within 50ms")]);
  });

  test("reads the source of its group that the query's tags choose", async () => {
    expect(await of(1, "user.place")).toEqual(["here"]);
    expect(told(await world.ask({ "user.id": 1 }, ["user.place"], { tags: ["eu"] }))).toEqual(["there"]);
  });

  test("fails its row, with the reason", async () => {
    const why = async (name: string) => failureOf(await world.ask({ "user.id": 1 }, [`user.${name}`]), `user.${name}`).message;
    expect(await of(1, "user.none")).toEqual([null]);
    expect(await why("nobody")).toBe("resolvers.nobody: its statement gave no row, and .one() expects one");
    expect(await why("several")).toBe("resolvers.several: its statement gave 3 rows, and at most one is expected");
    expect(await why("strange")).toBe("resolvers.strange: column 'what' of its statement fills no feature that it returns");
    expect(await why("lacking")).toBe("resolvers.lacking: its statement has no column for user.lacking; its columns are id");
    expect(await why("unbound")).toBe("resolvers.unbound: placeholder :j of its statement has no value: give it in args=");
    expect(await why("broken")).toContain("no such table: persons");
  });
});
