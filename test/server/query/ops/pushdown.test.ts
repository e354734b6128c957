import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { type Expression, ExpressionSchema, SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { fromProtoValue, toProtoValue } from "../../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { TestOperator } from "../../../../src/server/expressions/row-test.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { type ColumnType, comparisonSql } from "../../../../src/server/sql/condition.ts";
import { createSqlSources } from "../../../../src/server/sql/create-sources.ts";
import { SqlError, type SqlSources } from "../../../../src/server/sql/source.ts";
import { lacksClickhouse } from "../../../harness/clickhouse.ts";
import { lacksMariadb, startMariadb, type TestMariadb } from "../../../harness/mariadb.ts";
import { lacksPostgres, startPostgres, type TestPostgres } from "../../../harness/postgres.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { SOURCES } from "../../sql/drivers.ts";
import { agg, featureClass, fn, graph, lit, primitive, python, queryNow, ref, sql, windowStart } from "../graphs.ts";
import { ask, MemorySource, World } from "../worlds.ts";

const NOW = Date.parse("2024-05-01T12:00:00Z");
const iso = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString().replace("Z", "000Z");

/** Values that filters are compared with, and rows have. */
const POOLS = {
  i: [-1, 0, 1, 5, 10, 9007199254740993n, -(2n ** 63n)],
  plain: [-1, 0, 7, 9],
  f: [-1.5, 0, 0.1, 0.3, 10, 1e300],
  n: [-2.5, 0.1, 0.3, 1.005, 10],
  b: [true, false],
  s: ["", "a", "A", "á", "a ", "b", "😀", "Ａ", "10", "9"],
  d: ["2023-12-31", "2024-01-01", "2024-01-02"],
  t: [-3_000, -60, -1, 0, 1, 60].map(iso),
  at: [-3_000, -60, -1, 0, 1].map(iso),
} satisfies Readonly<Record<string, readonly FeatureValue[]>>;
type Name = keyof typeof POOLS;
const TYPES = { i: "int", plain: "int", f: "float", n: "float", b: "bool", s: "str", d: "date", t: "datetime", at: "datetime" } as const;
const NAMES = Object.keys(POOLS) as Name[];

const literal = (name: Name, value: FeatureValue): Expression =>
  create(ExpressionSchema, { node: { case: "literal", value: toProtoValue(value, primitive(TYPES[name])) } });
const listed = (values: readonly FeatureValue[], name: Name): Expression => {
  const list = toProtoValue([]);
  if (list.kind.case === "listValue") list.kind.value.values = values.map((value) => toProtoValue(value, primitive(TYPES[name])));
  return create(ExpressionSchema, { node: { case: "literal", value: list } });
};

const name = fc.constantFrom(...NAMES);
const operator = fc.constantFrom("eq", "ne", "lt", "le", "gt", "ge");
const compared: fc.Arbitrary<Expression> = fc
  .record({ name, operator, at: fc.nat(), other: fc.nat(), shape: fc.nat({ max: 11 }) })
  .map(({ name, operator, at, other, shape }) => {
    const pool: readonly FeatureValue[] = POOLS[name];
    const value = literal(name, pool[at % pool.length] as FeatureValue);
    const second = literal(name, pool[other % pool.length] as FeatureValue);
    const isTime = name === "t" || name === "at";
    const isOrdered = name !== "b";
    const sign = isOrdered ? operator : operator === "ne" ? "ne" : "eq";
    if (shape === 0 && name === "b") return ref(name);
    if (shape === 1)
      return fn(
        "is_in",
        name,
        listed(
          pool.filter((_, index) => (at >> index) % 2 === 0),
          name,
        ),
      );
    if (shape === 2 && isOrdered) return fn("between", name, value, second);
    if (shape === 3) return fn("is_null", name);
    if (shape === 4) return fn(sign, value, name);
    if (shape === 5 && (name === "i" || name === "plain")) return fn(sign, name, lit(0.5));
    if (shape === 6 && name === "f") return fn(sign, fn("mul", name, lit(2)), lit(1));
    if (isTime && shape < 9) return fn(sign, name, shape % 2 === 0 ? queryNow : windowStart);
    return fn(sign, name, value);
  });
const filter: fc.Arbitrary<Expression> = fc.letrec<{ node: Expression }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    compared,
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => fn("and", a, b)),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => fn("or", a, b)),
    tie("node").map((a) => fn("not", a)),
  ),
})).node;

