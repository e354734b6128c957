/** SQL resolvers read databases through the integration of their source's name. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { IntegrationService } from "../../../gen/svc/v1/integration_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { lacksClickhouse, startClickhouse } from "../../harness/clickhouse.ts";
import { lacksMariadb, startMariadb } from "../../harness/mariadb.ts";
import { lacksPostgres, startPostgres, type TestPostgres } from "../../harness/postgres.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { until } from "../nodes/two-nodes.ts";
import { SERVICE_ACCOUNT, writeDuckdb } from "../sql/drivers.ts";
import { FakeBigquery } from "../sql/fake-bigquery.ts";
import { FakeSnowflake } from "../sql/fake-snowflake.ts";
import { deploy, expectLive, type ProjectFiles } from "./deploying.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, WAREHOUSE_PGHOST: "nowhere.invalid", WAREHOUSE_PGPORT: "1" },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Kind = "PostgreSQLSource" | "MySQLSource" | "ClickhouseSource" | "DuckDBSource" | "SnowflakeSource" | "BigQuerySource";

const project = (kind: Kind, settings = ""): ProjectFiles => ({
  "features.py": `from svc.features import features, feature

@features
class User:
    id: int
    name: str = feature(max_staleness="0s")
`,
  "sources.py": `from svc.sources import ${kind}\n\nwarehouse = ${kind}(name="warehouse"${settings})\n`,
  "get_user.svc.sql": "-- resolves: User\n-- source: warehouse\nselect id, name from app_user\n",
});

async function nameOfUser(): Promise<string> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.name"] }),
  });
  const text = await response.text();
  return String((JSON.parse(text) as { data?: { value: unknown }[] }).data?.[0]?.value ?? text);
}

interface Address extends Pick<TestPostgres, "host" | "port" | "user" | "password"> {
  readonly database: string;
}

async function fill(adapter: "postgres" | "mariadb", { host, port, user, password, database }: Address, statements: readonly string[]) {
  const sql = new Bun.SQL({ adapter, hostname: host, port, username: user, password: () => password, database, max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

const TABLE = "create table app_user (id int primary key, name varchar(40))";

const apply = (kind: string, prefix: string, { host, port, user, password, database }: Address) =>
  server.client(IntegrationService).applyIntegration({
    name: "warehouse",
    kind,
    environmentVariables: {
      [`${prefix}HOST`]: host,
      [`${prefix}PORT`]: String(port),
      [`${prefix}USER`]: user,
      [`${prefix}PASSWORD`]: password,
      [`${prefix}DATABASE`]: database,
    },
  });

test.skipIf(lacksPostgres())(
  "PostgreSQL: the integration wins over the server's environment, and a change connects anew without a failed query",
  async () => {
    const postgres = await startPostgres();
    try {
      const other = { ...postgres, database: "other" };
      await fill("postgres", postgres, [TABLE, "insert into app_user values (1, 'first')", "create database other"]);
      await fill("postgres", other, [TABLE, "insert into app_user values (1, 'second')"]);
      await apply("postgresql", "PG", postgres);
      expectLive(await deploy(server, project("PostgreSQLSource")));
      expect(await nameOfUser()).toBe("first");

      let isOver = false;
      const seen = new Set<string>();
      const loops = Promise.all(
        [1, 2, 3].map(async () => {
          while (!isOver) seen.add(await nameOfUser());
        }),
      );
      await apply("postgresql", "PG", other);
      await until(nameOfUser, (name) => name === "second");
      isOver = true;
      await loops;
      expect([...seen].filter((name) => name !== "first" && name !== "second")).toEqual([]);

      await server
        .client(IntegrationService)
        .applyIntegration({ name: "warehouse", kind: "mysql", environmentVariables: { MYSQL_HOST: "a", MYSQL_DATABASE: "b" } });
      await until(nameOfUser, (said) => said.includes("the integration of that name is mysql"));
      await apply("postgresql", "PG", postgres);
      await until(nameOfUser, (name) => name === "first");
      await server.client(IntegrationService).deleteIntegrations({ names: ["warehouse"] });
      await until(nameOfUser, (said) => said.includes("nowhere.invalid"));
    } finally {
      await postgres.stop();
    }
  },
  300_000,
);

test.skipIf(lacksMariadb())(
  "MariaDB",
  async () => {
    const mariadb = await startMariadb();
    try {
      await fill("mariadb", mariadb, [TABLE, "insert into app_user values (1, 'of mariadb')"]);
      await apply("mysql", "MYSQL_", mariadb);
      expectLive(await deploy(server, project("MySQLSource")));
      expect(await nameOfUser()).toBe("of mariadb");
    } finally {
      await mariadb.stop();
    }
  },
  300_000,
);

const applied = (kind: string, environmentVariables: Record<string, string>) =>
  server.client(IntegrationService).applyIntegration({ name: "warehouse", kind, environmentVariables });

test.skipIf(lacksClickhouse())(
  "ClickHouse",
  async () => {
    const clickhouse = await startClickhouse();
    try {
      const address = { CLICKHOUSE_HOST: clickhouse.host, CLICKHOUSE_PORT: String(clickhouse.port), CLICKHOUSE_SECURE: "false" };
      for (const body of [
        "create table app_user (id Int64, name String) engine = MergeTree order by id",
        "insert into app_user values (1, 'of ClickHouse')",
      ])
        await fetch(`http://${clickhouse.host}:${clickhouse.port}/`, { method: "POST", body });
      await applied("clickhouse", address);
      expectLive(await deploy(server, project("ClickhouseSource")));
      expect(await nameOfUser()).toBe("of ClickHouse");
    } finally {
      await clickhouse.stop();
    }
  },
  300_000,
);

test("Snowflake (a fake): names that it folds are found", async () => {
  const fake = new FakeSnowflake("token-of-test");
  try {
    fake.engine.db.run("create table app_user (ID bigint primary key, NAME varchar(40))");
    fake.engine.db.run("insert into app_user values (1, 'of Snowflake')");
    await applied("snowflake", {
      SNOWFLAKE_ACCOUNT: "org-acc",
      SNOWFLAKE_USER: "me",
      SNOWFLAKE_TOKEN: "token-of-test",
      SNOWFLAKE_ENDPOINT_URL: fake.url,
    });
    expectLive(await deploy(server, project("SnowflakeSource")));
    expect(await nameOfUser()).toBe("of Snowflake");
    expect(fake.begun.some(({ body }) => String(body.statement).includes('q."ID" = ?'))).toBe(true);
  } finally {
    await fake.stop();
  }
}, 300_000);

test("BigQuery (a fake)", async () => {
  const fake = new FakeBigquery();
  try {
    fake.engine.db.run("create table app_user (id bigint primary key, name varchar(40))");
    fake.engine.db.run("insert into app_user values (1, 'of BigQuery')");
    await applied("bigquery", { GOOGLE_CREDENTIALS: SERVICE_ACCOUNT, GOOGLE_ENDPOINT_URL: fake.url });
    expectLive(await deploy(server, project("BigQuerySource")));
    expect(await nameOfUser()).toBe("of BigQuery");
  } finally {
    await fake.stop();
  }
}, 300_000);

test("DuckDB: a file, by its path in code; a statement that it rejects stops the deployment", async () => {
  await server.client(IntegrationService).deleteIntegrations({ names: ["warehouse"] });
  const file = join(folder.path, "users.duckdb");
  await writeDuckdb(file, `${TABLE}; insert into app_user values (1, 'of DuckDB')`);
  const files = project("DuckDBSource", `, path=${JSON.stringify(file)}`);
  expectLive(await deploy(server, files));
  expect(await nameOfUser()).toBe("of DuckDB");
  await writeDuckdb(file, "update app_user set name = 'changed'");
  expect(await nameOfUser()).toBe("changed");
  const refused = await deploy(server, {
    ...files,
    "get_user.svc.sql": "-- resolves: User\n-- source: warehouse\nselect id, nam as name from app_user\n",
  });
  expect(Bun.inspect(refused, { depth: 8 })).toContain("not found in FROM clause");
}, 300_000);

test("the project of docs/sources.md answers from a file of DuckDB, and from memory", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/sources.md")).text();
  const files = Object.fromEntries([...page.matchAll(/^```\w+ file: (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name, text ?? ""]));
  const file = join(folder.path, "shops.duckdb");
  await writeDuckdb(
    file,
    "create table sale as select * from (values (7, 'Ulm', 1.5), (7, 'Ulm', 2.0), (8, 'Bonn', 9.0)) as s(shop, city, amount)",
  );
  const sources = files["sources.py"]?.replace('name="warehouse"', `name="warehouse", path=${JSON.stringify(file)}`) ?? "";
  expectLive(await deploy(server, { ...files, "sources.py": sources } as ProjectFiles));
  const { data } = await server.client(QueryService).query({
    inputs: [{ feature: "shop.id", value: { case: "text", value: "7" } }],
    outputs: ["shop.city", "shop.turnover", "shop.best"],
  });
  expect(data.map(({ value }) => value && fromProtoValue(value))).toEqual(["Ulm", 3.5, 2]);
  const rate = await server.client(QueryService).query({
    inputs: [{ feature: "currency.code", value: { case: "text", value: "USD" } }],
    outputs: ["currency.rate"],
  });
  expect(rate.data.map(({ value }) => value && fromProtoValue(value))).toEqual([1.09]);
}, 300_000);
