/** `svc lint` against real databases: what they say of a statement, at its place in the file. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { tempFolder } from "../client/test-context.ts";
import { lacksMariadb, startMariadb } from "../harness/mariadb.ts";
import { marked, spanOf } from "../harness/marked.ts";
import { lacksPostgres, startPostgres } from "../harness/postgres.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

setDefaultTimeout(300_000);

const TABLE = "create table app_user (id integer primary key, valid integer, title varchar(40), mail varchar(40))";
const DATABASES = {
  sqlite: { isAbsent: false, source: 'SQLiteSource(name="db")' },
  postgresql: { isAbsent: lacksPostgres(), source: 'PostgreSQLSource(name="db")' },
  mysql: { isAbsent: lacksMariadb(), source: 'MySQLSource(name="db")' },
} as const;

/** Starts a database with the table; gives the settings of the source `db`. */
async function prepare(kind: keyof typeof DATABASES): Promise<{ env: Record<string, string>; stop(): Promise<void> }> {
  if (kind === "sqlite") {
    const path = join(tempFolder("svc-lint-db-"), "app.db");
    const db = new Database(path, { create: true });
    db.run(TABLE);
    db.close();
    return { env: { DB_SQLITE_PATH: path }, stop: async () => undefined };
  }
  const server = kind === "mysql" ? await startMariadb() : await startPostgres();
  const { host, port, user, password, database } = server;
  const sql = new SQL({ adapter: kind === "mysql" ? "mysql" : "postgres", hostname: host, port, username: user, password, database });
  await sql.unsafe(TABLE);
  await sql.close();
  const settings =
    kind === "mysql"
      ? ["MYSQL_HOST", "MYSQL_PORT", "MYSQL_USER", "MYSQL_PASSWORD", "MYSQL_DATABASE"]
      : ["PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"];
  const values = [host, String(port), user, password, database];
  return { env: Object.fromEntries(settings.map((name, at) => [`DB_${name}`, values[at] ?? ""])), stop: () => server.stop() };
}

/** Statements below a header, with the place that the database's word has. */
const STATEMENTS: readonly (readonly [what: string, body: string, said: RegExp])[] = [
  [
    "a column that is no column, which is also a part of a name before it",
    "select id, title as name,\n\tmail as email from app_user where valid > 0 and «vali» > 1",
    /vali/,
  ],
  [
    "behind a bound parameter, a quote and letters beyond the basic plane",
    "select id, '😀é' as name, «maill» as email from app_user where id = ${user.id}",
    /maill/,
  ],
  ["in front of a bound parameter", "select id, title as name from app_user where «idd» = ${user.id}", /idd/],
  [
    "behind two bound parameters",
    "select id, title as name from app_user where id = ${user.id} and mail = ${user.email} and «mial» = 'x'",
    /mial/,
  ],
  ["a table that does not exist", "select id, title as name from «app_usr»", /app_usr/],
  ["grammar", "select id, title as name from «from» app_user", /syntax/],
];

for (const [kind, { isAbsent, source }] of Object.entries(DATABASES) as [keyof typeof DATABASES, (typeof DATABASES)["sqlite"]][])
  describe.skipIf(isAbsent)(kind, () => {
    let platform: Platform;
    let stop: () => Promise<void>;
    beforeAll(async () => {
      const prepared = await prepare(kind);
      stop = prepared.stop;
      platform = await startPlatform(prepared.env);
    });
    afterAll(async () => {
      await platform.server.stop();
      await stop();
    });
    const lint = (files: Record<string, string>) => {
      const dir = writeProject({
        "features.py": FEATURES,
        "resolvers.py": "",
        "sources.py": `from svc import ${source.split("(")[0]}\n\ndb = ${source}\n`,
        ...files,
      });
      return runCommand("lint", [], { home: platform.home, env: platform.env, dir });
    };

    for (const newline of ["\n", "\r\n"])
      test(`159 at the word, lines ending with ${JSON.stringify(newline)}`, async () => {
        const files: Record<string, string> = {};
        const places = STATEMENTS.map(([, body], index) => {
          const fixture = marked(`-- Users.\n-- resolves: User\n-- source: db\n-- tags: t${index}\n\n${body};\n`.replaceAll("\n", newline));
          const path = `q${index}.svc.sql`;
          files[path] = fixture.text;
          return spanOf(path, fixture).split("-")[0];
        });
        const done = await lint(files);
        const found = done.stdout.split("\n\n").flatMap((block) => {
          const [, code, said = "", place] = /^Error\[(\d+)\]: (.*)\n *--> (.*)/.exec(block) ?? [];
          return code ? [{ code, said, place }] : [];
        });
        expect(found).toEqual(
          STATEMENTS.map(([, , said], index) => ({ code: "159", said: expect.stringMatching(said), place: places[index] })),
        );
        expect(done.exitCode).toBe(1);
      });

    test("what it takes is fine; the columns of `*` are compared", async () => {
      expect(
        (
          await lint({
            "q.svc.sql": "-- resolves: User\n-- source: db\nselect id, title as name from app_user where id = ${user.id} -- end\n",
          })
        ).stdout,
      ).not.toContain("Error");
      const star = await lint({ "q.svc.sql": "-- resolves: User\n-- source: db\n-- fields: {titel: name}\nselect * from app_user\n" });
      expect(star.stdout).toContain(
        "Error[158]: the database's answer has no column 'titel'; it has 'id', 'valid', 'title' and 'mail'\n --> q.svc.sql:3:13\n",
      );
    });
  });

const FEATURES = "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    name: str\n    email: str\n";