interface Row {
  readonly id: number;
  readonly user: number;
  readonly values: Readonly<Record<Name, FeatureValue>>;
}

/** Rows with every combination that a fixed sequence of choices gives. */
const ROWS: readonly Row[] = Array.from({ length: 90 }, (_, id) => {
  let state = id * 7919 + 13;
  const next = (count: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * count);
  };
  const values = Object.fromEntries(
    NAMES.map((one) => {
      const pool: readonly FeatureValue[] = POOLS[one];
      const at = next(one === "at" ? pool.length : pool.length + 1);
      return [one, pool[at] ?? null];
    }),
  ) as Row["values"];
  return { id, user: next(3) + 1, values };
});

/**
 * Users with items; the filter stands in aggregations, in windows, and in a resolver's parameter.
 */
function world(sources: SqlSources, filters: readonly Expression[]): World {
  const [first, second, third] = filters as [Expression, Expression, Expression];
  const hour = [fn("gt", "at", windowStart), fn("le", "at", queryNow)];
  const windowed = (seconds: number) => ({
    type: "int" as const,
    window: `${seconds}s`,
    expression: agg("count", "items", undefined, third, ...hour),
  });
  const withWindow = windowed(3600);
  const made = graph(
    [
      featureClass("item", {
        id: "int",
        user_id: "int",
        ...Object.fromEntries(NAMES.map((one) => [one, `${TYPES[one]}?` as const])),
        plain: { type: "int", default: 7 },
        at: { type: "datetime", time: true },
      }),
      featureClass("user", {
        id: "int",
        items: { many: "item", on: [["id", "user_id"]] },
        both: {
          type: "float?",
          window: "60s",
          expression: fn("add", agg("sum", "items", "id", first), agg("count", "items", undefined, second)),
        },
        only__3600__: withWindow,
        only__7200000__: windowed(7_200_000),
        told: "str",
      }),
      featureClass("alone", {
        id: "int",
        items: { many: "item", on: [["id", "user_id"]] },
        told: "str",
      }),
    ],
    [
      sql("items", `select * from items -- all of them`, {
        "item.id": "id",
        "item.user_id": "user_id",
        ...Object.fromEntries(NAMES.map((one) => [`item.${one}`, one])),
      }),
      ...["user", "alone"].map((root) =>
        python(
          `m.${root}`,
          [{ rows: `${root}.items`, columns: ["item.id"], filters: withoutWindow(first) ? [first] : [] }],
          [`${root}.told`],
        ),
      ),
    ],
  );
  const told = ([rows]: readonly FeatureValue[]) =>
    (rows as unknown as readonly Record<string, number>[]).map((row) => row["item.id"]).join(" ");
  return new World(made, { sources: [sources.get("db")], python: { "m.user": told, "m.alone": told } });
}

function withoutWindow(filter: Expression): boolean {
  return !JSON.stringify(filter, (_, value) => (typeof value === "bigint" ? String(value) : value)).includes("windowStart");
}

type Truth = boolean | null;

/**
 * What an expression is for a row, by the rules of three-valued logic, written once more: null is
 * unknown, and NaN is unlike everything.
 */
