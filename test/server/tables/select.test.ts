/** Statements of people: what they answer, what they cannot reach, and where they end. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { typeName } from "../../../src/domain/value.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import type { NamedTable, SelectLimits, TableEngine, TableSource } from "../../../src/server/tables/engine.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { SILENT_LOG } from "./engine-parts.ts";
import { primitive } from "./random-tables.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-select-"));
const secret = join(folder, "secret.csv");
const started: number[] = [];
let engine: TableEngine;
let sources: readonly TableSource[];

beforeAll(async () => {
  writeFileSync(secret, "a,b\nthe secret,2\n");
  engine = createTableEngine({
    folder: join(folder, "engine"),
    libraryFolders: [join(folder, "library")],
    log: SILENT_LOG,
    onStart: (pid) => started.push(pid),
  });
  const columns = [
    { name: "key", dtype: primitive(PrimitiveType.INT64) },
    { name: "value", dtype: primitive(PrimitiveType.STRING) },
    { name: "price", dtype: primitive(PrimitiveType.DECIMAL) },
  ];
  const paths = [join(folder, "one.parquet"), join(folder, "two.parquet")];
  for (const [at, path] of paths.entries()) {
    const writer = await engine.write(path, columns);
    const price = at === 0 ? ["1.5", null, "3"] : ["0.1234567891234", "2", "3"];
    await writer.append({ rows: 3, columns: [[1, 2, 3].map((key) => key + 10 * at), ["a", "b", null], price] });
    await writer.finish();
  }
  sources = [
    { name: ["historical", "user", "score"], paths: paths.slice(0, 1), columns },
    { name: ["datasets", "both"], paths, columns },
    { name: ["datasets", "none"], paths: [], columns },
  ];
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const ROOM: SelectLimits = { timeoutMs: 120_000, rows: 1_000, bytes: 10_000_000 };
const target = join(folder, "answer.parquet");
const never = new AbortController().signal;

async function ask(statement: string, limits: Partial<SelectLimits> = {}, signal = never) {
  rmSync(target, { force: true });
  const answer = await engine.select(statement, sources, target, { limits: { ...ROOM, ...limits }, signal });
  const rows: unknown[][] = [];
  for await (const chunk of engine.read(target))
    for (let row = 0; row < chunk.rows; row++) rows.push(chunk.columns.map((values) => values[row]));
  return { ...answer, values: rows };
}

const refusalOf = (statement: string, limits?: Partial<SelectLimits>, signal?: AbortSignal) =>
  ask(statement, limits, signal).then(
    ({ values }) => ({ code: "answered", message: JSON.stringify(values) }),
    (error: { readonly code: string; readonly message: string }) => ({ code: error.code, message: error.message }),
  );

describe("a statement", () => {
  test("reads the tables that it names, whatever the case, and joins them", async () => {
    const { rows, truncated, values } = await ask(
      "select s.key, b.value from Historical.User.Score s join datasets.both b using (key) order by key; -- all",
    );
    expect({ rows, truncated }).toEqual({ rows: 3, truncated: false });
    expect(values).toEqual([
      [1, "a"],
      [2, "b"],
      [3, null],
    ]);
    expect((await ask("select key from datasets.none")).values).toEqual([]);
    expect((await ask("with own as (select 1 as a) select * from own")).values).toEqual([[1]]);
    expect((await ask("select price from datasets.both where key = 11")).values).toEqual([["0.1234567891234"]]);
  });

  test("has integers where sums fit them, unique names, and types that files hold", async () => {
    const { columns, values } = await ask(
      "select sum(key), sum(key), sum(9223372036854775807::bigint) over () * 2 as large, interval 90 minute as span, " +
        "map {'a': 1} as m, null as nothing, time '12:00' as noon, timestamp '2024-01-01 10:00' as at from datasets.both group by all limit 1",
    );
    expect(columns.map(({ name, dtype }) => `${name} ${typeName(dtype)}`)).toEqual([
      'sum("key") int',
      'sum("key")_1 int',
      "large Decimal",
      "span str",
      "m json",
      "nothing int",
      "noon str",
      "at datetime",
    ]);
    expect(values[0]).toEqual([42, 42, "18446744073709551614", "01:30:00", { a: 1 }, null, "12:00:00", "2024-01-01T10:00:00.000000Z"]);
  });

  test("gets as many rows as it may, the first ones by its order, and is told of more", async () => {
    const { rows, truncated, values } = await ask("select i from range(5000) t(i) order by -i", { rows: 2 });
    expect({ rows, truncated, values }).toEqual({ rows: 2, truncated: true, values: [[4_999], [4_998]] });
    expect((await ask("select i from range(2) t(i)", { rows: 2 })).truncated).toBe(false);
  });

  test("names its tables before they are made, and what refuses them refuses the statement", async () => {
    const names: (readonly NamedTable[])[] = [];
    const refusal = new Error("not for you");
    const work = engine.select(
      "with w as (select * from datasets.both)\nselect * from w where key in (select key from a.b.c)",
      (named) => {
        names.push(named);
        return Promise.reject(refusal);
      },
      target,
      { limits: ROOM, signal: never },
    );
    expect(await work.catch((error: unknown) => error)).toBe(refusal);
    expect(names).toEqual([
      [
        { name: ["datasets", "both"], line: 1 },
        { name: ["a", "b", "c"], line: 2 },
      ],
    ]);
  });
});

describe("a statement that is wrong", () => {
  test.each([
    [
      "select vale\nfrom datasets.both",
      'Referenced column "vale" not found in FROM clause! Candidate bindings: "value" (line 1: select vale)',
    ],
    ["select 1\nfrom nowhere", "there is no table nowhere (line 2)"],
    ["selec 1", 'syntax error at or near "selec" (line 1: selec 1)'],
    ["select 1; select 2", "only one statement can be asked at a time"],
    ["", "there is no statement"],
    ["-- nothing", "there is no statement"],
    ["drop table datasets.both", "only a select statement can be asked"],
    ["select $1", "a statement has no parameters"],
    ["select 'a'::int", "Could not convert string 'a' to INT32 (line 1: select 'a'::int)"],
  ])("is refused with the place and what is close: %s", async (statement, message) => {
    expect(await refusalOf(statement)).toEqual({ code: "refused", message });
  });
});

describe("nothing but the tables is reached by", () => {
  test.each([
    ["files of text", `select * from read_text('${secret}')`],
    ["files of CSV", `select * from read_csv('${secret}')`],
    ["a path as a table", `select * from '${secret}'`],
    ["a glob", `select * from glob('${folder}/*')`],
    ["a Parquet file that it could name", `select * from read_parquet('${join(folder, "two.parquet")}')`],
    ["a scalar that reads", `select content from read_blob('${secret}')`],
    ["copying", `copy (select 1) to '${join(folder, "leak.csv")}'`],
    ["attaching", `attach '${join(folder, "leak.db")}'`],
    ["installing", "install httpfs"],
    ["loading", "load httpfs"],
    ["settings", "set enable_external_access = true"],
    ["pragmas", "pragma database_list"],
    ["the environment", "select getenv('PATH')"],
    ["settings that name paths", "select current_setting('allowed_paths')"],
    ["the list of settings", "select * from duckdb_settings()"],
    ["the text of views", "select sql from duckdb_views()"],
    ["the catalog of views", "select view_definition from information_schema.views"],
    ["secrets", "select * from duckdb_secrets()"],
    ["logs", "select * from duckdb_logs()"],
    ["a table function by string", "select * from query('select 1')"],
    ["a table by string", "select * from query_table('datasets.both')"],
    ["serialized statements", "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))"],
    ["a second statement behind a comment", "select 1 /* ; */ ; copy (select 1) to 'x' --"],
    ["a call", "call pragma_version()"],
    ["macros", "create macro f() as 1"],
    ["explain", "explain analyze select 1"],
  ])("%s", async (_, statement) => {
    const { code, message } = await refusalOf(statement);
    expect(code).toBe("refused");
    expect(message).not.toContain("the secret");
    expect(readdirSync(folder).filter((name) => name.startsWith("leak"))).toEqual([]);
  });

  test("and no error tells where files are", async () => {
    for (const statement of [
      "select * from datasets.both where value::int = 1",
      "select error(value) from datasets.both",
      "select * from a.b.c.d",
    ])
      expect((await refusalOf(statement)).message).not.toContain(folder);
  });
});

