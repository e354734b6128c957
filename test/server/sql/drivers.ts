/** The kinds of sources under test. A kind passes the conformance suite by being named here. */

import { Database } from "bun:sqlite";
import { generateKeyPairSync } from "node:crypto";
import { dirname, join } from "node:path";
import type { ColumnType } from "../../../src/server/sql/condition.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import type { SqlSource } from "../../../src/server/sql/source.ts";
import { startDatabase } from "../../../src/server/tables/duckdb/start-database.ts";
import { lacksClickhouse, startClickhouse } from "../../harness/clickhouse.ts";
import { lacksMariadb, startMariadb } from "../../harness/mariadb.ts";
import { lacksPostgres, startPostgres } from "../../harness/postgres.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { FakeBigquery } from "./fake-bigquery.ts";
import { FakeSnowflake } from "./fake-snowflake.ts";

/** A database that runs. */
export interface StartedSource {
  /**
   * The source `db`, by its environment variables; those given, without the prefix `DB_`, go
   * before.
   */
  open(variables: Readonly<Record<string, string>>): SqlSource;
  /** Runs a statement as somebody who may write. */
  run(statement: string): Promise<void>;
  /** Ends the server as a crash does and starts it again. */
  readonly restart?: () => Promise<void>;
  stop(): Promise<void>;
}

/** A kind of source. */
export interface SourceUnderTest {
  readonly name: string;
  readonly isAbsent: boolean;
  readonly isServer: boolean;
  /** An expression that takes far longer than a test. */
  readonly slow: string;
  /** A statement that gives its own text as the server was sent it; of SQLite, any text. */
  readonly ownText: string;
  /** Variables of a source that is not there, with the password `hunter22` where there is one. */
  readonly unreachable: Readonly<Record<string, string>>;
  /** Types of the columns: a `bigint`, a `double precision` and a `varchar`. */
  readonly columnTypes: Readonly<Record<"id" | "score" | "name", ColumnType>>;
  /** The name of a column that is named without quotes. */
  folded(name: string): string;
  start(): Promise<StartedSource>;
}

const opener = (settings: Readonly<Record<string, string>>) => (variables: Readonly<Record<string, string>>) => {
  const given = Object.entries({ ...settings, ...variables }).map(([name, value]) => [`DB_${name}`, value]);
  return createSqlSources({ declared: [], env: Object.fromEntries(given) }).get("db");
};

async function startServer(
  adapter: "postgres" | "mariadb",
  prefix: "PG" | "MYSQL_",
  server: Awaited<ReturnType<typeof startPostgres | typeof startMariadb>>,
): Promise<StartedSource> {
  const { host, port, user, password, database } = server;
  return {
    open: opener({
      [`${prefix}HOST`]: host,
      [`${prefix}PORT`]: String(port),
      [`${prefix}USER`]: user,
      [`${prefix}PASSWORD`]: password,
      [`${prefix}DATABASE`]: database,
    }),
    async run(statement) {
      const admin = new Bun.SQL({ adapter, hostname: host, port, username: user, password: () => password, database, max: 1 });
      await admin.unsafe(statement);
      await admin.close();
    },
    restart: () => server.restart(),
    stop: () => server.stop(),
  };
}

/** A private key that was made for tests alone. */
export const TEST_PEM = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
/** The key of a service account of the fake BigQuery. */
export const SERVICE_ACCOUNT = JSON.stringify({ client_email: "me@p.example", private_key: TEST_PEM, project_id: "p" });

/** Runs statements on a file of DuckDB, as a process that writes it and ends. */
export async function writeDuckdb(file: string, statements: string): Promise<void> {
  const writer = startDatabase({
    name: "the writer",
    folder: dirname(file),
    limits: { residentBytes: 4 * 1024 ** 3, dataBytes: 8 * 1024 ** 3 },
    settings: { libraryFolders: [dirname(file)], file, config: {} },
  });
  await writer.call("run", await writer.call("connect"), statements);
  await writer.close();
}

