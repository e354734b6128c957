/** Values of ClickHouse, DuckDB, Snowflake and BigQuery, and what is their own. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import { ParameterError, SqlError, type SqlSource } from "../../../src/server/sql/source.ts";
import { lacksClickhouse, startClickhouse, type TestClickhouse } from "../../harness/clickhouse.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { SERVICE_ACCOUNT, TEST_PEM } from "./drivers.ts";
import { FakeBigquery } from "./fake-bigquery.ts";
import { FakeSnowflake } from "./fake-snowflake.ts";

const sourceOf = (variables: Readonly<Record<string, string>>): SqlSource =>
  createSqlSources({ declared: [], env: Object.fromEntries(Object.entries(variables).map(([name, value]) => [`DB_${name}`, value])) }).get(
    "db",
  );

const failure = async (run: Promise<unknown>): Promise<SqlError> => {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SqlError);
  return error as SqlError;
};

/** Asks a fake that has no room for a while, or for too long. */
async function asksAgain(fake: Pick<FakeSnowflake, "busy">, source: SqlSource): Promise<void> {
  const busy = (retryAfter?: string) =>
    Response.json(
      { message: "slow down", error: { message: "slow down" } },
      { status: 429, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } },
    );
  fake.busy.push(busy("0"), new Response("away", { status: 503, headers: { "retry-after": new Date(0).toUTCString() } }), busy());
  expect((await source.query("select 41 + 1 as v", [])).rows).toEqual([[42]]);
  expect(fake.busy).toEqual([]);
  fake.busy.push(busy("3600"));
  expect((await failure(source.query("select 43 as v", []))).message).toContain("slow down");
  fake.busy.push(...Array.from({ length: 6 }, () => busy("0")));
  expect((await failure(source.query("select 44 as v", []))).message).toContain("slow down");
  expect(fake.busy).toEqual([]);
  fake.busy.push(busy("50"));
  const controller = new AbortController();
  const waiting = source.query("select 45 as v", [], controller.signal).catch((error: unknown) => error);
  await eventually(() => fake.busy.length === 0, "it is asked");
  controller.abort(new Error("given up"));
  expect(await waiting).toMatchObject({ message: "given up" });
}

const INSTANT = "2024-05-01T12:00:00.500000Z";