describe("limits", () => {
  test("of time end a statement, also one that cannot be interrupted", async () => {
    expect(await refusalOf("select count(*) from range(100000000000)", { timeoutMs: 300 })).toEqual({
      code: "exhausted",
      message: "the statement took longer than 0.3 s, and was stopped",
    });
    const bomb = "with recursive w(i) as (select 1 union all select i + 1 from w) select max(i) from w";
    expect((await refusalOf(bomb, { timeoutMs: 300 })).code).toBe("exhausted");
  });

  test("of memory end a statement and nothing else", async () => {
    for (const statement of [
      "select count(*) from (select distinct repeat(i::varchar, 1000) from range(2000000) t(i))",
      "select list_sum(list_transform(range(400000000), lambda x: x + 1))",
    ]) {
      const { code, message } = await refusalOf(statement);
      expect([code, message]).toEqual(["exhausted", "the statement needs more memory than it may have (512 MiB)"]);
    }
    expect((await ask("select 1")).values).toEqual([[1]]);
  });

  test("of bytes end an answer that grows", async () => {
    const { code, message } = await refusalOf("select md5(i::varchar) || md5((i + 1)::varchar) from range(2000000) t(i)", {
      rows: 2_000_000,
      bytes: 3_000_000,
    });
    expect([code, message]).toEqual(["exhausted", "the answer is larger than 2 MiB; ask for fewer columns or rows"]);
    expect(existsSync(target)).toBe(false);
  });

  test("of length refuse a statement", async () => {
    expect((await refusalOf(`select '${"x".repeat(300_000)}'`)).message).toBe("the statement is longer than 256 KiB");
  });
});

test("a caller that goes away ends the process, and nothing stays", async () => {
  const leave = new AbortController();
  const before = started.length;
  const work = refusalOf("select count(*) from range(1000000000) a, range(1000000) b", {}, leave.signal);
  await eventually(() => started.length > before, "the process started");
  leave.abort(new Error("gone"));
  expect((await work).message).toBe("gone");
  await eventually(() => !isAlive(started.at(-1) as number), "the process ended");
  expect(readdirSync(join(folder, "engine", "tmp"))).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
});

test("what a function of tables rejects with is what the statement is rejected with", async () => {
  const reason = new Error("no such table here");
  const asked = engine.select("select 1 from a.b", () => Promise.reject(reason), target, { limits: ROOM, signal: never });
  expect(await asked.catch((error: unknown) => error)).toBe(reason);
});

test("a column of a type with parts is read as it is", async () => {
  const { columns, values } = await ask("select [1, null, 3] as l, {'a': 'x', 'b': [true]} as s");
  expect(columns.map(({ dtype }) => typeName(dtype))).toEqual(["list[int]", "struct"]);
  expect(values).toEqual([[[1, null, 3], { a: "x", b: [true] }]]);
});
