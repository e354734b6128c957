import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import { PostgresSource } from "../../../src/server/sql/postgres.ts";
import { SqlError, type SqlSource } from "../../../src/server/sql/source.ts";
import { eventually } from "../../harness/eventually.ts";
import { freePort } from "../../harness/free-port.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { lacksPostgres, startPostgres, type TestPostgres } from "../../harness/postgres.ts";

async function failure(run: Promise<unknown>): Promise<SqlError> {
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(SqlError);
  return error as SqlError;
}

describe.skipIf(lacksPostgres() || lacksProgram("openssl"))("postgresql source", () => {
  let server: TestPostgres;
  let certificates: string;
  const opened: SqlSource[] = [];

  function open(changes: Partial<ConstructorParameters<typeof PostgresSource>[1]> = {}): SqlSource {
    const { host, port, user, password, database } = server;
    const source = new PostgresSource("pg", { host, port, user, password, database, tls: "prefer", ...changes });
    opened.push(source);
    return source;
  }

  async function psql(text: string): Promise<void> {
    const admin = new Bun.SQL({
      adapter: "postgres",
      hostname: server.host,
      port: server.port,
      username: server.user,
      password: server.password,
      database: server.database,
      max: 1,
    });
    await admin.unsafe(text);
    await admin.close();
  }

  beforeAll(async () => {
    certificates = mkdtempSync(join(tmpdir(), "svc-pg-certificates-"));
    const { key, certificate } = makeCertificate(certificates, "server");
    makeCertificate(certificates, "stranger");
    server = await startPostgres({
      settings: ["ssl = on", "ssl_cert_file = 'server.crt'", "ssl_key_file = 'server.key'"],
      files: { "server.key": key, "server.crt": certificate },
    });
    await psql(`
      create table app_user (id bigint primary key, code text, at timestamptz, plain timestamp, day date, amount numeric, big int8, ok boolean, raw bytea, note json);
      insert into app_user values
        (1, 'a', '2024-05-01 12:00:00.000001+02', '2024-05-01 12:00:00.5', '2024-02-29', 1.50, 9007199254740993, true, '\\x00ff', '{"a": [1, null, 12345678901234567890]}'),
        (2, null, null, null, null, null, null, null, null, null);
      create table writable (n int);
    `);
  }, 300_000);

  afterEach(async () => {
    for (const source of opened.splice(0)) await source.close();
  });

  afterAll(async () => {
    await server?.stop();
    if (certificates) rmSync(certificates, { recursive: true, force: true });
  });

  test("gives values without loss, by a first and by later runs, with and without parameters", async () => {
    const source = open();
    const columns = "id, code, at, plain, day, amount, big, ok, raw, note";
    const expected = [
      [
        1,
        "a",
        "2024-05-01T10:00:00.000001Z",
        "2024-05-01T12:00:00.500000Z",
        "2024-02-29",
        "1.50",
        9007199254740993n,
        true,
        new Uint8Array([0, 255]),
        { a: [1, null, 12345678901234567890n] },
      ],
      [2, null, null, null, null, null, null, null, null, null],
    ];
    for (let run = 0; run < 3; run++) {
      const all = await source.query(`select ${columns} from app_user order by id`, []);
      expect(all.columns).toEqual(columns.split(", "));
      expect(all.rows).toEqual(expected);
      expect((await source.query(`select ${columns} from app_user where id in ($1, $2) order by id;`, [1, 2])).rows).toEqual(expected);
    }
    expect((await source.query("select at from app_user where id = $1", [99])).rows).toEqual([]);
  });

  test("gives the same for a type whichever way the driver gets it", async () => {
    const source = open();
    const columns = `
      0.1::real, 'NaN'::float8, '-Infinity'::float8, -5::int2, 'x'::char(3), interval '1 day 02:00:00.5', interval '-00:00:01', interval '2 mons',
      '11111111-1111-1111-1111-111111111111'::uuid, time '12:30', array[1, 2]::int4[], array[1, null]::int8[], array[9007199254740993]::int8[], array[0.1]::real[],
      array['a,b', null], array[timestamptz '2024-01-01 00:00:00.000001+00', null], array[array[1], array[2]], '{}'::int4[],
      timestamptz 'infinity', date '2024-01-01', array['\\x01'::bytea], jsonb '{"a": 1.5}', json '-9007199254740993', jsonb 'null', jsonb '"t"',
      array['{"a": 9007199254740993}'::jsonb, null], array['x', null]::char(3)[], array[interval '1 mon'], interval '1 day -02:00:00'`;
    const expected = [
      Math.fround(0.1),
      Number.NaN,
      Number.NEGATIVE_INFINITY,
      -5,
      "x",
      "1 day 02:00:00.5",
      "-00:00:01",
      "2 mons",
      "11111111-1111-1111-1111-111111111111",
      "12:30:00",
      [1, 2],
      [1, null],
      [9007199254740993n],
      [Math.fround(0.1)],
      ["a,b", null],
      ["2024-01-01T00:00:00.000001Z", null],
      [[1], [2]],
      [],
      "infinity",
      "2024-01-01",
      [new Uint8Array([1])],
      { a: 1.5 },
      -9007199254740993n,
      null,
      "t",
      [{ a: 9007199254740993n }, null],
      ["x", null],
      ["1 mon"],
      "1 day -02:00:00",
    ];
    for (let run = 0; run < 3; run++) {
      expect((await source.query(`select ${columns}`, [])).rows).toEqual([expected]);
      expect((await source.query(`select ${columns} where $1`, [true])).rows).toEqual([expected]);
    }
  });

  test("parameters are bound with the type that the statement wants", async () => {
    const source = open();
    const text = "select $1::text, $2::int8, $3::float8, $4::timestamptz, $5::date, $6::bytea, $7::boolean, $8::numeric, $9::text[]";
    const given = [
      "'; drop table app_user; --",
      2n ** 62n,
      1.5,
      "2024-01-01T00:00:00.000001Z",
      "2024-02-29",
      new Uint8Array([1, 2]),
      false,
      "1.250",
      ["a", "b"],
    ];
    expect((await source.query(text, given)).rows).toEqual([given]);
    expect(
      (
        await source.query(
          text,
          given.map(() => null),
        )
      ).rows,
    ).toEqual([given.map(() => null)]);
    expect((await source.query("select id from app_user where id = $1", ["2"])).rows).toEqual([[2]]);
    expect((await source.query("select id from app_user where id = any($1) order by id", [[1, 2]])).rows).toEqual([[1], [2]]);
    expect((await source.query(`select ${source.placeholder(1)} / 2, ${source.placeholder(1, "float")} / 2`, [5])).rows).toEqual([
      [2, 2.5],
    ]);
  });

  test("says what types columns are of, and which errors are about values", async () => {
    const source = open();
    const { types } = await source.query(
      "select 1.5 as n, now() as t, gen_random_uuid() as u, interval '1 day' as i, 'a'::char(2) as c",
      [],
    );
    expect(types?.map((type) => type?.name)).toEqual(["numeric", "timestamptz", "uuid", "interval", "char"]);
    expect(types?.map((type) => type?.kind)).toEqual([undefined, undefined, "uuid", "duration", undefined]);
    expect((await failure(source.query("select 1 where '00000000-0000-0000-0000-000000000000'::uuid = $1", ["zz"]))).fault).toBe(
      "parameter",
    );
    expect((await failure(source.query("select nope where $1", [true]))).fault).toBe("statement");
    expect((await failure(source.query("select 1 / $1::int", [0]))).fault).toBe("data");
    expect((await failure(source.query("select 'zz'::text::int where $1", [true]))).fault).toBe("data");
  });

  test("columns of the same name are all there, and the order of rows is the statement's", async () => {
    const source = open();
    const result = await source.query(
      "select g as n, timestamp '2024-01-01' + g * interval '1 second' as n from generate_series(1, 2000) g order by g desc",
      [],
    );
    expect(result.columns).toEqual(["n", "n"]);
    expect(result.rows.length).toBe(2_000);
    expect(result.rows[0]).toEqual([2_000, "2024-01-01T00:33:20.000000Z"]);
    expect(result.rows.map(([n]) => n)).toEqual(Array.from({ length: 2_000 }, (_, index) => 2_000 - index));
  });

  test("errors carry PostgreSQL's text and the place in UTF-16 units", async () => {
    const source = open();
    const text = "select 'é\u{1f600}',\n  nope from app_user where id = $1";
    for (const error of [await failure(source.query(text, [1])), await failure(source.describe(text))]) {
      expect(error.message).toContain('column "nope" does not exist');
      expect(error.offset).toBe(text.indexOf("nope"));
    }
    const typed = "select at from app_user where code = $1";
    await source.query(typed, ["x"]);
    const mismatch = await failure(source.query("select id from app_user where code = $1", [5]));
    expect(mismatch.message).toContain("text = integer");
    expect(mismatch.offset).toBe("select id from app_user where code ".length);
    expect((await failure(source.query("select 1 / (id - 1) from app_user", []))).message).toContain("division by zero");
    expect((await failure(source.query("select $1::int4", [2 ** 40]))).message).toContain("out of range");
  });

  test("is read only and runs one statement at a time", async () => {
    const source = open();
    expect((await failure(source.query("with gone as (delete from writable returning n) select n from gone", []))).message).toMatch(
      /read-only|top level/,
    );
    expect((await failure(source.query("insert into writable values (1)", []))).offset).toBe("insert ".length);
    expect((await failure(source.query("select 1; select 2", []))).message).toContain("syntax error");
    const closing = "select 1) as q; set default_transaction_read_only = off; select * from (select 1";
    expect((await failure(source.query(closing, []))).message).toContain("multiple commands");
  });

  test("a column whose type changes is read anew", async () => {
    const source = open();
    await psql("create table changing (v int8); insert into changing values (5)");
    expect((await source.query("select v from changing", [])).rows).toEqual([[5]]);
    await psql("alter table changing alter v type timestamptz using timestamptz '2024-01-01 00:00:00.000001+00'");
    expect((await source.query("select v from changing", [])).rows).toEqual([["2024-01-01T00:00:00.000001Z"]]);
  });

  test("a statement can be given up, and the server stops it", async () => {
    const source = open();
    const reason = await source.query("select pg_sleep(30)", [], AbortSignal.timeout(100)).catch((error) => error);
    expect(reason).toMatchObject({ name: "TimeoutError" });
    const running = async (): Promise<unknown> =>
      (
        await source.query(
          "select count(*) from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()",
          [],
        )
      ).rows[0]?.[0];
    await eventually(async () => (await running()) === 0, "the statement's end on the server");
    const early = await source.query("select 1", [], AbortSignal.abort(new Error("too late"))).catch((error) => error);
    expect(early).toMatchObject({ message: "too late" });
  });

  test("what keeps it from connecting is said with server, database and user, never with the password", async () => {
    const port = await freePort();
    const refused = await failure(open({ port, password: "hunter22" }).query("select 1", []));
    expect(refused.message).toContain(`source 'pg': PostgreSQL at 127.0.0.1:${port}, database 'postgres', user 'svc_test'`);
    const rejected = await failure(open({ password: "hunter22" }).test());
    expect(rejected.message).toContain("password authentication failed");
    for (const error of [refused, rejected]) expect(`${error.message}${error.stack}${Bun.inspect(error)}`).not.toContain("hunter22");
    expect((await failure(open({ database: "nowhere" }).test())).message).toContain("nowhere");
  });

  test("the server's own PG variables and DATABASE_URL reach no source", async () => {
    const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "connect-postgres.ts"), String(server.port)], {
      env: {
        ...process.env,
        PGPASSWORD: server.password,
        PGUSER: server.user,
        PGDATABASE: "nowhere",
        DATABASE_URL: `postgres://${server.user}:${server.password}@127.0.0.1:${server.port}/postgres`,
      },
    });
    expect(child.stdout.toString()).toContain("password authentication failed");
    expect(child.stdout.toString()).toContain("user 'svc_test', database 'postgres'");
  });

  test("TLS by PGSSLMODE: verifying modes refuse a server whose certificate they cannot check", async () => {
    const rootCertificate = join(certificates, "server.crt");
    const encrypted = async (source: SqlSource): Promise<unknown> =>
      (await source.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()", [])).rows[0]?.[0];
    expect(await encrypted(open({ tls: "disable" }))).toBe(false);
    expect(await encrypted(open({ tls: "prefer" }))).toBe(true);
    expect(await encrypted(open({ tls: "require" }))).toBe(true);
    expect(await encrypted(open({ tls: "verify-full", rootCertificate }))).toBe(true);
    expect(await encrypted(open({ tls: "verify-ca", rootCertificate }))).toBe(true);
    expect(await encrypted(open({ tls: "verify-ca", host: "localhost", rootCertificate }))).toBe(true);
    expect((await failure(open({ tls: "verify-full" }).test())).message).toContain("certificate");
    expect((await failure(open({ tls: "verify-ca", rootCertificate: join(certificates, "stranger.crt") }).test())).message).toContain(
      "source 'pg'",
    );
    expect((await failure(open({ tls: "verify-full", host: "localhost", rootCertificate }).test())).message).toContain("localhost");
  });

  test("settings come from code, overridden by the environment variables of the source", async () => {
    const sources = createSqlSources({
      declared: [
        {
          $typeName: "svc.v1.DataSource",
          name: "main-pg",
          kind: SourceKind.POSTGRESQL,
          settings: { host: "in-code.invalid", port: String(server.port), user: server.user, database: server.database },
        },
      ],
      env: { MAIN_PG_PGHOST: server.host, MAIN_PG_PGPASSWORD: server.password, MAIN_PG_PGSSLMODE: "require" },
    });
    expect((await sources.get("postgresql").query("select current_user", [])).rows).toEqual([[server.user]]);
    await sources.close();
    const wrong = createSqlSources({ declared: [], env: { PG_PGHOST: "localhost", PG_PGSSLMODE: "always" } });
    expect(() => wrong.get("pg")).toThrow("PG_PGSSLMODE is 'always', which is none of disable, allow, prefer");
  });
});

/** A self-signed certificate for 127.0.0.1. */
function makeCertificate(folder: string, name: string): { key: string; certificate: string } {
  const done = Bun.spawnSync([
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    "-subj",
    `/CN=${name}`,
    "-addext",
    "subjectAltName=IP:127.0.0.1",
    "-keyout",
    join(folder, `${name}.key`),
    "-out",
    join(folder, `${name}.crt`),
  ]);
  if (!done.success) throw new Error(done.stderr.toString());
  const read = (file: string): string => Bun.spawnSync(["cat", join(folder, file)]).stdout.toString();
  return { key: read(`${name}.key`), certificate: read(`${name}.crt`) };
}
