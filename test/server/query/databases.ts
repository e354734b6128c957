/** Databases that tests write to and the engine reads, one of each kind. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import type { SqlSources } from "../../../src/server/sql/source.ts";
import { lacksMariadb, startMariadb } from "../../harness/mariadb.ts";
import { lacksPostgres, startPostgres } from "../../harness/postgres.ts";
import { TempFolder } from "../../harness/running-server.ts";

/** The kind of a database. */
export type DatabaseKind = "sqlite" | "postgres" | "mariadb";

/** A running database. The engine's source is called `db`. */
export interface TestDatabase {
  readonly kind: DatabaseKind;
  readonly sources: SqlSources;
  /** Runs a statement as somebody who may write. */
  run(statement: string): Promise<void>;
  stop(): Promise<void>;
}

/** How to start a database, and whether it can be started here. */
export interface DatabaseProgram {
  readonly kind: DatabaseKind;
  readonly isAbsent: boolean;
  start(): Promise<TestDatabase>;
}

async function startSqlite(): Promise<TestDatabase> {
  const folder = new TempFolder();
  const path = join(folder.path, "data.db");
  const db = new Database(path);
  db.run("pragma journal_mode = wal");
  const sources = createSqlSources({ declared: [], env: { DB_SQLITE_PATH: path } });
  return {
    kind: "sqlite",
    sources,
    run: async (statement) => void db.run(statement),
    async stop() {
      await sources.close();
      db.close();
      folder[Symbol.dispose]();
    },
  };
}

async function startServer(
  kind: Exclude<DatabaseKind, "sqlite">,
  prefix: "PG" | "MYSQL_",
  server: Awaited<ReturnType<typeof startPostgres | typeof startMariadb>>,
): Promise<TestDatabase> {
  const { host, port, user, password, database } = server;
  const admin = new Bun.SQL({ adapter: kind, hostname: host, port, username: user, password: () => password, database, max: 1 });
  const settings = { HOST: host, PORT: String(port), USER: user, PASSWORD: password, DATABASE: database };
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`DB_${prefix}${name}`, value]));
  const sources = createSqlSources({ declared: [], env });
  return {
    kind,
    sources,
    run: async (statement) => void (await admin.unsafe(statement)),
    async stop() {
      await sources.close();
      await admin.close();
      await server.stop();
    },
  };
}

/** All kinds. */
export const databasePrograms: readonly DatabaseProgram[] = [
  { kind: "sqlite", isAbsent: false, start: startSqlite },
  {
    kind: "postgres",
    isAbsent: lacksPostgres(),
    start: async () => startServer("postgres", "PG", await startPostgres()),
  },
  {
    kind: "mariadb",
    isAbsent: lacksMariadb(),
    async start() {
      const started = await startServer("mariadb", "MYSQL_", await startMariadb());
      await started.run("alter database app character set utf8mb4");
      await started.run("set time_zone = '+00:00'");
      return started;
    },
  },
];