describe.skipIf(lacksClickhouse())("ClickHouse", () => {
  let server: TestClickhouse;
  let source: SqlSource;
  beforeAll(async () => {
    server = await startClickhouse();
    source = sourceOf({ CLICKHOUSE_HOST: server.host, CLICKHOUSE_PORT: String(server.port), CLICKHOUSE_SECURE: "false" });
  }, 300_000);
  afterAll(async () => {
    await source?.close();
    await server?.stop();
  });

  const value = async (expression: string) => {
    const { rows, types } = await source.query(`select ${expression} as v`, []);
    return [rows[0]?.[0], types?.[0]?.name];
  };

  test.each<[expression: string, value: unknown, type: string]>([
    ["toUInt64(18446744073709551615)", 18446744073709551615n, "UInt64"],
    ["toInt64(9007199254740993)", 9007199254740993n, "Int64"],
    ["toInt128('170141183460469231731687303715884105727')", 170141183460469231731687303715884105727n, "Int128"],
    ["toDecimal64('1.50', 2)", "1.5", "Decimal"],
    ["nan", Number.NaN, "Float64"],
    ["-inf", Number.NEGATIVE_INFINITY, "Float64"],
    ["true", true, "Bool"],
    ["toDate('2024-05-01')", "2024-05-01", "Date"],
    ["toDateTime('2024-05-01 12:00:00', 'Europe/Berlin')", "2024-05-01T10:00:00.000000Z", "DateTime"],
    ["toDateTime64('2024-05-01 12:00:00.5', 9, 'UTC')", INSTANT, "DateTime64"],
    ["toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "UUID"],
    ["[1, null, 9007199254740993]::Array(Nullable(Int64))", [1, null, 9007199254740993n], "Array"],
    ["map('a', 9007199254740993)", { a: 9007199254740993n }, "Map"],
    [
      "tuple(toDateTime64('2024-05-01 12:00:00.5', 6, 'UTC'), 'a')::Tuple(at DateTime64(6, 'UTC'), b String)",
      { at: INSTANT, b: "a" },
      "Tuple",
    ],
    ["toLowCardinality(toNullable('x'))", "x", "String"],
    ["null", null, "Nothing"],
    ["'two\nlines'", "two\nlines", "String"],
  ])("%s", async (expression, expected, type) => {
    expect(await value(expression)).toEqual([expected, type]);
  });

  test("parameters keep what they are", async () => {
    const text = "a\\n\tb\nc'\\\\\"";
    const one = async (given: Parameters<SqlSource["query"]>[1][number]) =>
      (await source.query(`select ${source.placeholder(1)} as v`, [given])).rows[0]?.[0];
    for (const given of [text, 9007199254740993n, -5, 0.1, true, null, Number.POSITIVE_INFINITY]) expect(await one(given)).toEqual(given);
    const at = `select 1 as v where toDateTime('2024-05-01 12:00:00', 'UTC') < ${source.placeholder(1)}`;
    expect((await source.query(at, [INSTANT])).rows).toEqual([[1]]);
    expect(await failure(source.query("select $1 as v", [[1]]))).toBeInstanceOf(ParameterError);
  });

  test("a user that is refused is a failure of the source, without the password", async () => {
    const refused = sourceOf({
      CLICKHOUSE_HOST: server.host,
      CLICKHOUSE_PORT: String(server.port),
      CLICKHOUSE_SECURE: "false",
      CLICKHOUSE_PASSWORD: "wrong",
    });
    const { message } = await failure(refused.test());
    expect(message).toContain("source 'db': ClickHouse at 127.0.0.1");
    expect(message).toContain("Authentication failed");
  });
});

describe("DuckDB", () => {
  test("values, parameters, and files beside the source", async () => {
    using folder = new TempFolder();
    const file = join(folder.path, "a.duckdb");
    const { startDatabase } = await import("../../../src/server/tables/duckdb/start-database.ts");
    const limits = { residentBytes: 4 * 1024 ** 3, dataBytes: 8 * 1024 ** 3 };
    const writer = startDatabase({ name: "w", folder: folder.path, limits, settings: { libraryFolders: [folder.path], file, config: {} } });
    await writer.call(
      "run",
      await writer.call("connect"),
      "create table t (seen timestamptz, d date); insert into t values ('2024-05-01 12:00:00.5+00', '2024-05-01')",
    );
    const source = sourceOf({ DUCKDB_PATH: file });
    // The writer is still there, and gone before the wait for it is over.
    const reading = source.query("select count(*) as n from t", []);
    await writer.close();
    expect((await reading).rows).toEqual([[1]]);
    const row = async (list: string) => (await source.query(`select ${list}`, [])).rows[0];
    expect(
      await row("9007199254740993 as a, 1.50::decimal(10, 2) as b, 170141183460469231731687303715884105727::hugeint::varchar as c"),
    ).toEqual([9007199254740993n, "1.5", "170141183460469231731687303715884105727"]);
    expect(await row("timestamp '2024-05-01 12:00:00.5' as a, date '2024-05-01' as b, true as c, null as d, 'nan'::double as e")).toEqual([
      INSTANT,
      "2024-05-01",
      true,
      null,
      Number.NaN,
    ]);
    expect(await row("[1, null] as a, {'x': 1, 'y': ['z']} as b, '\\xAA'::blob as c, map {'k': 2} as d")).toEqual([
      [1, null],
      { x: 1, y: ["z"] },
      new Uint8Array([0xaa]),
      { k: 2 },
    ]);
    expect((await source.query("select $1 as a, $2 as b, $3 as c, $4 as d", ["x'", 9007199254740993n, 0.5, null])).rows).toEqual([
      ["x'", 9007199254740993n, 0.5, null],
    ]);
    expect((await source.query("select 1 as one from t where seen <= $1 and d = $2", [INSTANT, "2024-05-01"])).rows).toEqual([[1]]);
    for (const outside of ["select * from read_text('/etc/hostname')", "select * from '/tmp/other.parquet'"])
      expect((await failure(source.query(outside, []))).message).toContain("disabled by configuration");
    expect((await failure(source.query("attach '/tmp/other.duckdb' as other", []))).message).not.toBe("");
    await source.close();
  });
});

describe("Snowflake (a fake)", () => {
  const fake = new FakeSnowflake("token-of-test");
  const variables = { SNOWFLAKE_ACCOUNT: "org-acc", SNOWFLAKE_USER: "me", SNOWFLAKE_WAREHOUSE: "wh", SNOWFLAKE_ENDPOINT_URL: fake.url };
  const source = sourceOf({ ...variables, SNOWFLAKE_TOKEN: "token-of-test" });
  afterAll(() => fake.stop());

  test("values as the API writes them, over several partitions", async () => {
    const statement = "select everything from there";
    const cells: readonly [type: string, text: string, value: unknown, scale?: number][] = [
      ["fixed", "9007199254740993", 9007199254740993n],
      ["fixed", "1.50", "1.50", 2],
      ["real", "0.5", 0.5],
      ["real", "NaN", Number.NaN],
      ["text", "1", "1"],
      ["boolean", "true", true],
      ["date", "19844", "2024-05-01"],
      ["timestamp_ntz", "1714564800.500000000", INSTANT],
      ["timestamp_ltz", "1714564800.500000000", INSTANT],
      ["timestamp_tz", "1714564800.500000000 1560", INSTANT],
      ["timestamp_ntz", "-0.500000000", "1969-12-31T23:59:59.500000Z"],
      ["time", "43200.500000000", "12:00:00.500000"],
      ["binary", "00FF", new Uint8Array([0, 255])],
      ["variant", '{"a":[1,9007199254740993]}', { a: [1, 9007199254740993n] }],
    ];
    const row = cells.map(([, text]) => text);
    fake.given.set(statement, {
      columns: cells.map(([type, , , scale = 0], at) => ({ name: `C${at}`, type, scale })),
      rows: [row, row.map(() => null), row, row, row],
    });
    const { rows } = await source.query(statement, []);
    const values = cells.map(([, , value]) => value);
    expect(rows).toEqual([values, values.map(() => null), values, values, values]);
  });

  test("parameters are bindings, and the session is what the settings say", async () => {
    await source.query("select ?, ?, ?", [1, "'; drop table x", 0.5]);
    const { body } = fake.begun.at(-1) ?? { body: {} };
    expect(body).toMatchObject({
      statement: "select ?, ?, ?",
      warehouse: "wh",
      bindings: {
        "1": { type: "FIXED", value: "1" },
        "2": { type: "TEXT", value: "'; drop table x" },
        "3": { type: "REAL", value: "0.5" },
      },
    });
  });

  test("a statement that is given up is cancelled there", async () => {
    const controller = new AbortController();
    const before = fake.begun.length;
    const waiting = source.query("select wait(600)", [], controller.signal).catch((error: unknown) => error);
    await eventually(() => fake.begun.length > before, "the statement is begun");
    controller.abort(new Error("given up"));
    expect(await waiting).toMatchObject({ message: "given up" });
    await eventually(() => fake.cancelled.length > 0, "it is cancelled");
  });

  test("a statement that is given up while it begins is cancelled once its name is known", async () => {
    const controller = new AbortController();
    const [before, cancelled] = [fake.begun.length, fake.cancelled.length];
    const answer = Promise.withResolvers<void>();
    fake.answersAfter = answer.promise;
    const waiting = source.query("select wait(600)", [], controller.signal).catch((error: unknown) => error);
    await eventually(() => fake.begun.length > before, "the statement is begun");
    controller.abort(new Error("given up"));
    expect(await waiting).toMatchObject({ message: "given up" });
    answer.resolve();
    await eventually(() => fake.cancelled.length > cancelled, "it is cancelled");
  });

  test("a system without room is asked again, after the pause that it says", () => asksAgain(fake, source));

  test("nothing but a query is sent", async () => {
    const before = fake.begun.length;
    for (const statement of [
      "delete from person",
      "select 1; delete from person",
      "call p()",
      "-- nothing",
      "with x as (select 1) select 1; select 2",
    ])
      await failure(source.query(statement, []));
    expect(fake.begun.length).toBe(before);
  });

  test("a key pair signs a token that is kept; what is no key is said without it", async () => {
    const signed = sourceOf({ ...variables, SNOWFLAKE_PRIVATE_KEY: TEST_PEM });
    await signed.test();
    await signed.test();
    const [one, other] = fake.begun.slice(-2).map(({ headers }) => headers.get("authorization")?.slice("Bearer ".length) ?? "");
    expect(one).toBe(other as string);
    const { iss, sub } = decodeJwt(one as string);
    expect([sub, iss?.startsWith("ORG-ACC.ME.SHA256:")]).toEqual(["ORG-ACC.ME", true]);
    const { message } = await failure(sourceOf({ ...variables, SNOWFLAKE_PRIVATE_KEY: "hunter22" }).test());
    expect(message).toContain("no RSA key");
    expect(message).not.toContain("hunter22");
    expect(() => sourceOf(variables)).toThrow("DB_SNOWFLAKE_PRIVATE_KEY or DB_SNOWFLAKE_TOKEN");
    expect((await failure(sourceOf({ ...variables, SNOWFLAKE_TOKEN: "another" }).test())).message).toContain("Invalid OAuth access token");
  });
});

describe("BigQuery (a fake)", () => {
  const fake = new FakeBigquery();
  const variables = { GOOGLE_CREDENTIALS: SERVICE_ACCOUNT, GOOGLE_ENDPOINT_URL: fake.url, BIGQUERY_DATASET: "d" };
  const source = sourceOf(variables);
  afterAll(() => fake.stop());

  test("values as the API writes them, over several pages", async () => {
    const statement = "select everything from there";
    const cells: readonly [type: string, written: unknown, value: unknown, more?: object][] = [
      ["INTEGER", "9007199254740993", 9007199254740993n],
      ["FLOAT", "-inf", Number.NEGATIVE_INFINITY],
      ["NUMERIC", "1.50", "1.50"],
      ["STRING", "1", "1"],
      ["BOOLEAN", "false", false],
      ["DATE", "2024-05-01", "2024-05-01"],
      ["TIMESTAMP", "1714564800500000", INSTANT],
      ["DATETIME", "2024-05-01T12:00:00.5", INSTANT],
      ["BYTES", "AP8=", new Uint8Array([0, 255])],
      ["JSON", '{"a":9007199254740993}', { a: 9007199254740993n }],
      ["INTEGER", [{ v: "1" }, { v: "2" }], [1, 2], { mode: "REPEATED" }],
      [
        "RECORD",
        { f: [{ v: "1" }, { v: null }] },
        { a: 1, b: null },
        {
          fields: [
            { name: "a", type: "INTEGER" },
            { name: "b", type: "STRING" },
          ],
        },
      ],
    ];
    const row = { f: cells.map(([, v]) => ({ v })) };
    const none = { f: cells.map(() => ({ v: null })) };
    fake.given.set(statement, {
      fields: cells.map(([type, , , more], at) => ({ name: `c${at}`, type, ...more })),
      rows: [row, none, row, row, row],
    });
    const { rows } = await source.query(statement, []);
    const values = cells.map(([, , value]) => value);
    expect(rows).toEqual([values, values.map(() => null), values, values, values]);
  });

  test("parameters are bound by position; one token serves many calls", async () => {
    await source.query("select ?, ?, ?", [1, "'; drop table x", null]);
    expect(fake.jobs.at(-1)).toMatchObject({
      query: {
        query: "select ?, ?, ?",
        defaultDataset: { projectId: "p", datasetId: "d" },
        queryParameters: [
          { parameterType: { type: "INT64" }, parameterValue: { value: "1" } },
          { parameterType: { type: "STRING" }, parameterValue: { value: "'; drop table x" } },
          { parameterType: { type: "STRING" }, parameterValue: {} },
        ],
      },
    });
    expect(fake.tokensFor).toEqual(["me@p.example"]);
  });

  test("a statement that is given up is cancelled there", async () => {
    const controller = new AbortController();
    const before = fake.jobs.length;
    const waiting = source.query("select wait(600)", [], controller.signal).catch((error: unknown) => error);
    await eventually(() => fake.jobs.length > before, "the job is inserted");
    controller.abort(new Error("given up"));
    expect(await waiting).toMatchObject({ message: "given up" });
    await eventually(() => fake.cancelled.length > 0, "it is cancelled");
  });

  test("a system without room is asked again, after the pause that it says", () => asksAgain(fake, source));

  test("credentials that cannot be are refused, without what they are", async () => {
    expect(() => sourceOf({ ...variables, GOOGLE_CREDENTIALS: "hunter22" })).toThrow(
      "DB_GOOGLE_CREDENTIALS is no key of a service account",
    );
    const broken = JSON.stringify({ client_email: "me", private_key: "hunter22", project_id: "p" });
    const { message } = await failure(sourceOf({ ...variables, GOOGLE_CREDENTIALS: broken }).test());
    expect(message).toContain("no RSA key");
    expect(message).not.toContain("hunter22");
  });
});