function meaningOf(expression: Expression, row: Row, windowSeconds: number): FeatureValue {
  const { node } = expression;
  const time = (secondsAgo: number) => iso(-secondsAgo / 60);
  switch (node.case) {
    case "literal":
      return fromProtoValue(node.value);
    case "feature": {
      const value = row.values[node.value.path[0] as Name];
      return value === null && node.value.path[0] === "plain" ? 7 : value;
    }
    case "queryNow":
      return time(0);
    case "windowStart":
      return time(windowSeconds);
    case "call": {
      const values = node.value.arguments.map((argument) => meaningOf(argument, row, windowSeconds));
      return callOf(node.value.function, values);
    }
    default:
      throw new Error(`no rule for ${node.case}`);
  }
}

function callOf(name: string, values: readonly FeatureValue[]): FeatureValue {
  const [a = null, b = null, c = null] = values;
  const truths = values as readonly Truth[];
  switch (name) {
    case "and":
      return truths.includes(false) ? false : truths.includes(null) ? null : true;
    case "or":
      return truths.includes(true) ? true : truths.includes(null) ? null : false;
    case "not":
      return a === null ? null : a !== true;
    case "is_null":
      return a === null;
    case "is_in":
      return a === null ? null : (b as FeatureValue[]).some((item) => order(a, item) === 0);
    case "between":
      return callOf("and", [callOf("ge", [a, b]), callOf("le", [a, c])]);
    case "mul":
      return a === null ? null : Number(a) * Number(b);
    default: {
      if (a === null || b === null) return null;
      const found = order(a, b);
      if (name === "ne") return found !== 0;
      if (found === undefined) return false;
      return { eq: found === 0, lt: found < 0, le: found <= 0, gt: found > 0, ge: found >= 0 }[name] ?? null;
    }
  }
}

/**
 * Negative, zero or positive; undefined when there is no order. Text is in the order of its bytes
 * in UTF-8, which is that of code points.
 */
function order(a: FeatureValue, b: FeatureValue): number | undefined {
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  const [x, y] = [a as number | bigint, b as number | bigint];
  return x < y ? -1 : x > y ? 1 : Number.isNaN(x) || Number.isNaN(y) ? undefined : 0;
}

/** What the rows of a user come to, by a loop over them. */
function expectedOf(user: number, [first, second, third]: readonly Expression[], rows: readonly Row[]): Record<string, FeatureValue> {
  const isSeen = ({ values: { at } }: Row) => at === null || at <= iso(0);
  const own = rows.filter((row) => row.user === user && isSeen(row));
  const passing = (filter: Expression, windowSeconds = 0) => own.filter((row) => meaningOf(filter, row, windowSeconds) === true);
  const within = (seconds: number) =>
    passing(third as Expression, seconds).filter(({ values: { at } }) => at !== null && at > iso(-seconds / 60) && at <= iso(0)).length;
  const isTold = withoutWindow(first as Expression);
  const told = (isTold ? passing(first as Expression) : own).map(({ id }) => id).join(" ");
  return {
    "user.both": passing(first as Expression, 60).reduce((sum, { id }) => sum + id, 0) + passing(second as Expression, 60).length,
    "user.only__3600__": within(3_600),
    "user.only__7200000__": within(7_200_000),
    "user.told": told,
    "alone.told": told,
  };
}

/**
 * Asks with the database filtering and without, for one user and for all, and compares with the
 * rows; gives whether the database was asked to.
 */
