/** The kinds of sources under test. A kind passes the conformance suite by being named here. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { ColumnType } from "../../../src/server/sql/condition.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import type { SqlSource } from "../../../src/server/sql/source.ts";
import { lacksMariadb, startMariadb } from "../../harness/mariadb.ts";
import { lacksPostgres, startPostgres } from "../../harness/postgres.ts";
import { TempFolder } from "../../harness/running-server.ts";

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

/** The kinds. */
export const SOURCES: readonly SourceUnderTest[] = [
  {
    name: "SQLite",
    isAbsent: false,
    isServer: false,
    slow: "(with recursive n(x) as (select 1 union all select x + 1 from n where x < 4000000000) select count(*) from n)",
    ownText: "select 'itself' as text",
    unreachable: { SQLITE_PATH: "/nowhere/none.db" },
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
    columnTypes: { id: "int", score: "float", name: "text" },
    start: async () => startServer("mariadb", "MYSQL_", await startMariadb()),
  },
];