/** The kinds. */
export const SOURCES: readonly SourceUnderTest[] = [
  {
    name: "SQLite",
    isAbsent: false,
    isServer: false,
    slow: "(with recursive n(x) as (select 1 union all select x + 1 from n where x < 4000000000) select count(*) from n)",
    ownText: "select 'itself' as text",
    unreachable: { SQLITE_PATH: "/nowhere/none.db" },
    folded: (name) => name,
    columnTypes: { id: "any", score: "any", name: "any" },
    async start() {
      const folder = new TempFolder();
      const path = join(folder.path, "data.db");
      const db = new Database(path, { create: true });
      db.run("pragma journal_mode = wal");
      return {
        open: opener({ SQLITE_PATH: path }),
        run: async (statement) => void db.run(statement),
        async stop() {
          db.close();
          folder[Symbol.dispose]();
        },
      };
    },
  },
  {
    name: "PostgreSQL",
    isAbsent: lacksPostgres(),
    isServer: true,
    slow: "(select count(*) from pg_sleep(600))",
    ownText: "select current_query() as text",
    unreachable: { PGPORT: "1", PGPASSWORD: "hunter22" },
    folded: (name) => name,
    columnTypes: { id: "int", score: "float", name: "text" },
    start: async () => startServer("postgres", "PG", await startPostgres()),
  },
  {
    name: "MariaDB",
    isAbsent: lacksMariadb(),
    isServer: true,
    slow: "sleep(600)",
    ownText: "select info from information_schema.processlist where id = connection_id()",
    unreachable: { MYSQL_PORT: "1", MYSQL_PASSWORD: "hunter22" },
    folded: (name) => name,
    columnTypes: { id: "int", score: "float", name: "text" },
    start: async () => startServer("mariadb", "MYSQL_", await startMariadb()),
  },
  {
    name: "ClickHouse",
    isAbsent: lacksClickhouse(),
    isServer: true,
    slow: "sleep(600)",
    ownText: "select query from system.processes where query_id = queryID()",
    unreachable: { CLICKHOUSE_PORT: "1", CLICKHOUSE_PASSWORD: "hunter22" },
    folded: (name) => name,
    columnTypes: { id: "int", score: "float", name: "text" },
    async start() {
      const server = await startClickhouse();
      const { host, port } = server;
      return {
        open: opener({ CLICKHOUSE_HOST: host, CLICKHOUSE_PORT: String(port), CLICKHOUSE_SECURE: "false" }),
        async run(statement) {
          const body = statement.startsWith("create table person")
            ? "create table person (id Int64, name Nullable(String), score Nullable(Float64)) engine = MergeTree order by id"
            : statement;
          const answer = await fetch(`http://${host}:${port}/`, { method: "POST", body });
          if (!answer.ok) throw new Error(await answer.text());
        },
        restart: () => server.restart(),
        stop: () => server.stop(),
      };
    },
  },
  {
    name: "DuckDB",
    isAbsent: false,
    isServer: false,
    slow: "(select count(*) from range(100000000000000) as r(n) where n % 7 = 3)",
    ownText: "select 'itself' as text",
    unreachable: { DUCKDB_PATH: "/nowhere/none.duckdb" },
    folded: (name) => name,
    columnTypes: { id: "int", score: "float", name: "text" },
    async start() {
      const folder = new TempFolder();
      const file = join(folder.path, "data.duckdb");
      return {
        open: opener({ DUCKDB_PATH: file }),
        run: (statement) => writeDuckdb(file, statement),
        stop: async () => folder[Symbol.dispose](),
      };
    },
  },
  {
    name: "Snowflake (a fake)",
    isAbsent: false,
    isServer: true,
    slow: "wait(600)",
    ownText: "select own_text()",
    unreachable: { SNOWFLAKE_ENDPOINT_URL: "http://127.0.0.1:1", SNOWFLAKE_TOKEN: "hunter22" },
    folded: (name) => name.toUpperCase(),
    columnTypes: { id: "int", score: "float", name: "text" },
    async start() {
      const fake = new FakeSnowflake("token-of-test");
      return {
        open: opener({
          SNOWFLAKE_ACCOUNT: "org-acc",
          SNOWFLAKE_USER: "me",
          SNOWFLAKE_TOKEN: "token-of-test",
          SNOWFLAKE_ENDPOINT_URL: fake.url,
        }),
        run: async (statement) => void fake.engine.db.run(statement),
        restart: () => fake.restart(),
        stop: () => fake.stop(),
      };
    },
  },
  {
    name: "BigQuery (a fake)",
    isAbsent: false,
    isServer: true,
    slow: "wait(600)",
    ownText: "select own_text()",
    unreachable: { GOOGLE_ENDPOINT_URL: "http://127.0.0.1:1" },
    folded: (name) => name,
    columnTypes: { id: "int", score: "float", name: "text" },
    async start() {
      const fake = new FakeBigquery();
      return {
        open: opener({ GOOGLE_CREDENTIALS: SERVICE_ACCOUNT, GOOGLE_ENDPOINT_URL: fake.url }),
        run: async (statement) => void fake.engine.db.run(statement),
        restart: () => fake.restart(),
        stop: () => fake.stop(),
      };
    },
  },
];
