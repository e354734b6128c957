/**
 * Has-one relations whose key leads to no row: real analyzer, real worker, real SQLite; what is
 * right comes from a loop over the rows.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { featureClass, fn, graph, python, sql } from "../graphs.ts";
import { PythonWorld } from "../python-world.ts";
import { failureOf, fieldOf, MemorySource, valuesOf, World } from "../worlds.ts";

setDefaultTimeout(300_000);

const AUTHORS = [
  { id: 1, name: "ann", nick: null },
  { id: 2, name: "bob", nick: "b" },
];
/** Books of an author who exists, of one who does not, and of none. */
const BOOKS = [
  { id: 10, author_id: 1 },
  { id: 11, author_id: 1 },
  { id: 12, author_id: 999 },
  { id: 13, author_id: 999 },
  { id: 14, author_id: null },
];

/** The project; the authors' rows come from `source`. */
function project(optional: boolean, source: Record<string, string>): Record<string, string> {
  return {
    "features.py": `
import svc.functions as F
from svc.features import DataFrame, _, feature, features
from svc.sources import SQLiteSource

db = SQLiteSource(name="db", path="books.db")

@features
class Author:
    id: int
    name: str
    nick: str | None
    age: int = feature(max_staleness="1h")
    twice: int = _.id * 2
    books: "DataFrame[Book]"
    n_books: int = _.books.count()

@features
class Book:
    id: int
    author_id: "Author.id | None"
    author: "Author${optional ? " | None" : ""}"
    their: int | None = _.author.id + 0
    siblings: int | None = _.author.books.count()
    double: int | None = _.author.twice
    said: str
    rows: int
    code: str | None
`,
    "resolvers.py": `
from features import Author, Book
from svc import online
from svc.features import DataFrame

@online
def age(i: Author.id) -> Author.age:
    return i * 10

@online
def said(i: Book.author.id, a: Book.author.age) -> Book.said:
    return f"{i} {a}"

@online
def rows(books: Book.author.books[Book.id]) -> Book.rows:
    return len(books)
`,
    "books.svc.sql": "-- resolves: Book\n-- source: db\nselect id, author_id from books order by id\n",
    "codes.svc.sql": "-- resolves: Book\n-- source: db\nselect 'code ' || coalesce(cast(${book.author.id} as integer), 'none') as code\n",
    ...source,
  };
}

const SOURCES: Readonly<Record<string, Record<string, string>>> = {
  "a query": { "authors.svc.sql": "-- resolves: Author\n-- source: db\nselect id, name, nick from authors\n" },
  "a query with the key": {
    "authors.svc.sql": "-- resolves: Author\n-- source: db\nselect id, name, nick from authors where id = ${author.id}\n",
  },
  "rows of a resolver": {
    "authors.py": `
from features import Author
from svc import online
from svc.features import DataFrame

@online(total=True)
def authors() -> DataFrame[Author.id, Author.name, Author.nick]:
    return DataFrame([Author(id=1, name="ann", nick=None), Author(id=2, name="bob", nick="b")])
`,
  },
};

function createBooks(root: string): Record<string, string> {
  const database = join(root, "books.db");
  using db = new Database(database, { create: true });
  db.run("create table authors (id integer primary key, name text, nick text)");
  for (const { id, name, nick } of AUTHORS) db.run("insert into authors values (?, ?, ?)", [id, name, nick]);
  db.run("create table books (id integer primary key, author_id integer)");
  for (const { id, author_id } of BOOKS) db.run("insert into books values (?, ?)", [id, author_id]);
  return { DB_SQLITE_PATH: database };
}

const READS = ["author.id", "author.name", "author.nick", "author.age", "author.twice", "author.n_books", "author.books.id"];
const MADE = ["their", "siblings", "double", "said", "rows", "code"];
const NAMES = [...READS, ...MADE].map((name) => `book.${name}`);

/** What a book's features are, by a loop over the rows. */
function expected(book: (typeof BOOKS)[number]): Record<string, unknown> {
  const author = AUTHORS.find((one) => one.id === book.author_id);
  const books = author ? BOOKS.filter((one) => one.author_id === author.id).map((one) => one.id) : null;
  return {
    "book.author.id": author?.id ?? null,
    "book.author.name": author?.name ?? null,
    "book.author.nick": author?.nick ?? null,
    "book.author.age": author ? author.id * 10 : null,
    "book.author.twice": author ? author.id * 2 : null,
    "book.author.n_books": books?.length ?? null,
    "book.author.books.id": books,
    "book.their": author?.id ?? null,
    "book.siblings": books?.length ?? null,
    "book.double": author ? author.id * 2 : null,
    "book.said": author ? `${author.id} ${author.id * 10}` : "None None",
    // A resolver is handed rows: none where there is no one whose rows they would be
    "book.rows": books?.length ?? 0,
    "book.code": `code ${author?.id ?? "none"}`,
  };
}

