import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type DataSource, DataSourceSchema, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { environmentPrefix, INTEGRATION_KINDS, type IntegrationKind } from "../../../src/domain/integrations.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import { SqlError } from "../../../src/server/sql/source.ts";
import { SOURCE_DRIVERS } from "../../../src/server/sql/source-drivers.ts";

const root = mkdtempSync(join(tmpdir(), "svc-sources-"));
const declare = (name: string, kind: SourceKind, settings: Record<string, string> = {}): DataSource =>
  create(DataSourceSchema, { name, kind, settings });
const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(SqlError);
    return (error as SqlError).message;
  }
  throw new Error("nothing was thrown");
};

beforeAll(() => {
  mkdirSync(join(root, "data"));
  for (const [file, value] of [
    ["data/code.db", "from code"],
    ["other.db", "from environment"],
  ] as const) {
    const db = new Database(join(root, file));
    db.run("create table t (id integer primary key, v text)");
    db.query("insert into t values (1, ?)").run(value);
    db.close();
  }
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("sources of an environment", () => {
  test("a source is found by name, or by kind while it is the only one of its kind", async () => {
    const sources = createSqlSources({
      declared: [declare("flights", SourceKind.SQLITE, { path: "data/code.db" }), declare("pg", SourceKind.POSTGRESQL)],
      env: {},
      sourceRoot: root,
    });
    expect((await sources.get("flights").query("select v from t where id = 1", [])).rows).toEqual([["from code"]]);
    expect(sources.get("sqlite")).toBe(sources.get("flights"));
    expect(sources.get("PostgreSQL").name).toBe("pg");
    expect(sources.list()).toEqual([
      { name: "flights", kind: SourceKind.SQLITE },
      { name: "pg", kind: SourceKind.POSTGRESQL },
    ]);
    await sources.close();
  });

  test("an unknown or ambiguous name lists what there is", () => {
    const sources = createSqlSources({
      declared: [declare("a", SourceKind.POSTGRESQL), declare("b", SourceKind.POSTGRESQL), declare("lite", SourceKind.SQLITE)],
      env: {},
      sourceRoot: root,
    });
    expect(messageOf(() => sources.get("nope"))).toBe("there is no source 'nope'; there are a (postgresql), b (postgresql), lite (sqlite)");
    expect(messageOf(() => sources.get("mysql"))).toContain("there is no source 'mysql'");
    expect(messageOf(() => sources.get("postgresql"))).toBe(
      "source 'postgresql' is not the only one of its kind: there are a (postgresql), b (postgresql), lite (sqlite); name one of them",
    );
    expect(messageOf(() => createSqlSources({ declared: [], env: {} }).get("pg"))).toBe("there is no source 'pg'; there are no sources");
  });

  test("environment variables override the code, and alone make a source", async () => {
    const sources = createSqlSources({
      declared: [declare("my-flights", SourceKind.SQLITE, { path: "data/code.db" })],
      env: {
        MY_FLIGHTS_SQLITE_PATH: join(root, "other.db"),
        EXTRA_SQLITE_PATH: "other.db",
        EMPTY_PGHOST: "",
        OTHER_PGHOST: "db.example.com",
      },
      sourceRoot: root,
    });
    expect((await sources.get("my-flights").query("select v from t where id = 1", [])).rows).toEqual([["from environment"]]);
    expect((await sources.get("extra").query("select v from t where id = 1", [])).rows).toEqual([["from environment"]]);
    expect(sources.list().map(({ name }) => name)).toEqual(["my-flights", "extra", "other"]);
    await sources.close();
  });

  test("a source without what it needs says which setting and which variable", () => {
    const sources = createSqlSources({
      declared: [
        declare("lite", SourceKind.SQLITE),
        declare("relative", SourceKind.SQLITE, { path: "data/code.db" }),
        declare("my", SourceKind.MYSQL),
        declare("pg", SourceKind.POSTGRESQL, { port: "many" }),
      ],
      env: {},
    });
    expect(messageOf(() => sources.get("lite"))).toContain("set LITE_SQLITE_PATH");
    expect(messageOf(() => sources.get("relative"))).toContain("data/code.db is relative");
    expect(messageOf(() => sources.get("my"))).toContain("set MY_MYSQL_DATABASE");
    expect(messageOf(() => sources.get("pg"))).toContain("PG_PGPORT is no port number");
  });

  test("names become variable prefixes", () => {
    expect(["flights", "my-pg", "a b.c", "x1"].map(environmentPrefix)).toEqual(["FLIGHTS", "MY_PG", "A_B_C", "X1"]);
  });
});

test("docs/sources.md has every kind with its variables", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/sources.md")).text();
  const rows = [...page.matchAll(/^\| `(\w+)Source` \| (.*) \|$/gm)].map(([, kind = "", list = ""]) => ({
    kind: kind.toLowerCase(),
    variables: [...list.matchAll(/`(\w+)`/g)].map(([, variable]) => variable as string),
  }));
  expect(rows.map(({ kind }) => kind).sort()).toEqual(SOURCE_DRIVERS.map(({ names }) => names[0] as string).sort());
  for (const { names, variable } of SOURCE_DRIVERS) {
    const { variables = [] } = rows.find(({ kind }) => kind === names[0]) ?? {};
    expect(variables).toContain(variable);
    const ofIntegration = INTEGRATION_KINDS[names[0] as IntegrationKind]?.map(({ name }) => name) ?? [];
    expect(ofIntegration.filter((name) => name !== "SNOWFLAKE_PASSWORD" && !variables.includes(name))).toEqual([]);
  }
});

describe("a database in memory", () => {
  const open = (script: string, env: Record<string, string> = {}) =>
    createSqlSources({ declared: [declare("rates", SourceKind.SQLITE, { script })], env, sourceRoot: root }).get("rates");
  const refused = (script: string) =>
    open(script)
      .query("select 1", [])
      .then(
        () => "",
        (error) => (error instanceof SqlError ? error.message : `no SqlError: ${error}`),
      );
  const RATES =
    "pragma foreign_keys = off; begin; create table rate (code text primary key, value real); insert into rate values ('a;b', 1.5), ('c', 2); create index by_value on rate (value); create view dear as select * from rate where value > 1.75; commit;";

  test("has what its script made, for short statements and for scans", async () => {
    const source = open(RATES);
    expect((await source.query("select value from rate where code = ?1", ["a;b"])).rows).toEqual([[1.5]]);
    expect((await source.query("select code from dear", [])).rows).toEqual([["c"]]);
    expect((await source.query("select count(*), sum(value) from rate where value > ?1", [0])).rows).toEqual([[2, 3.5]]);
    expect(await source.describe("select code, value as v from rate")).toEqual(["code", "v"]);
    await source.test();
    await source.close();
    expect(await source.query("select 1", []).catch((error) => (error as Error).message)).toBe("source 'rates' is closed");
  });

  test("is only read", async () => {
    const source = open(RATES);
    for (const statement of ["delete from rate", "insert into rate values ('d', 3) returning code"])
      expect(await source.query(statement, []).catch((error) => (error as Error).message)).toMatch(/readonly|read-only|not authorized/);
    expect((await source.query("select count(*) from rate", [])).rows).toEqual([[2]]);
    await source.close();
  });

  test("a file that the environment names is read instead", async () => {
    const source = open(RATES, { RATES_SQLITE_PATH: join(root, "other.db") });
    expect((await source.query("select v from t", [])).rows).toEqual([["from environment"]]);
    await source.close();
  });

  test("a script that fails, or reaches for more, is refused with the reason", async () => {
    expect(await refused("create table t (x); insert into u values (1)")).toBe("source 'rates': the script fails: no such table: u");
    const begins = (words: string) =>
      `source 'rates': the script has a statement that begins with '${words}': write 'create table', 'create index', 'create view', 'insert', 'update' or 'delete'`;
    expect(await refused(`create table t (x); attach '${join(root, "other.db")}' as other`)).toBe(begins("attach"));
    expect(await refused("/* ; */ vacuum into '/tmp/x'")).toBe(begins("vacuum"));
    expect(await refused("create virtual table f using fts5(x)")).toBe(begins("create virtual"));
    expect(await refused("create trigger t after insert on u begin delete from u; end")).toBe(begins("create trigger"));
    expect(await refused("pragma journal_mode = off")).toBe(begins("pragma journal_mode"));
    expect(await refused("create table t as select load_extension('x') as x")).toBe(
      "source 'rates': the script calls load_extension, which a source may not",
    );
    expect(
      await refused(
        "create table t (x); with n(i) as (values(1) union all select i + 1 from n where i < 70) insert into t select zeroblob(1048576) from n",
      ),
    ).toBe("source 'rates': the script fails: the database is larger than 64 MiB");
  });
});
