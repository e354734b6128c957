import { describe, expect, test } from "bun:test";
import { RowCount, SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { buildGraphIndex } from "../../../../src/server/query/graph/graph-index.ts";
import { boundStatement, scanStatement } from "../../../../src/server/query/ops/sql-statement.ts";
import { Preparer } from "../../../../src/server/query/request/prepare.ts";
import { RunCaches } from "../../../../src/server/query/run/caches.ts";
import { Execution } from "../../../../src/server/query/run/executor.ts";
import { outputColumn } from "../../../../src/server/query/run/output-column.ts";
import { QueryTime } from "../../../../src/server/query/run/query-time.ts";
import { featureClass, graph, python, sql } from "../graphs.ts";
import { ask, failureOf, fieldOf, MemorySource, valuesOf, World } from "../worlds.ts";

const user = featureClass("user", {
  id: "int",
  email: "str",
  name: "str",
  nick: "str?",
  active: "bool",
  at: { type: "datetime", time: true },
  score: { type: "float", stale: "1h" },
  tags: "json?",
});
const ROWS = `create table users (uid integer primary key, email text, display text, nick text, active integer, at text, score real);
  insert into users values (1, 'a@example.com', 'Ann', null, 1, '2024-04-01T00:00:00Z', 0.5), (2, 'b@example.com', 'Ben', 'B', 0, '2024-04-02T00:00:00Z', 1)`;
const COLUMNS = { "user.id": "uid", "user.email": "email", "user.name": "display", "user.nick": "nick", "user.active": "active" };

type SqlOptions = Parameters<typeof sql>[3];

function world(body: string, columns: Readonly<Record<string, string>>, options: SqlOptions = {}): World & { source: MemorySource } {
  const source = new MemorySource("db", ROWS);
  return Object.assign(new World(graph([user], [sql("get_user", body, columns, options)]), { sources: [source] }), { source });
}

describe("bodies without placeholders", () => {
  test("only the needed columns are read, by key, and mapped leniently", async () => {
    const one = world("select * from users", COLUMNS);
    expect(await one.values({ "user.id": 1 }, ["user.name", "user.active", "user.nick"])).toEqual({
      "user.name": "Ann",
      "user.active": true,
      "user.nick": null,
    });
    expect(one.source.statements).toEqual([
      { text: 'select q."uid", q."display", q."active", q."nick" from (\nselect * from users\n) q where q."uid" = ?1', parameters: [1] },
    ]);
  });

  test("a semicolon, comments and a clause at the end do no harm", async () => {
    for (const body of [
      "select * from users;",
      "select * from users -- all of them",
      "select * from users; -- all /* of */ them\n;\n",
      "with u as (select * from users) select * from u order by 1 limit 10",
    ])
      expect(await world(body, COLUMNS).values({ "user.id": 2 }, ["user.name"])).toEqual({ "user.name": "Ben" });
  });

  test("a value of the wrong type names feature, type and value", async () => {
    const one = world("select uid, display as active from users", { "user.id": "uid", "user.active": "active" });
    expect(failureOf(await one.ask({ "user.id": 1 }, ["user.active"]), "user.active")).toEqual({
      code: "VALIDATION_FAILED",
      message: 'user.active: expected bool, got str "Ann" from get_user (get_user.svc.sql:1)',
    });
  });

  test("a missing row: null for optional features, an error for others or where one was promised", async () => {
    const answer = await world("select * from users", COLUMNS).ask({ "user.id": 9 }, ["user.name", "user.nick"]);
    expect(failureOf(answer, "user.name").message).toBe(
      "user.name: expected str, got nothing: get_user (get_user.svc.sql:1) found no row with user.id = 9, and the feature is not optional",
    );
    expect(fieldOf(answer, "user.nick")).toMatchObject({ value: null, failure: undefined });
    const strict = await world("select * from users", COLUMNS, { count: RowCount.ONE }).ask({ "user.id": 9 }, ["user.nick"]);
    expect(failureOf(strict, "user.nick")).toEqual({
      code: "RESOLVER_FAILED",
      message: "get_user (get_user.svc.sql:1) found no row with user.id = 9",
    });
  });

  test("two rows for a key are an error", async () => {
    const one = world("select uid, display from users union all select uid, 'Other' from users", {
      "user.id": "uid",
      "user.name": "display",
    });
    expect(failureOf(await one.ask({ "user.id": 1 }, ["user.name"]), "user.name").message).toBe(
      "get_user gave 2 rows, expected at most one, with user.id = 1",
    );
  });

  test("a star gives the features by name", async () => {
    const source = new MemorySource("db", "create table users (id integer primary key, name text); insert into users values (1, 'Ann')");
    const resolver = sql("get_user", "select * from users", {}, { star: true });
    resolver.outputs.push("user.id", "user.name");
    const one = new World(graph([user], [resolver]), { sources: [source] });
    expect(await one.values({ "user.id": 1 }, ["user.name"])).toEqual({ "user.name": "Ann" });
  });

  test("what the database says comes back with the file and the line", async () => {
    const answer = await world("select uid,\n nope from users", { "user.id": "uid", "user.name": "nope" }).ask({ "user.id": 1 }, [
      "user.name",
    ]);
    const { failure } = fieldOf(answer, "user.name");
    expect(failure?.message).toContain("get_user: no such column: nope");
    expect(failure?.exception).toMatchObject({ kind: "SqlError", file: "get_user.svc.sql", line: 3 });
  });

  test("a query that takes too long is given up", async () => {
    const one = world("select * from users", COLUMNS, { timeout: "20ms" });
    one.source.query = () => new Promise<never>(() => {});
    expect(failureOf(await one.ask({ "user.id": 1 }, ["user.name"]), "user.name")).toEqual({
      code: "RESOLVER_TIMED_OUT",
      message: "get_user (get_user.svc.sql:1) did not finish within 20ms",
    });
  });

  test("the row's feature time is the values' time, and later rows are not there when asked about the past", async () => {
    const columns = { ...COLUMNS, "user.at": "at", "user.score": "score" };
    const one = world("select * from users", columns);
    expect(fieldOf(await one.ask({ "user.id": 1 }, ["user.score"]), "user.score").observedAt).toBe(Date.parse("2024-04-01T00:00:00Z"));
    const asOf = async (text: string) => one.ask({ "user.id": 2 }, ["user.name"], { now: BigInt(Date.parse(text)) * 1000n });
    expect(valuesOf(await asOf("2024-04-02T00:00:00Z"))).toEqual({ "user.name": "Ben" });
    expect(failureOf(await asOf("2024-04-01T23:59:59Z"), "user.name").message).toContain("found no row");
  });
});

describe("bodies with placeholders", () => {
  test("are bound, never spliced", async () => {
    const one = world("select display, nick from users where email = ${user.email} or display = ${user.email}", {
      "user.name": "display",
      "user.nick": "nick",
    });
    const evil = "x' or 1=1 --";
    expect(await one.values({ "user.email": "b@example.com" }, ["user.name"])).toEqual({ "user.name": "Ben" });
    expect((await one.ask({ "user.email": evil }, ["user.nick"])).fields[0]?.value).toBeNull();
    expect(one.source.statements.at(-1)).toEqual({
      text: "select display, nick from users where email = ?1 or display = ?2",
      parameters: [evil, evil],
    });
  });

  test("`${now}` is the query's time", async () => {
    const one = world("select uid as id, ${now} as name from users where uid = ${user.id}", { "user.name": "name" });
    expect(await one.values({ "user.id": 1 }, ["user.name"], { now: 0n })).toEqual({ "user.name": "1970-01-01T00:00:00.000000Z" });
  });

  test("a body whose only placeholder is `${now}` is still looked up by key", async () => {
    const one = world("select uid, display || ' at ' || ${now} as display from users where ${now} > ''", {
      "user.id": "uid",
      "user.name": "display",
    });
    expect(await one.values({ "user.id": 2 }, ["user.name"], { now: 0n })).toEqual({ "user.name": "Ben at 1970-01-01T00:00:00.000000Z" });
    expect(one.source.statements[0]?.text).toEndWith('q where q."uid" = ?3');
    expect(one.source.statements[0]?.parameters).toEqual(["1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z", 2]);
  });

  test("columns are found whatever their case; a missing one is said", async () => {
    expect(
      await world("select display as NAME from users where uid = ${user.id}", { "user.name": "name" }).values({ "user.id": 1 }, [
        "user.name",
      ]),
    ).toEqual({ "user.name": "Ann" });
    const answer = await world("select 1 as x where ${user.id} > 0", { "user.name": "name" }).ask({ "user.id": 1 }, ["user.name"]);
    expect(failureOf(answer, "user.name").message).toBe("get_user: the result has no column 'name'; its columns are x");
  });

  test("rows are counted: none, one, several", async () => {
    const body = "select display from users where uid >= ${user.id}";
    expect(await world(body, { "user.name": "display" }).values({ "user.id": 2 }, ["user.name"])).toEqual({ "user.name": "Ben" });
    const several = await world(body, { "user.name": "display" }).ask({ "user.id": 1 }, ["user.name"]);
    expect(failureOf(several, "user.name").message).toBe("get_user gave 2 rows, expected at most one, with user.id = 1");
    const none = await world(body, { "user.name": "display" }, { count: RowCount.ONE }).ask({ "user.id": 3 }, ["user.name"]);
    expect(failureOf(none, "user.name").code).toBe("RESOLVER_FAILED");
  });

  test("of all rows the one with the query's key is taken", async () => {
    const one = world(
      "select uid, display from users where ${user.email} <> ''",
      { "user.id": "uid", "user.name": "display" },
      { count: RowCount.ALL },
    );
    expect(await one.values({ "user.id": 2, "user.email": "x" }, ["user.name"])).toEqual({ "user.name": "Ben" });
  });

  test("null is bound as null", async () => {
    const one = world("select display from users where nick is ${user.nick}", { "user.name": "display" });
    expect(await one.values({ "user.nick": null }, ["user.name"])).toEqual({ "user.name": "Ann" });
  });
});

describe("many rows", () => {
  async function run(count: number, body: string, columns: Readonly<Record<string, string>>, keys: (row: number) => number) {
    const source = new MemorySource("db", "create table t (id integer primary key, name text)");
    source.db.run("with recursive n(i) as (select 0 union all select i + 1 from n where i < 3000) insert into t select i, 'n' || i from n");
    const made = graph([user], [sql("names", body, columns), python("m.upper", ["user.name"], ["user.email"])]);
    const one = new World(made, { sources: [source], python: { "m.upper": ([name]) => (name as string).toUpperCase() } });
    const { deployment } = one;
    const index = buildGraphIndex(made, { environmentName: "default", featureIds: deployment.featureIds, sources: [source] });
    const { plan } = new Preparer(index).prepare(ask({ "user.id": 1 }, ["user.email", "user.name"]));
    const execution = new Execution(plan, count, {
      deployment,
      workers: deployment.pool,
      now: new QueryTime(0n, one.now),
      origin: { operation: "", queryName: "", correlationId: "" },
      compile: index.compile,
      queryId: "q",
      traceId: "",
      traceparent: "",
      carried: {},
      observer: undefined,
      meter: undefined,
      tags: [],
      queryContext: {},
      log: { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false },
      signal: undefined,
      trace: undefined,
      caches: new RunCaches(),
    });
    await execution.execute([Array.from({ length: count }, (_, row) => keys(row))]);
    const [emails, names] = plan.outputs.map((_, position) => outputColumn(execution, position).values);
    return { emails, names, source, one };
  }

  test("at most 1,000 keys go into a statement, equal keys once, and rows come back in place", async () => {
    const { emails, names, source, one } = await run(
      2_600,
      "select id, name from t",
      { "user.id": "id", "user.name": "name" },
      (row) => (row * 7) % 2_500,
    );
    expect(names).toEqual(Array.from({ length: 2_600 }, (_, row) => `n${(row * 7) % 2_500}`));
    expect(emails?.[2_599]).toBe(`N${(2_599 * 7) % 2_500}`);
    expect(source.statements.map((statement) => statement.parameters.length).sort()).toEqual([1_000, 1_000, 512]);
    expect(new Set(source.statements.flatMap((statement) => statement.parameters)).size).toBe(2_500);
    expect(one.pool.calls.map((call) => call.rows).sort((a, b) => a - b)).toEqual([500, 1_000, 1_000]);
  });

  test("bodies with placeholders run once for each distinct argument", async () => {
    const { names, source } = await run(50, "select name from t where id = ${user.id}", { "user.name": "name" }, (row) => row % 10);
    expect(names).toEqual(Array.from({ length: 50 }, (_, row) => `n${row % 10}`));
    expect(source.statements).toHaveLength(10);
  });
});

describe("statements", () => {
  const dollar = { quote: (name: string) => `"${name}"`, placeholder: (position: number) => `$${position}` };
  const info = (body: string) => {
    const made = graph([user], [sql("s", body, { "user.id": "id", "user.name": "name" })]);
    const index = buildGraphIndex(made, { environmentName: "", featureIds: new Map(), sources: [{ name: "db", kind: 1 }] });
    const { sql: found } = index.resolvers.get("s") ?? {};
    if (!found) throw new Error("no SQL");
    const scalar = (fqn: string) => {
      const feature = index.scalars.get(fqn);
      if (!feature) throw new Error(fqn);
      return feature;
    };
    return { sql: found, scalar };
  };

  test("are written with the source's placeholders", () => {
    expect(boundStatement(info("select ${user.id}, '${', ${now} from t;").sql, dollar)).toBe("select $1, '${', $2 from t");
  });

  test("several keys of one and of two columns", () => {
    const { sql: found, scalar } = info("select 1");
    const one = scanStatement(found, dollar, [scalar("user.id")], [], (name) => name);
    expect(one.text(3)).toEndWith('q where q."id" in ($1, $2, $3)');
    const two = scanStatement(found, dollar, [scalar("user.id"), scalar("user.name")], [], (name) => name);
    expect(two.text(2)).toEndWith('q where (q."id", q."name") in (values ($1, $2), ($3, $4))');
    const elsewhere = scanStatement(
      { ...found, sourceKind: SourceKind.POSTGRESQL },
      dollar,
      [scalar("user.id"), scalar("user.name")],
      [],
      (name) => name,
    );
    expect(elsewhere.text(2)).toEndWith('q where (q."id", q."name") in (($1, $2), ($3, $4))');
    expect(elsewhere.text(1)).toEndWith('q where q."id" = $1 and q."name" = $2');
  });
});
