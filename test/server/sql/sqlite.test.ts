import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { SqlError } from "../../../src/server/sql/source.ts";
import { SqliteSource } from "../../../src/server/sql/sqlite.ts";
import { isPointRead } from "../../../src/server/sql/sqlite-plan.ts";
import { eventually, isPending } from "../../harness/eventually.ts";
import { seeded } from "../../harness/seed.ts";

const root = mkdtempSync(join(tmpdir(), "svc-sqlite-source-"));
const path = join(root, "data.db");
const opened: SqliteSource[] = [];

function open(file = path): SqliteSource {
  const source = new SqliteSource("lite", file, root);
  opened.push(source);
  return source;
}

async function failure(run: Promise<unknown>): Promise<SqlError> {
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(SqlError);
  return error as SqlError;
}

beforeAll(() => {
  const db = new Database(path);
  db.run("pragma journal_mode = wal");
  db.run("create table app_user (id integer primary key, code text unique, name text, score real, big integer, raw blob, city integer)");
  db.run("create index by_city on app_user (city)");
  db.run("create unique index by_pair on app_user (city, name)");
  db.run("create table airport (iata text primary key, name text) without rowid");
  db.run("create table leg (origin text, destination text, miles int, primary key (origin, destination)) without rowid");
  db.run("create table hop (origin text, destination text, day text, primary key (origin, destination, day)) without rowid");
  db.run("create table slow (x integer)");
  db.run("with recursive n(x) as (select 1 union all select x + 1 from n where x < 4000) insert into slow select x from n");
  const insert = db.prepare("insert into app_user values (?, ?, ?, ?, ?, ?, ?)");
  insert.run(1, "a", "Ann", 1.5, 9007199254740993n, new Uint8Array([0, 255]), 7);
  insert.run(2, "b", null, -0.5, -(2n ** 63n), null, 7);
  db.close();
});

afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("sqlite source", () => {
  test("gives rows and columns; integers beyond 2^53 as bigint, others as numbers", async () => {
    const source = open();
    const result = await source.query("select *, big as id from app_user where id in (?1, ?2) order by id", [1, 2]);
    expect(result.columns).toEqual(["id", "code", "name", "score", "big", "raw", "city", "id"]);
    expect(result.rows).toEqual([
      [1, "a", "Ann", 1.5, 9007199254740993n, new Uint8Array([0, 255]), 7, 9007199254740993n],
      [2, "b", null, -0.5, -(2n ** 63n), null, 7, -(2n ** 63n)],
    ]);
    expect((await source.query("select name from app_user where id = ?1", [99])).rows).toEqual([]);
  });

  test("the worker thread gives the same as the main thread", async () => {
    const source = open();
    const point = await source.query("select * from app_user where id = 1", []);
    const scan = await source.query("select * from app_user where id + 0 = 1", []);
    expect(scan).toEqual(point);
    const many = await source.query("select a.x, b.x from slow a, slow b where b.x <= 3", []);
    expect(many.rows.length).toBe(12_000);
    expect(many.rows[11_999]).toEqual([4_000, 3]);
    expect((await source.query("select x from slow where x < 0", [])).columns).toEqual(["x"]);
  });

  test("parameters are bound: any value comes back, none is read as SQL", async () => {
    const source = open();
    const value = fc.oneof<fc.Arbitrary<FeatureValue>[]>(
      fc.constant(null),
      fc.string(),
      fc.constant("'; drop table app_user; --"),
      fc.double({ noNaN: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
      fc.maxSafeInteger(),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.uint8Array(),
    );
    await fc.assert(
      fc.asyncProperty(value, fc.boolean(), async (given, threaded) => {
        const text = threaded ? "select ?1 from slow where x = 1" : "select ?1";
        expect((await source.query(text, [given])).rows).toEqual([[given]]);
      }),
      seeded(200, 20_000),
    );
    expect((await source.query("select ?1, ?2, ?3", [true, [1, "a"], { a: 2n ** 60n }])).rows).toEqual([
      [1, '[1,"a"]', '{"a":{"$int":"1152921504606846976"}}'],
    ]);
    expect((await failure(source.query("select ?1", [2n ** 63n]))).message).toContain("64 bits");
    expect(await failure(source.query("select ?1, ?2", [1, Number.NaN]))).toMatchObject({
      message: "parameter 2 is NaN, which SQLite would take for null",
      fault: "parameter",
    });
    expect((await source.query("select ?1", [Number.POSITIVE_INFINITY])).rows).toEqual([[Number.POSITIVE_INFINITY]]);
    expect((await failure(source.query("select ?1, ?2", [1]))).message).toContain("expected 2");
  });

  test("errors carry SQLite's text and the place in UTF-16 units", async () => {
    const source = open();
    const text = "select 'é\u{1f600}', nope from app_user";
    for (const error of [await failure(source.query(text, [])), await failure(source.describe(text))]) {
      expect(error.message).toContain("no such column: nope");
      expect(error.offset).toBe(text.indexOf("nope"));
    }
    const inThread = await failure(source.query("select abs(-9223372036854775807 - x) from slow", []));
    expect(inThread.message).toContain("integer overflow");
    expect((await failure(source.query("select * from missing", []))).message).toContain("no such table: missing");
  });

  test("is read only, and sees what others write", async () => {
    const source = open();
    expect((await failure(source.query("delete from app_user where id = 1", []))).message).toContain("readonly");
    expect((await failure(source.query("update slow set x = x + 1", []))).message).toContain("readonly");
    const writer = new Database(path);
    writer.run("insert into app_user (id, name) values (50, 'new')");
    expect((await source.query("select name from app_user where id = ?1", [50])).rows).toEqual([["new"]]);
    writer.run("delete from app_user where id = 50");
    writer.close();
  });

  test("waits for a lock away from the event loop", async () => {
    const file = join(root, "locked.db");
    const writer = new Database(file);
    writer.run("create table t (id integer primary key, v text)");
    writer.run("insert into t values (1, 'old')");
    const source = open(file);
    expect((await source.query("select v from t where id = 1", [])).rows).toEqual([["old"]]);
    writer.run("begin exclusive");
    writer.run("update t set v = 'new' where id = 1");
    const waiting = source.query("select v from t where id = 1", []);
    for (let turns = 0; turns < 20; turns++) expect(await isPending(waiting)).toBe(true);
    writer.run("commit");
    expect((await waiting).rows).toEqual([["new"]]);
    writer.close();
  });

  test("a statement that scans holds up neither the event loop nor other statements, and can be given up", async () => {
    const source = open();
    const controller = new AbortController();
    let scanEnded = false;
    const scan = source
      .query("select count(*) from slow a, slow b, slow c where (a.x + b.x) % 7 = c.x % 5 and c.x <= 4", [], controller.signal)
      .finally(() => {
        scanEnded = true;
      });
    const reason = await Promise.all([
      scan.then(
        () => undefined,
        (error) => error,
      ),
      (async () => {
        for (let i = 0; i < 20; i++) {
          expect((await source.query("select name from app_user where id = ?1", [1])).rows).toEqual([["Ann"]]);
          expect((await source.query("select count(*) from app_user", [])).rows).toEqual([[2]]);
        }
        expect(scanEnded).toBe(false);
        controller.abort(new Error("given up"));
      })(),
    ]);
    expect(reason[0]).toMatchObject({ message: "given up" });
    expect((await source.query("select count(*) from app_user", [])).rows).toEqual([[2]]);
  });

  test("close rejects what still runs and refuses what comes", async () => {
    const source = open();
    const running = failure(source.query("select count(*) from slow a, slow b, slow c where (a.x + b.x) % 7 = c.x % 5 and c.x <= 2", []));
    await source.close();
    expect((await running).message).toContain("closed");
    expect((await failure(source.query("select 1", []))).message).toContain("closed");
  });

  test("a file that takes the place of the open one is read after a moment", async () => {
    const file = join(root, "replaced.db");
    const write = (to: string, value: string): void => {
      const db = new Database(to);
      db.run("create table t (id integer primary key, v text)");
      db.query("insert into t values (1, ?)").run(value);
      db.close();
    };
    write(file, "first");
    const source = open(file);
    const read = async (): Promise<unknown> => (await source.query("select v from t where id = 1", [])).rows[0]?.[0];
    expect(await read()).toBe("first");
    write(`${file}.next`, "second");
    renameSync(`${file}.next`, file);
    await eventually(async () => (await read()) === "second", "the text of the new file");
  });

  test("a file that goes away is an error from then on, and is read again as soon as it is back", async () => {
    const file = join(root, "fleeting.db");
    const db = new Database(file);
    db.run("create table t (id integer primary key, v text)");
    db.run("insert into t values (1, 'there')");
    db.close();
    const source = open(file);
    const read = () => source.query("select v from t where id = 1", []).then(({ rows }) => rows[0]?.[0], String);
    expect(await read()).toBe("there");
    renameSync(file, `${file}.away`);
    await eventually(async () => (await read()) !== "there", "the notice");
    for (let round = 0; round < 20; round++) expect(await read()).toContain(`source 'lite': there is no file ${file}`);
    renameSync(`${file}.away`, file);
    expect(await read()).toBe("there");
  });

  test("a missing file and a file that is no database are errors that name the source and the path", async () => {
    expect((await failure(open("data/none.db").query("select 1", []))).message).toBe(
      `source 'lite': there is no file data/none.db, looked up as ${join(root, "data/none.db")}`,
    );
    await Bun.write(join(root, "text.db"), "no database ".repeat(100));
    expect((await failure(open("text.db").test())).message).toContain("not a database");
    await open().test();
  });
});

describe("isPointRead", () => {
  const cases: readonly [point: boolean, statement: string][] = [
    [true, "select 1"],
    [true, "select * from app_user where id = ?1"],
    [true, "select * from app_user where rowid in (?1, ?2, ?3)"],
    [true, "select q.name from (select id, name from app_user) q where q.id in (?1)"],
    [true, "select * from app_user where code = ?1"],
    [true, "select * from app_user where city = ?1 and name = ?2"],
    [true, "select a.name, b.name from app_user a join app_user b on b.id = a.city where a.code = ?1"],
    [true, "select name, (select count(*) from app_user b where b.id = a.city) from app_user a where a.id = ?1 order by name"],
    [true, "select q.name from (select iata as id, name from airport) q where q.id in (?1, ?2)"],
    [false, "select * from leg where origin = ?1"],
    [false, "select * from leg where origin = ?1 and destination = ?2"],
    [true, "select * from hop where origin = ?1 and destination = ?2 and day = ?3"],
    [false, "select * from airport where iata > ?1"],
    [false, "select * from app_user"],
    [false, "select * from app_user where city = ?1"],
    [false, "select count(*) from app_user where city = ?1"],
    [false, "select * from app_user where id > ?1"],
    [false, "select * from app_user where code > ?1"],
    [false, "select * from app_user where city = ?1 and name > ?2"],
    [false, "select a.name from app_user a join app_user b on b.city = a.id where a.id = ?1"],
    [false, "with recursive n(x) as (select 1 union all select x + 1 from n) select * from n"],
    [false, "select max(x) from slow"],
  ];
  for (const [point, statement] of cases) {
    test(`${point ? "short" : "long"}: ${statement}`, () => {
      const db = new Database(path, { readonly: true, safeIntegers: true });
      expect(isPointRead(db, statement)).toBe(point);
      db.close();
    });
  }
});