async function compare(sources: SqlSources, filters: readonly Expression[], rows: readonly Row[]): Promise<boolean> {
  const one = world(sources, filters);
  one.now = NOW;
  let pushed = false;
  const users = [1, 2, 3, 4];
  const expected = users.map((user) => expectedOf(user, filters, rows));
  const inOrder = (value: FeatureValue) =>
    typeof value === "string"
      ? value
          .split(" ")
          .sort((a, b) => Number(a) - Number(b))
          .join(" ")
      : value;
  for (const [root, outputs] of [
    ["user", ["user.both", "user.only", "user.told"]],
    ["alone", ["alone.told"]],
  ] as const) {
    for (const disabled of ["false", "true"]) {
      const more = { plannerOptions: { disable_pushdown: disabled }, explain: disabled === "false" };
      const bulk = await one.engine.answerBulk(
        one.deployment,
        { request: ask({}, outputs, more), columns: [bulkColumn(`${root}.id`, users)] },
        one.now,
      );
      expect(bulk.failures).toEqual([]);
      pushed ||= bulk.explanation.includes("asked of the database");
      for (const { path, values } of bulk.columns)
        expect([path, ...values.map(inOrder)]).toEqual([path, ...expected.map((each) => each[path] as FeatureValue)]);
      const alone = await one.ask({ [`${root}.id`]: 2 }, outputs, more);
      for (const { path, value } of alone.fields) expect([path, inOrder(value)]).toEqual([path, expected[1]?.[path] as FeatureValue]);
    }
  }
  return pushed;
}

async function differential(sources: SqlSources, runs: number, rows: readonly Row[] = ROWS): Promise<void> {
  let pushed = 0;
  await fc.assert(
    fc.asyncProperty(filter, filter, filter, async (...filters) => {
      if (await compare(sources, filters, rows)) pushed++;
    }),
    seeded(runs, 20_000),
  );
  console.log(`pushdown: ${pushed} of ${runs} worlds had a filter pushed`);
  expect(pushed).toBeGreaterThan(runs / 4);
}

const RUNS = Number(Bun.env.RUNS ?? 120);
const quoted = (value: FeatureValue) => (typeof value === "string" ? `'${value}'` : String(value));

/** Columns of the fakes, which have only these types. */
const COLUMNS_OF_FAKES = `id bigint, user_id bigint, i bigint, plain bigint, f double precision, n double precision, b varchar(40), s varchar(40),
  d varchar(40), t varchar(40), at varchar(40)`;

/** A value of an instant as a database without letters in it reads it. */
const timed = (name: Name, value: FeatureValue) =>
  name === "t" || name === "at" ? value && String(value).replace("T", " ").replace("Z", "") : value;

/** Filters that the fakes are asked, which have few types. */
const FIXED: readonly (readonly Expression[])[] = [
  [fn("ge", "i", literal("i", 5)), fn("lt", "f", literal("f", 0.3)), fn("eq", "s", literal("s", "a"))],
  [fn("is_in", "s", listed(["a", "10"], "s")), fn("eq", "f", literal("f", 10)), fn("ne", "i", literal("i", 1))],
  [fn("between", "f", literal("f", -1.5), literal("f", 0.1)), fn("gt", "plain", literal("plain", 0)), fn("le", "f", literal("f", 1e300))],
];

/** Tables of other databases: their columns, and how a value is written. */
const WAREHOUSES: readonly {
  readonly name: string;
  readonly isAbsent: boolean;
  readonly types: string;
  readonly written: (name: Name, value: FeatureValue) => string;
}[] = [
  {
    name: "ClickHouse",
    isAbsent: lacksClickhouse(),
    types: `id Int32, user_id Int64, i Nullable(Int64), plain Nullable(Int16), f Nullable(Float64), n Nullable(Decimal(20, 6)), b Nullable(Bool),
      s Nullable(String), d Nullable(Date32), t Nullable(DateTime64(6, 'UTC')), at Nullable(DateTime('UTC'))`,
    written: (name, value) => quoted(name === "at" ? value && String(timed(name, value)).slice(0, 19) : timed(name, value)),
  },
  {
    name: "DuckDB",
    isAbsent: false,
    types:
      'id integer, user_id bigint, i bigint, plain smallint, f double, n decimal(20, 6), b boolean, s varchar, d date, t timestamptz, "at" timestamp',
    written: (_, value) => quoted(value),
  },
  {
    name: "Snowflake (a fake)",
    isAbsent: false,
    types: COLUMNS_OF_FAKES,
    written: (name, value) => (name === "b" && value !== null ? `'${value}'` : quoted(value)),
  },
  {
    name: "BigQuery (a fake)",
    isAbsent: false,
    types: COLUMNS_OF_FAKES,
    written: (name, value) => (name === "b" && value !== null ? `'${value}'` : quoted(value)),
  },
];

