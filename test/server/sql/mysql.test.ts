import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { MysqlSource } from "../../../src/server/sql/mysql.ts";
import { SqlError, type SqlSource } from "../../../src/server/sql/source.ts";
import { eventually } from "../../harness/eventually.ts";
import { freePort } from "../../harness/free-port.ts";
import { lacksMariadb, startMariadb, type TestMariadb } from "../../harness/mariadb.ts";

async function failure(run: Promise<unknown>): Promise<SqlError> {
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(SqlError);
  return error as SqlError;
}

describe.skipIf(lacksMariadb())("mysql source", () => {
  let server: TestMariadb;
  const opened: SqlSource[] = [];

  function open(changes: Partial<ConstructorParameters<typeof MysqlSource>[1]> = {}): SqlSource {
    const { host, port, user, password, database } = server;
    const source = new MysqlSource("my", { host, port, user, password, database, tls: "prefer", ...changes });
    opened.push(source);
    return source;
  }

  async function admin(...texts: string[]): Promise<void> {
    const { host, port, user, password, database } = server;
    const sql = new Bun.SQL({ adapter: "mariadb", hostname: host, port, username: user, password, database, max: 1 });
    for (const text of texts) await sql.unsafe(text);
    await sql.close();
  }

  beforeAll(async () => {
    server = await startMariadb();
    await admin(
      `create table app_user (id bigint primary key, huge bigint unsigned, at datetime(6), plain datetime, ms datetime(3), day date, length_of time(6),
         amount decimal(10, 2), small float, large double, ok tinyint(1), raw blob, note json, text_of text) character set utf8mb4`,
      `insert into app_user values (9007199254740993, 18446744073709551615, '2024-05-01 12:00:00.000001', '2024-05-01 12:00:00', '2024-05-01 12:00:00.123', '2024-02-29',
         '-101:02:03.5', 1.50, 0.1, 1e300, 1, x'00ff', '{"a": [1, null, 9007199254740993]}', 'é\u{1f600}')`,
      "insert into app_user (id) values (2)",
      "create function writes() returns int begin delete from app_user; return 1; end",
    );
  }, 300_000);

  afterEach(async () => {
    for (const source of opened.splice(0)) await source.close();
  });

  afterAll(async () => {
    await server?.stop();
  });

  const expected = [
    [
      9007199254740993n,
      18446744073709551615n,
      "2024-05-01T12:00:00.000001Z",
      "2024-05-01T12:00:00.000000Z",
      "2024-05-01T12:00:00.123000Z",
      "2024-02-29",
      "-101:02:03.500000",
      "1.50",
      Math.fround(0.1),
      1e300,
      1,
      new Uint8Array([0, 255]),
      { a: [1, null, 9007199254740993n] },
      "é\u{1f600}",
    ],
    [2, ...new Array(13).fill(null)],
  ];

  test("gives values without loss, with and without parameters", async () => {
    const source = open();
    for (let run = 0; run < 2; run++) {
      const all = await source.query("select * from app_user", []);
      expect(all.columns.slice(0, 3)).toEqual(["id", "huge", "at"]);
      expect(all.rows.toSorted((a, b) => (Number(a[0]) < Number(b[0]) ? 1 : -1))).toEqual(expected);
      expect((await source.query("select * from app_user where id in (?)", [9007199254740993n])).rows).toEqual([expected[0] ?? []]);
      expect((await source.query("select id, plain, day from app_user where id > ? order by id;", [0])).rows).toEqual([
        [2, null, null],
        [9007199254740993n, "2024-05-01T12:00:00.000000Z", "2024-02-29"],
      ]);
    }
  });

  test("instants are those of UTC, whatever zone the server is in", async () => {
    await admin("create table stamp (at timestamp(6) null)", "insert into stamp values (from_unixtime(1714564800.25))");
    expect((await open().query("select at, timediff(now(), utc_timestamp()) as ahead from stamp", [])).rows).toEqual([
      ["2024-05-01T12:00:00.250000Z", "00:00:00"],
    ]);
  });

  test("columns that are asked for as text do not change the order of rows", async () => {
    await admin("create table sorted (n int, note json)");
    await admin(`insert into sorted values ${Array.from({ length: 50 }, (_, i) => `(${(i * 37) % 50}, '{"n": ${i}}')`).join(", ")}`);
    for (const [text, rows] of [
      ["select n, note from sorted order by n desc", 50],
      ["select n, note from sorted order by n desc limit 20;", 20],
      ["select n, note from sorted where n >= 0 union all select n, note from sorted where n < 0 order by n desc", 50],
    ] as const)
      for (let run = 0; run < 2; run++) {
        const { rows: found } = await open().query(text, []);
        expect(found.map(([n]) => n)).toEqual(Array.from({ length: rows }, (_, at) => 49 - at));
      }
  });

  test("says what types columns are of; text has no name, for it may be any of several", async () => {
    await admin("create table typed (u uuid, t time, d decimal(5, 2), v varchar(36), c char(36), n int)");
    const { types } = await open().query("select * from typed", []);
    const named = ["uuid", "time", "decimal", undefined, undefined, "int"];
    expect(types?.map((type) => type?.name)).toEqual(named);
    expect(types?.map((type) => type?.kind)).toEqual(["uuid", "duration", undefined, undefined, undefined, undefined]);
  });

  test("a number that MySQL does not have is refused by its place and value", async () => {
    const source = open();
    for (const [value, name] of [
      [Number.NaN, "NaN"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      [Number.NEGATIVE_INFINITY, "-Infinity"],
    ] as const) {
      const error = await failure(source.query(`select ? + ${source.placeholder(2, "float")} as a`, [1, value]));
      expect(error).toMatchObject({ message: `parameter 2 is ${name}, and MySQL has no such number`, fault: "parameter", position: 1 });
    }
  });

  test("tells errors about values from errors about the statement", async () => {
    await admin("create table narrow (v varchar(5)) character set latin1");
    const source = open();
    expect((await failure(source.query("select v from narrow where v = ?", ["\u{1f600}"]))).fault).toBe("parameter");
    expect((await failure(source.query("select nope from narrow where v = ?", ["a"]))).fault).toBe("statement");
  });

  test("says what types columns have, as far as they can be compared", async () => {
    const text = "select id, huge, at, day, amount, small, large, ok, length_of, text_of from app_user";
    expect([...(await open().columnTypes(text))]).toEqual([
      ["id", "int"],
      ["huge", "int"],
      ["at", "timestamp"],
      ["day", "date"],
      ["amount", "decimal"],
      ["large", "float"],
      ["ok", "int"],
      ["text_of", "text"],
    ]);
  });

  test("parameters are bound", async () => {
    const source = open();
    const given = ["'; drop table app_user; --", 2n ** 62n, 1.5, null, new Uint8Array([1, 255])];
    expect((await source.query("select ? as a, ? as b, ? as c, ? as d, ? as e", given)).rows).toEqual([given]);
    expect((await source.query(`select ? div 2 as a, ${source.placeholder(2, "float")} / 2 as b`, [5, 5])).rows).toEqual([[2, 2.5]]);
  });

  test("errors carry the server's text and the place it quotes", async () => {
    const source = open();
    const text = "select id,\n nope from app_user where id = ?";
    for (const error of [await failure(source.query(text, [1])), await failure(source.describe(text))]) {
      expect(error.message).toContain("Unknown column 'nope'");
      expect(error.offset).toBe(text.indexOf("nope"));
    }
    expect((await failure(source.query("select 1 frm x, y", []))).offset).toBe("select 1 frm ".length);
    expect((await failure(source.query("select * from missing", []))).offset).toBe("select * from ".length);
  });

  test("is read only and runs one statement at a time", async () => {
    const source = open();
    await failure(source.query("delete from app_user", []));
    await failure(source.query("select 1; delete from app_user", []));
    await failure(source.query("select 1) as q; delete from app_user; select * from (select 1", []));
    expect((await failure(source.query("select writes()", []))).message).toContain("READ ONLY");
    expect((await source.query("select count(*) from app_user", [])).rows).toEqual([[2]]);
  });

  test("a statement can be given up, and the server stops it", async () => {
    const source = open();
    const reason = await source.query("select sleep(30) as s", [], AbortSignal.timeout(100)).catch((error) => error);
    expect(reason).toMatchObject({ name: "TimeoutError" });
    const running = async (): Promise<unknown> =>
      (await source.query("select count(*) as n from information_schema.processlist where info like 'select sleep%'", [])).rows[0]?.[0];
    await eventually(async () => (await running()) === 0, "the statement's end on the server");
  });

  test("what keeps it from connecting is said with server, database and user, never with the password", async () => {
    const port = await freePort();
    const refused = await failure(open({ port, password: "hunter22" }).query("select 1", []));
    expect(refused.message).toContain(`source 'my': MySQL at 127.0.0.1:${port}, database 'app', user 'svc_test'`);
    const rejected = await failure(open({ password: "hunter22" }).test());
    expect(rejected.message).toContain("Access denied");
    for (const error of [refused, rejected]) expect(`${error.message}${error.stack}${Bun.inspect(error)}`).not.toContain("hunter22");
    await failure(open({ tls: "require" }).test());
  });
});