describe.each(Object.entries(SOURCES))("an optional row from %s", (_name, source) => {
  let world: PythonWorld;
  beforeAll(async () => {
    world = await PythonWorld.start(project(true, source), createBooks);
  });
  afterAll(() => world?.close());

  test("that is missing has no key, no value, and no rows; its key is not joined on", async () => {
    // What is stored of the key that leads nowhere is not of any row
    await world.ask({ "author.id": 999 }, ["author.age"]);
    for (const book of BOOKS) {
      const all = await world.ask({ "book.id": book.id }, NAMES);
      expect(all.failures.map((failure) => failure.message)).toEqual([]);
      expect(valuesOf(all)).toEqual(expected(book) as never);
      for (const name of NAMES) {
        const one = await world.ask({ "book.id": book.id }, [name]);
        expect([name, one.failures, valuesOf(one)[name]]).toEqual([name, [], expected(book)[name] as never]);
      }
    }
  });

  test("is the same in bulk", async () => {
    const answer = await world.askBulk({ "book.id": BOOKS.map((book) => book.id) }, NAMES);
    expect(answer.failures).toEqual([]);
    for (const column of answer.columns)
      if (column.path !== "book.id")
        expect([column.path, column.values]).toEqual([column.path, BOOKS.map((book) => expected(book)[column.path]) as never]);
  });
});

test("a required row that is missing fails what is read of it, its key too, with the relation and the key", async () => {
  const world = await PythonWorld.start(project(false, SOURCES["a query"] as Record<string, string>), createBooks);
  try {
    const outputs = NAMES.filter((name) => name !== "book.code");
    const good = await world.ask({ "book.id": 10 }, outputs);
    expect(good.failures).toEqual([]);
    const answer = await world.ask({ "book.id": 12 }, outputs);
    for (const name of outputs) {
      const { code, message } = failureOf(answer, name);
      expect([name, code]).toEqual([name, "UPSTREAM_FAILED"]);
      expect(message).toContain(
        "book.author has no row: authors (authors.svc.sql:1) found none with author.id = 999, and the relation is not optional",
      );
    }
    const bulk = await world.askBulk({ "book.id": [10, 12, 11] }, ["book.author.id"]);
    expect(bulk.columns.find((column) => column.path === "book.author.id")?.values).toEqual([1, null, 1]);
    expect(bulk.failures.map(({ row, feature }) => [row, feature])).toEqual([
      [1, "book.author.id"],
      [1, "book.author"],
    ]);
  } finally {
    await world.close();
  }
});