describe("filters in the database leave out no row that the filter lets through", () => {
  const folder = new TempFolder();
  afterAll(() => folder[Symbol.dispose]());

  test("SQLite, whatever is in a column", async () => {
    const db = new Database(join(folder.path, "items.db"));
    db.run(
      `create table items (id integer primary key, user_id integer, ${NAMES.map((one) => `${one} ${one === "f" ? "" : one === "n" ? "real" : ""}`).join(", ")})`,
    );
    for (const { id, user, values } of ROWS) {
      const odd = id % 4;
      const written = NAMES.map((one): string => {
        const value = values[one];
        if (value === null) return "null";
        if (odd === 1 && typeof value === "number") return `'${value}'`;
        if (odd === 2 && (one === "i" || one === "f")) return Number.isSafeInteger(value) ? `${value}.0` : String(value);
        if (odd === 1 && (one === "t" || one === "at")) return `'${String(value).slice(0, 19)}+00:00'`;
        if (odd === 2 && (one === "t" || one === "at")) return `'${shifted(String(value), 23)}+23:00'`;
        if (odd === 3 && (one === "t" || one === "at"))
          return `'${id % 8 === 3 ? " " : ""}${shifted(String(value), -14).replace("T", " ")} -14'`;
        return quoted(value);
      });
      db.run(`insert into items values (${id}, ${user}, ${written.join(", ")})`);
    }
    db.close();
    const sources = createSqlSources({ declared: [], env: { DB_SQLITE_PATH: join(folder.path, "items.db") } });
    await differential(sources, RUNS);
    await sources.close();
  }, 300_000);

  test.skipIf(lacksPostgres())(
    "PostgreSQL",
    async () => {
      const server: TestPostgres = await startPostgres();
      try {
        const { host, port, user, password, database } = server;
        const admin = new Bun.SQL({ adapter: "postgres", hostname: host, port, username: user, password, database, max: 1 });
        await admin.unsafe(
          "create table items (id int4, user_id int8, i int8, plain int2, f float8, n numeric, b boolean, s text, d date, t timestamptz, at timestamp)",
        );
        for (const { id, user: owner, values } of ROWS)
          await admin.unsafe(
            `insert into items values (${id}, ${owner}, ${NAMES.map((one) => (one === "f" && id % 9 === 0 ? "'NaN'" : quoted(values[one]))).join(", ")})`,
          );
        await admin.close();
        const env = { DB_PGHOST: host, DB_PGPORT: String(port), DB_PGUSER: user, DB_PGPASSWORD: password, DB_PGDATABASE: database };
        const sources = createSqlSources({ declared: [], env });
        const rows = ROWS.map((row) => (row.id % 9 === 0 ? { ...row, values: { ...row.values, f: Number.NaN } } : row));
        await differential(sources, RUNS, rows);
        await sources.close();
      } finally {
        await server.stop();
      }
    },
    300_000,
  );

  test.skipIf(lacksMariadb())(
    "MariaDB, whose text is compared without case",
    async () => {
      const server: TestMariadb = await startMariadb();
      try {
        const { host, port, user, password, database } = server;
        const admin = new Bun.SQL({ adapter: "mariadb", hostname: host, port, username: user, password, database, max: 1 });
        await admin.unsafe(
          `create table items (id int, user_id bigint, i bigint, plain smallint, f double, n decimal(20, 6), b tinyint(1), s varchar(20), d date, t datetime(6),
          at datetime(3)) character set utf8mb4`,
        );
        for (const { id, user: owner, values } of ROWS)
          await admin.unsafe(
            `insert into items values (${id}, ${owner}, ${NAMES.map((one) => quoted(one === "t" || one === "at" ? values[one] && String(values[one]).replace("T", " ").replace("Z", "") : values[one])).join(", ")})`,
          );
        await admin.close();
        const env = {
          DB_MYSQL_HOST: host,
          DB_MYSQL_PORT: String(port),
          DB_MYSQL_USER: user,
          DB_MYSQL_PASSWORD: password,
          DB_MYSQL_DATABASE: database,
        };
        const sources = createSqlSources({ declared: [], env });
        await differential(sources, RUNS);
        await sources.close();
      } finally {
        await server.stop();
      }
    },
    300_000,
  );
});