describe("what tells whether a row exists", () => {
  const person = featureClass("person", {
    id: "int",
    city_id: "int?",
    city: { to: "city", on: [["city_id", "id"]], optional: true },
    mail: "str?",
    city_of: { type: "int?", expression: fn("add", "city.id", "city.id") },
  });
  const city = featureClass("city", { id: "int", name: "str?", size: { type: "int", default: 0 }, label: "str" });
  const people = sql("people", "select id, city_id from people", { "person.id": "id", "person.city_id": "city_id" });
  const names = sql("names", "select id, name from names", { "city.id": "id", "city.name": "name" });
  const sizes = sql("sizes", "select id, size from sizes", { "city.id": "id", "city.size": "size" });
  const labels = sql("labels", "select id, label from labels", { "city.id": "id", "city.label": "label" });
  const label = python("m.label", ["city.id"], ["city.label"]);
  const tables = `create table people (id integer, city_id integer); insert into people values (1, 1), (2, 2), (3, 3), (4, 4);
    create table names (id integer, name text); insert into names values (1, 'rome');
    create table sizes (id integer, size integer); insert into sizes values (1, 5), (2, 6);
    create table labels (id integer, label text); insert into labels values (1, 'a'), (3, 'c');`;
  const open = (resolvers: Parameters<typeof graph>[1]) =>
    new World(graph([person, city], resolvers), {
      sources: [new MemorySource("db", tables)],
      python: { "m.label": ([id]) => `city ${id}` },
    });
  const ids = async (resolvers: Parameters<typeof graph>[1]) => {
    const found: unknown[] = [];
    for (const id of [1, 2, 3, 4]) found.push((await open(resolvers).values({ "person.id": id }, ["person.city.id"]))["person.city.id"]);
    return found;
  };

  test("nothing but the key, where every value is made of it or may be missing", async () => {
    expect(await ids([people])).toEqual([1, 2, 3, 4]);
    expect(await ids([people, label])).toEqual([1, 2, 3, 4]);
    expect(await ids([people, label, names, sizes])).toEqual([1, 2, 3, 4]);
  });

  test("the source of a value that no row can be without, the others being parts", async () => {
    expect(await ids([people, labels])).toEqual([1, null, 3, null]);
    expect(await ids([people, labels, names, sizes])).toEqual([1, null, 3, null]);
  });

  test("the source of all rows, before any other", async () => {
    const all = sql("all", "select id, size from sizes", { "city.id": "id", "city.size": "size" }, { total: true });
    expect(await ids([people, labels, names, all])).toEqual([1, 2, null, null]);
    const answer = await open([people, labels, names, all]).ask({ "person.id": 3 }, ["person.city.label", "person.city_of"]);
    expect([valuesOf(answer), answer.failures]).toEqual([{ "person.city.label": null, "person.city_of": null }, []]);
  });

  test("any of several sources of parts, which are asked one after another until one has the row", async () => {
    expect(await ids([people, names, sizes])).toEqual([1, 2, null, null]);
    const one = open([people, names, sizes]);
    await one.ask({ "person.id": 1 }, ["person.city.id"]);
    const source = one.deployment.sources.get("db") as unknown as MemorySource;
    expect(source.statements.map(({ text }) => /from (\w+)/.exec(text)?.[1])).toEqual(["people", "names"]);
  });

  test("a source that fails fails what needs the row, and nothing else", async () => {
    const broken = sql("labels", "select id, label from nowhere", { "city.id": "id", "city.label": "label" });
    const answer = await open([people, broken]).ask({ "person.id": 1 }, ["person.city.id", "person.city_id"]);
    expect(failureOf(answer, "person.city.id").message).toContain("no such table: nowhere");
    expect(fieldOf(answer, "person.city_id").value).toBe(1);
  });

  test("a row that begins after the query's time does not exist yet", async () => {
    const dated = featureClass("city", { id: "int", name: "str", at: { type: "datetime", time: true } });
    const rows = sql("cities", "select id, name, at from cities", { "city.id": "id", "city.name": "name", "city.at": "at" });
    const source = new MemorySource(
      "db",
      `create table people (id integer, city_id integer); insert into people values (1, 1), (2, 2);
       create table cities (id integer, name text, at text); insert into cities values (1, 'old', '2020-01-01T00:00:00Z'), (2, 'new', '2999-01-01T00:00:00Z');`,
    );
    const one = new World(graph([person, dated], [people, rows]), { sources: [source] });
    expect(await one.values({ "person.id": 1 }, ["person.city.id"])).toEqual({ "person.city.id": 1 });
    expect(await one.values({ "person.id": 2 }, ["person.city.id"])).toEqual({ "person.city.id": null });
  });
});

test("a row joined on a column that is no key gives its key, and is missing when none has the value", async () => {
  const classes = `
from svc.features import features, has_one
from svc.sources import SQLiteSource

db = SQLiteSource(name="db", path="accounts.db")

@features
class Account:
    id: int
    owner: int
    balance: float

@features
class Person:
    id: int
    account: "Account | None" = has_one(lambda: Account.owner == Person.id)
    account_id: int | None
`;
  const read = `
from features import Account, Person
from svc import online
from svc.features import DataFrame

@online
def account_id(i: Person.account.id) -> Person.account_id:
    return i
`;
  const rows = `
@online(total=True)
def accounts() -> DataFrame[Account.id, Account.owner, Account.balance]:
    return DataFrame([Account(id=70, owner=1, balance=1.0), Account(id=80, owner=3, balance=2.0)])
`;
  const query = "-- resolves: Account\n-- source: db\nselect id, owner, balance from accounts\n";
  const projects: Record<string, string>[] = [
    { "features.py": classes, "resolvers.py": read, "accounts.svc.sql": query },
    { "features.py": classes, "resolvers.py": read + rows },
  ];
  for (const files of projects) {
    const world = await PythonWorld.start(files, (root) => {
      using db = new Database(join(root, "accounts.db"), { create: true });
      db.run("create table accounts (id integer primary key, owner integer, balance real)");
      db.run("insert into accounts values (70, 1, 1), (80, 3, 2)");
      return { DB_SQLITE_PATH: join(root, "accounts.db") };
    });
    try {
      const ids = [1, 2, 3];
      const outputs = ["person.account.id", "person.account.owner", "person.account.balance", "person.account_id"];
      const answer = await world.askBulk({ "person.id": ids }, outputs);
      expect(answer.failures).toEqual([]);
      expect(outputs.map((path) => answer.columns.find((column) => column.path === path)?.values)).toEqual([
        [70, null, 80],
        [1, null, 3],
        [1, null, 2],
        [70, null, 80],
      ]);
      expect(valuesOf(await world.ask({ "person.id": 2 }, ["person.account.owner"]))).toEqual({ "person.account.owner": null });
    } finally {
      await world.close();
    }
  }
});