describe("filters in a database over HTTP, or in files of DuckDB, leave out none either", () => {
  for (const { name, types, isAbsent, written } of WAREHOUSES)
    test.skipIf(isAbsent)(
      name,
      async () => {
        const kind = SOURCES.find((one) => one.name === name);
        if (!kind) throw new Error(`no kind of source is called ${name}`);
        const started = await kind.start();
        const source = started.open({});
        try {
          await started.run(`create table items (${types})${name === "ClickHouse" ? " engine = MergeTree order by id" : ""}`);
          const rows = ROWS.map(({ id, user, values }) => `(${id}, ${user}, ${NAMES.map((one) => written(one, values[one])).join(", ")})`);
          await started.run(`insert into items values ${rows.join(", ")}`);
          const sources: SqlSources = { get: () => source, list: () => [], close: async () => {} };
          if (name.includes("fake")) for (const filters of FIXED) expect(await compare(sources, filters, ROWS)).toBe(true);
          else await differential(sources, RUNS / 4);
        } finally {
          await source.close();
          await started.stop();
        }
      },
      300_000,
    );
});

test("dates and instants are compared as each database reads them", () => {
  const written = (kind: SourceKind, feature: PrimitiveType, type: ColumnType, operator: TestOperator, text: string) => {
    const values: FeatureValue[] = [];
    const column = { column: "c", type, feature, nullable: true, operator, values: [text] };
    const sql = comparisonSql(kind, column, (value) => `?${values.push(value)}`);
    return [sql, ...values];
  };
  const { DATE, DATETIME, STRING } = PrimitiveType;
  const noon = "2024-05-01T12:00:00.000000Z";
  const { BIGQUERY, CLICKHOUSE, DUCKDB, SNOWFLAKE } = SourceKind;
  expect(written(SNOWFLAKE, DATETIME, "timestamp", "le", noon)).toEqual(["c <= cast(?1 as timestamp_ntz)", "2024-05-01 12:00:00.000001"]);
  expect(written(SNOWFLAKE, DATETIME, "timestamptz", "gt", noon)).toEqual([
    "c >= cast(?1 as timestamp_tz)",
    "2024-05-01 11:59:59.999999 +00:00",
  ]);
  expect(written(SNOWFLAKE, DATETIME, "timestamp", "ne", noon)).toEqual([undefined]);
  expect(written(BIGQUERY, DATETIME, "timestamp", "lt", noon)).toEqual(["c < cast(?1 as datetime)", "2024-05-01 12:00:00.000000"]);
  expect(written(BIGQUERY, DATETIME, "timestamptz", "lt", noon)).toEqual(["c < cast(?1 as timestamp)", "2024-05-01 12:00:00.000000+00:00"]);
  expect(written(BIGQUERY, DATE, "date", "eq", "2024-05-01")).toEqual(["c = cast(?1 as date)", "2024-05-01"]);
  expect(written(SNOWFLAKE, DATE, "date", "eq", "0900-05-01")).toEqual([undefined]);
  expect(written(DUCKDB, DATE, "date", "eq", "0900-05-01")).toEqual(["c = try_cast(?1 as date)", "0900-05-01"]);
  expect(written(CLICKHOUSE, STRING, "text", "eq", noon)).toEqual([undefined]);
  expect(written(DUCKDB, STRING, "text", "ne", "a")).toEqual([undefined]);
});

describe("what a database is asked", () => {
  const TABLE = `create table txns (id integer, user_id integer, amount real, kind text, at text);
    insert into txns values (1, 1, 5, 'a', '2024-05-01T11:59:30Z'), (2, 1, 50, 'b', '2024-05-01T11:00:00Z'), (3, 2, 500, 'a', '2024-04-01T00:00:00Z')`;
  const kindIs = (value: string) => fn("eq", "kind", lit(value));

  function txns(
    more: Parameters<typeof featureClass>[1] = {},
    resolvers: Parameters<typeof graph>[1] = [],
  ): World & { source: MemorySource } {
    const source = new MemorySource("db", TABLE);
    const window = (seconds: number) => ({
      type: "int" as const,
      window: `${seconds}s`,
      expression: agg("count", "txns", undefined, fn("gt", "at", windowStart), fn("le", "at", queryNow)),
    });
    const made = graph(
      [
        featureClass("txn", {
          id: "int",
          user_id: "int",
          amount: "float",
          kind: "str?",
          at: "datetime",
          double: { type: "float", expression: fn("mul", "amount", lit(2)) },
        }),
        featureClass("user", {
          id: "int",
          txns: { many: "txn", on: [["id", "user_id"]] },
          again: { many: "txn", on: [["id", "user_id"]] },
          cached: { many: "txn", on: [["id", "user_id"]], stale: "1h" },
          big: { type: "int", expression: agg("count", "txns", undefined, fn("gt", "amount", lit(10))) },
          a: { type: "float", expression: agg("sum", "txns", "amount", kindIs("a")) },
          doubled: { type: "int", expression: agg("count", "txns", undefined, fn("gt", "double", lit(20)), fn("gt", "amount", lit(1))) },
          later: { type: "int", expression: agg("count", "txns", undefined, fn("gt", "kind", lit("a")), fn("gt", "amount", lit(10))) },
          total: { type: "float", expression: agg("sum", "txns", "amount") },
          twice: { type: "float", expression: agg("sum", "again", "amount") },
          kept: { type: "int", expression: agg("count", "cached", undefined, fn("gt", "amount", lit(10))) },
          seen__60__: window(60),
          seen__600__: window(600),
          told: "int",
          ...more,
        }),
      ],
      [
        sql("txns", "select id, user_id, amount, kind, at from txns", {
          "txn.id": "id",
          "txn.user_id": "user_id",
          "txn.amount": "amount",
          "txn.kind": "kind",
          "txn.at": "at",
        }),
        python("m.told", [{ rows: "user.txns", columns: ["txn.id"], filters: [fn("gt", "amount", lit(10))] }], ["user.told"]),
        ...resolvers,
      ],
    );
    const one = new World(made, { sources: [source], python: { "m.told": ([rows]) => (rows as unknown as readonly unknown[]).length } });
    return Object.assign(one, { source });
  }

  const condition = (one: { source: MemorySource }) => (one.source.statements.at(-1)?.text ?? "").split(" = ?1")[1];

  test("the filter of an aggregation or of a resolver's parameter, bound, and said in the explanation", async () => {
    for (const [output, expected] of [
      ["user.big", 1],
      ["user.told", 1],
    ] as const) {
      const one = txns();
      const answer = await one.ask({ "user.id": 1 }, [output], { explain: true });
      expect(answer.fields[0]?.value).toBe(expected);
      expect(condition(one)).toBe(` and (typeof(q."amount") not in ('real') or q."amount" > ?2)`);
      expect(one.source.statements.at(-1)?.parameters).toEqual([1, 10]);
      expect(answer.explanation).toContain("asked of the database: amount > 10");
    }
  });

  test("the part of it that is about columns", async () => {
    const one = txns();
    expect(await one.values({ "user.id": 1 }, ["user.doubled"])).toEqual({ "user.doubled": 1 });
    expect(condition(one)).toBe(` and (typeof(q."amount") not in ('real') or q."amount" > ?2)`);
  });

  test("what any of several may want; the longest of several windows; nothing when somebody wants all", async () => {
    const one = txns();
    expect(await one.values({ "user.id": 1 }, ["user.big", "user.a"])).toEqual({ "user.big": 1, "user.a": 5 });
    expect(condition(one)).toContain(" or (typeof(q.\"kind\") not in ('text', 'null') or q.\"kind\" collate binary = ?3))");
    const answer = await one.ask({ "user.id": 1 }, ["user.seen"], { explain: true });
    expect(answer.fields.map(({ value }) => value)).toEqual([1, 1]);
    expect(answer.explanation).toContain("asked of the database: at > now - 600s and at <= now");
    expect(await one.values({ "user.id": 1 }, ["user.big", "user.total"])).toEqual({ "user.big": 1, "user.total": 55 });
    expect(condition(one)).toBe("");
    expect(await one.values({ "user.id": 1 }, ["user.big", "user.txns.id"])).toEqual({ "user.big": 1, "user.txns.id": [1, 2] });
    expect(condition(one)).toBe("");
  });

  test("what each of several may want, without the parts that cannot be asked", async () => {
    const one = txns();
    const answer = await one.ask({ "user.id": 1 }, ["user.later", "user.a"], { explain: true });
    expect(answer.fields.map(({ value }) => value)).toEqual([1, 5]);
    expect(answer.explanation).toContain('asked of the database: amount > 10 or kind = "a"');
  });

  test("everything when rows are cached, or when the query says so", async () => {
    const one = txns();
    expect(await one.values({ "user.id": 1 }, ["user.kept"])).toEqual({ "user.kept": 1 });
    expect(condition(one)).toBe("");
    const off = await one.ask({ "user.id": 1 }, ["user.big"], { explain: true, plannerOptions: { disable_pushdown: "true" } });
    expect(off.fields[0]?.value).toBe(1);
    expect(off.explanation).not.toContain("asked of the database");
    expect(condition(one)).toBe("");
  });

  test("without the condition when the database refuses it", async () => {
    const one = txns();
    const query = one.source.query.bind(one.source);
    one.source.query = async (statement, parameters) => {
      if (statement.includes("typeof")) throw new SqlError("no function typeof here");
      return query(statement, parameters);
    };
    const answer = await one.ask({ "user.id": 1 }, ["user.big"], { explain: true });
    expect(answer.fields[0]?.value).toBe(1);
    expect(answer.explanation).not.toContain("asked of the database");
  });

  test("once, when two relations ask the same", async () => {
    const one = txns();
    expect(await one.values({ "user.id": 1 }, ["user.total", "user.twice"])).toEqual({ "user.total": 55, "user.twice": 55 });
    expect(one.source.statements).toHaveLength(1);
    await one.ask({ "user.id": 1 }, ["user.total"]);
    expect(one.source.statements).toHaveLength(2);
  });

  test("again by whoever is left when the one that asked first failed", async () => {
    const one = txns();
    const query = one.source.query.bind(one.source);
    let failures = 1;
    one.source.query = async (statement, parameters) => {
      if (failures-- > 0) throw new SqlError("lost");
      return query(statement, parameters);
    };
    const answer = await one.ask({ "user.id": 1 }, ["user.total", "user.twice"]);
    expect(answer.fields.map(({ value, failure }) => value ?? failure?.code)).toEqual([ErrorCode.UPSTREAM_FAILED, 55]);
  });
});

function shifted(text: string, hours: number): string {
  return new Date(Date.parse(text) + hours * 3_600_000).toISOString().slice(0, 19);
}
