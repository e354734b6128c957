/**
 * Keys of SQL rows: whatever a database takes for equal, the rows of a key are those whose own key
 * has the same value. The oracle is a loop over the rows that were written; databases, collations
 * and ways to ask are compared with it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { toProtoValue } from "../../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { Answer } from "../../../../src/server/query/answer/answer.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { SqlError, type SqlSource } from "../../../../src/server/sql/source.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore } from "../../../../src/server/stores/online/store.ts";
import { type DatabaseKind, databasePrograms, type TestDatabase } from "../databases.ts";
import { agg, featureClass, fn, graph, lit, sql, type TypeSpec } from "../graphs.ts";
import { ask, MemorySource, World } from "../worlds.ts";

const seed = Number(Bun.env.SEED ?? 20_240_501);
console.log(`keys of SQL rows: SEED=${seed}`);

/** A type of keys: the feature's, the columns', what rows hold, what is asked for. */
interface KeyCase {
  readonly name: string;
  readonly feature: TypeSpec;
  readonly columns: Partial<Record<DatabaseKind, string>>;
  readonly stored: readonly FeatureValue[];
  readonly asked: readonly FeatureValue[];
  /** The rule: whether a row that holds one value is a row of the other. */
  readonly same: (stored: FeatureValue, asked: FeatureValue, kind: DatabaseKind) => boolean;
  /** Whether the database cannot be asked for a key. */
  readonly refused?: (asked: FeatureValue, kind: DatabaseKind) => boolean;
  /** Whether the database takes a value that is none of the feature's type for equal to a key. */
  readonly foreign?: (stored: FeatureValue, asked: FeatureValue, kind: DatabaseKind) => boolean;
}

const exact = (stored: FeatureValue, asked: FeatureValue) => stored === asked;
const byNumber = (stored: FeatureValue, asked: FeatureValue) => Number(stored) === Number(asked);
const hex = (text: FeatureValue) => String(text).toLowerCase().replaceAll("-", "").replaceAll("{", "").replaceAll("}", "");
const WORDS = ["a", "A", "á", "e", "é", "e\u0301", "x", "x ", " x", "", "b", "ß", "ss", "I", "ı", "İ"];
const ASKED_WORDS = [...WORDS, "X", "E", "SS", "x  ", "a ", "😀", "i"];
const ID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const OTHER_ID = "b1eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const BIG = 2n ** 53n;

const mood = create(DataTypeSchema, {
  kind: {
    case: "enum",
    value: {
      name: "Mood",
      base: PrimitiveType.STRING,
      members: ["sad", "Sad", "glad", "new"].map((value) => ({ name: value, value: toProtoValue(value) })),
    },
  },
});

const CASES: readonly KeyCase[] = [
  {
    name: "int",
    feature: "int",
    columns: { sqlite: "integer", postgres: "int", mariadb: "int" },
    stored: [0, 1, 2, -5, 2147483647],
    asked: [0, 1, 3, -5, 2147483647, 3000000000, BIG + 1n],
    same: exact,
  },
  {
    name: "bigint",
    feature: "int",
    columns: { sqlite: "integer", postgres: "bigint", mariadb: "bigint" },
    stored: [1, BIG, BIG + 1n, 2n ** 63n - 1n, -(2n ** 63n)],
    asked: [1, BIG - 1n, BIG, BIG + 1n, BIG + 2n, 2n ** 63n - 1n, -(2n ** 63n)],
    same: (stored, asked) => BigInt(stored as bigint) === BigInt(asked as bigint),
  },
  {
    name: "decimal as int",
    feature: "int",
    columns: { sqlite: "numeric", postgres: "numeric(20, 2)", mariadb: "decimal(20, 2)" },
    stored: [1, 2.5, -3, 40],
    asked: [1, 2, 3, -3, 40, BIG + 1n],
    same: byNumber,
  },
  {
    name: "decimal",
    feature: "decimal",
    columns: { sqlite: "numeric", postgres: "numeric(12, 2)", mariadb: "decimal(12, 2)" },
    stored: [1, 2.5, -3, 40, 0],
    asked: ["1", "1.0", "1.00", "2.5", "2.50", "-3.0", "3", "40", "4e1", "0", "-0.00"],
    same: byNumber,
  },
  {
    name: "float",
    feature: "float",
    columns: { sqlite: "real", postgres: "float8", mariadb: "double" },
    stored: [0, 1, 1.5, 0.1, -2.25, 1e300],
    asked: [0, -0, 1, 0.1, 0.3, -2.25, 1e300],
    same: byNumber,
  },
  {
    name: "single float",
    feature: "float",
    columns: { postgres: "real", mariadb: "float" },
    stored: [0.5, 0.1, 3],
    asked: [0.5, 0.1, Math.fround(0.1), 3],
    same: (stored, asked) => Math.fround(stored as number) === asked,
  },
  {
    name: "bool",
    feature: "bool",
    columns: { sqlite: "integer", postgres: "boolean", mariadb: "tinyint(1)" },
    stored: [true, false],
    asked: [true, false],
    same: exact,
  },
  {
    name: "char(n)",
    feature: "str",
    columns: { sqlite: "char(5)", postgres: "char(5)", mariadb: "char(5)" },
    stored: ["ab", "us", "us2", "x", ""],
    asked: ["ab", "AB", "ab ", "ab   ", " ab", "us", "us2", "x", "X", ""],
    same: exact,
  },
  {
    name: "varchar of the default collation",
    feature: "str",
    columns: { sqlite: "text", postgres: "varchar(10)", mariadb: "varchar(10)" },
    stored: WORDS,
    asked: ASKED_WORDS,
    same: exact,
  },
  {
    name: "text without case or accents",
    feature: "str",
    columns: { sqlite: "text collate nocase", postgres: "text collate without_case", mariadb: "varchar(10) collate utf8mb4_unicode_ci" },
    stored: WORDS,
    asked: ASKED_WORDS,
    same: exact,
  },
  {
    name: "text without blanks at the end, or of a text type of its own",
    feature: "str",
    columns: { sqlite: "text collate rtrim", postgres: "citext", mariadb: "varchar(10) collate utf8mb4_bin" },
    stored: WORDS,
    asked: ASKED_WORDS,
    same: exact,
  },
  {
    name: "text of a small character set",
    feature: "str",
    columns: { mariadb: "varchar(10) character set latin1" },
    stored: ["a", "A", "á", "x", "x "],
    asked: ["a", "á", "A", "x", "x ", "😀"],
    same: exact,
    refused: (asked) => asked === "😀",
  },
  {
    name: "uuid",
    feature: "str",
    columns: { sqlite: "text", postgres: "uuid", mariadb: "uuid" },
    stored: [ID, OTHER_ID],
    asked: [ID, ID.toUpperCase(), ID.replaceAll("-", ""), OTHER_ID, "c1eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "zz", ""],
    same: (stored, asked, kind) => (kind === "sqlite" ? stored === asked : hex(stored) === hex(asked)),
    refused: (asked, kind) => kind === "postgres" && (asked === "zz" || asked === ""),
  },
  {
    name: "date",
    feature: "date",
    columns: { sqlite: "text", postgres: "date", mariadb: "date" },
    stored: ["2024-01-01", "2024-02-29", "0001-01-01"],
    asked: ["2024-01-01", "2024-02-29", "2024-03-01", "0001-01-01"],
    same: exact,
  },
  {
    name: "timestamp",
    feature: "datetime",
    columns: { sqlite: "text", postgres: "timestamp", mariadb: "datetime(6)" },
    stored: ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z", "1969-12-31T23:59:59.999999Z"],
    asked: ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z", "2024-01-01T00:00:00.000002Z", "1969-12-31T23:59:59.999999Z"],
    same: exact,
  },
  {
    name: "timestamp with a zone",
    feature: "datetime",
    columns: { postgres: "timestamptz", mariadb: "timestamp(6) null" },
    stored: ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z"],
    asked: ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z", "2024-01-01T00:00:00.000002Z"],
    same: exact,
  },
  {
    name: "bytes",
    feature: "bytes",
    columns: { sqlite: "blob", postgres: "bytea", mariadb: "varbinary(8)" },
    stored: [new Uint8Array([0]), new Uint8Array([0, 255]), new Uint8Array([97]), new Uint8Array([65])],
    asked: [new Uint8Array([0]), new Uint8Array([0, 255]), new Uint8Array([97]), new Uint8Array([98]), new Uint8Array([0, 0])],
    same: (stored, asked) => Buffer.compare(stored as Uint8Array, asked as Uint8Array) === 0,
  },
  {
    name: "enum",
    feature: mood,
    columns: { sqlite: "text collate nocase", postgres: "mood", mariadb: "enum('sad', 'glad')" },
    stored: ["sad", "glad"],
    asked: ["sad", "Sad", "glad", "new"],
    same: exact,
    refused: (asked, kind) => kind === "postgres" && (asked === "new" || asked === "Sad"),
  },
  {
    name: "int as str",
    feature: "str",
    columns: { sqlite: "integer", postgres: "int", mariadb: "int" },
    stored: [1, 7, 12],
    asked: ["1", "01", "7", "7x", "zz", "12", " 7"],
    same: (stored, asked) => String(stored) === asked,
    refused: (asked, kind) => kind === "postgres" && /[a-z]/.test(String(asked)),
  },
  {
    name: "text as int",
    feature: "int",
    columns: { sqlite: "text", mariadb: "varchar(10)" },
    stored: ["abc", "0", "7x", "7", "8", "9.0", " 10"],
    asked: [0, 7, 8, 9, 10],
    same: (stored, asked, kind) => (kind === "sqlite" ? stored === String(asked) : byNumber(stored, asked)),
    foreign: (stored, asked, kind) => kind === "mariadb" && ((stored === "abc" && asked === 0) || (stored === "7x" && asked === 7)),
  },
];

/** A column that holds any value of a feature's type as it is. */
function plainColumn(feature: TypeSpec, kind: DatabaseKind): string {
  const text = { sqlite: "text", postgres: "text", mariadb: "varchar(50) collate utf8mb4_bin" };
  const types: Readonly<Record<string, Readonly<Record<DatabaseKind, string>>>> = {
    int: { sqlite: "integer", postgres: "bigint", mariadb: "bigint" },
    float: { sqlite: "real", postgres: "float8", mariadb: "double" },
    bool: { sqlite: "integer", postgres: "boolean", mariadb: "tinyint" },
    bytes: { sqlite: "blob", postgres: "bytea", mariadb: "blob" },
    date: { sqlite: "text", postgres: "date", mariadb: "date" },
    datetime: { sqlite: "text", postgres: "timestamptz", mariadb: "datetime(6)" },
  };
  return ((typeof feature === "string" && types[feature]) || text)[kind];
}

function literal(value: FeatureValue, kind: DatabaseKind): string {
  if (value instanceof Uint8Array) return kind === "postgres" ? `'\\x${value.toHex()}'::bytea` : `x'${value.toHex()}'`;
  if (typeof value !== "string") return String(value);
  return kind === "mariadb" && /^\d{4}-\d\d-\d\dT/.test(value) ? `'${value.replace("T", " ").replace("Z", "")}'` : `'${value}'`;
}

/** Random choices that are the same for the same seed. */
function choices(from: number): (count: number) => number {
  let state = from % 2 ** 31;
  return (count) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * count);
  };
}

interface Item {
  readonly id: number;
  readonly k: FeatureValue;
  readonly amount: number;
}

/** What a case's tables hold. */
interface Tables {
  readonly items: readonly Item[];
  /** One row for a key; the position is its name. */
  readonly rows: readonly FeatureValue[];
  readonly owners: readonly { readonly id: FeatureValue; readonly group: number }[];
}

const GROUPS = 4;

async function fill(database: TestDatabase, one: KeyCase, prefix: string): Promise<Tables> {
  const { kind } = database;
  const pick = choices(seed + CASES.indexOf(one));
  const items = Array.from({ length: 40 }, (_, id) => ({
    id,
    k: pick(10) === 0 ? null : (one.stored[pick(one.stored.length)] as FeatureValue),
    amount: pick(100),
  }));
  const rows = one.stored.filter(() => pick(4) > 0);
  const owners = one.asked.flatMap((id) => Array.from({ length: 1 + pick(2) }, () => ({ id, group: pick(GROUPS) })));
  const column = one.columns[kind];
  const own = plainColumn(one.feature, kind);
  await database.run(`create table ${prefix}items (id int, k ${column}, amount int)`);
  await database.run(`create table ${prefix}rows (id ${column}, num int)`);
  await database.run(`create table ${prefix}owners (id ${own}, grp int)`);
  const insert = (table: string, values: readonly (readonly FeatureValue[])[]) =>
    values.length === 0
      ? Promise.resolve()
      : database.run(
          `insert into ${prefix}${table} values ${values.map((row) => `(${row.map((value) => literal(value, kind)).join(", ")})`).join(", ")}`,
        );
  await insert(
    "items",
    items.map(({ id, k, amount }) => [id, k, amount]),
  );
  await insert(
    "rows",
    rows.map((id, at) => [id, at]),
  );
  await insert(
    "owners",
    owners.map(({ id, group }) => [id, group]),
  );
  return { items, rows, owners };
}

const FAILED = "failed";
type Expected = Readonly<Record<string, FeatureValue | typeof FAILED>>;

/** What has to be answered for a key: a loop over the rows. */
function expectedOf(one: KeyCase, { items, rows }: Tables, asked: FeatureValue, kind: DatabaseKind): Expected {
  const refused = one.refused?.(asked, kind) === true;
  const isForeign = (stored: FeatureValue) => stored !== null && one.foreign?.(stored, asked, kind) === true;
  const own: Item[] = [];
  for (const item of items) if (item.k !== null && one.same(item.k, asked, kind)) own.push(item);
  let total = 0;
  let big = 0;
  for (const { amount } of own) {
    total += amount;
    if (amount > 50) big++;
  }
  let row: number | null = null;
  for (const [at, stored] of rows.entries()) if (one.same(stored, asked, kind)) row = at;
  const noItems = refused || items.some(({ k }) => isForeign(k));
  const noRow = refused || rows.some(isForeign);
  return {
    total: noItems ? FAILED : total,
    big: noItems ? FAILED : big,
    ids: noItems ? FAILED : own.map(({ id }) => id),
    row: noRow ? FAILED : row,
    label: noRow ? FAILED : row,
  };
}

function groupTotal(one: KeyCase, tables: Tables, group: number, kind: DatabaseKind): FeatureValue | typeof FAILED {
  let total = 0;
  for (const owner of tables.owners.filter((each) => each.group === group)) {
    const own = expectedOf(one, tables, owner.id, kind).total;
    if (own === FAILED) return FAILED;
    total += own as number;
  }
  return total;
}

const OUTPUTS = { total: "owner.total", big: "owner.big", ids: "owner.items.id", row: "owner.row.num", label: "owner.alt.num" } as const;

function worldOf(one: KeyCase, prefix: string, sources: readonly SqlSource[], cached?: OnlineStore): World {
  const { feature } = one;
  const stale = cached ? { stale: "1h" } : {};
  const made = graph(
    [
      featureClass("item", { id: "int", k: feature, amount: "int" }),
      featureClass("row", { id: feature, num: { type: "int?", ...stale } }),
      featureClass("alt", { id: "int", k: feature, num: { type: "int?", ...stale } }),
      featureClass("owner", {
        id: feature,
        grp: "int",
        items: { many: "item", on: [["id", "k"]], ...stale },
        row: { to: "row", on: [["id", "id"]], optional: true },
        alt: { to: "alt", on: [["id", "k"]], optional: true },
        total: { type: "int", expression: agg("sum", "items", "amount") },
        big: { type: "int", expression: agg("count", "items", undefined, fn("gt", "amount", lit(50))) },
      }),
      featureClass("team", {
        id: "int",
        owners: { many: "owner", on: [["id", "grp"]] },
        total: { type: "int", expression: agg("sum", "owners", "total") },
      }),
    ],
    [
      sql("items", `select * from ${prefix}items`, { "item.id": "id", "item.k": "k", "item.amount": "amount" }),
      sql("rows", `select * from ${prefix}rows`, { "row.id": "id", "row.num": "num" }),
      sql("alts", `select num as id, id as k, num from ${prefix}rows`, { "alt.id": "id", "alt.k": "k", "alt.num": "num" }),
      sql("owners", `select * from ${prefix}owners`, { "owner.id": "id", "owner.grp": "grp" }),
    ],
  );
  return new World(made, { sources, ...(cached ? { online: cached } : {}) });
}

function given(answer: Answer, path: string): FeatureValue | typeof FAILED {
  const field = answer.fields.find((each) => each.path === path);
  if (!field) throw new Error(`the answer has no ${path}`);
  return field.failure ? FAILED : field.value;
}

/** Asks for one key. */
async function askOne(world: World, key: FeatureValue): Promise<Expected> {
  const answer = await world.ask({ "owner.id": key }, Object.values(OUTPUTS));
  return Object.fromEntries(Object.entries(OUTPUTS).map(([name, path]) => [name, sorted(given(answer, path))]));
}

/** Asks for many keys at once. */
async function askMany(
  world: World,
  root: string,
  keys: readonly FeatureValue[],
  outputs: Readonly<Record<string, string>>,
): Promise<Expected[]> {
  const bulk = { request: ask({}, Object.values(outputs)), columns: [bulkColumn(`${root}.id`, keys)] };
  const answer = await world.engine.answerBulk(world.deployment, bulk, world.now);
  return keys.map((_, at) =>
    Object.fromEntries(
      Object.entries(outputs).map(([name, path]) => {
        const column = answer.columns.find((each) => each.path === path);
        if (!column) throw new Error(`the answer has no ${path}`);
        const isFailed = answer.failures.some(({ row, feature }) => row === at && `${path}.`.startsWith(`${feature}.`));
        return [name, isFailed ? FAILED : sorted(column.values[at] ?? null)];
      }),
    ),
  );
}

function sorted(value: FeatureValue | typeof FAILED): FeatureValue | typeof FAILED {
  return Array.isArray(value) ? value.toSorted((a, b) => Number(a) - Number(b)) : value;
}

async function compare(database: TestDatabase, one: KeyCase, at: number): Promise<void> {
  const { kind, sources } = database;
  const prefix = `t${at}_`;
  const tables = await fill(database, one, prefix);
  const keys = one.asked.map((asked) => ({ asked, expected: expectedOf(one, tables, asked, kind) }));
  const world = worldOf(one, prefix, [sources.get("db")]);

  for (const { asked, expected } of keys) {
    expect({ asked, ...(await askOne(world, asked)) }).toEqual({ asked, ...expected });
    expect(given(await world.ask({ "row.id": asked }, ["row.num"]), "row.num")).toEqual(expected.row as FeatureValue);
  }
  const all = one.asked;
  expect(await askMany(world, "owner", all, OUTPUTS)).toEqual(keys.map(({ expected }) => expected));
  expect(await askMany(world, "row", all, { row: "row.num" })).toEqual(keys.map(({ expected }) => ({ row: expected.row ?? null })));
  const twice = all.slice(0, 2).flatMap((key) => [key, key]);
  expect((await askMany(world, "owner", twice, OUTPUTS)).length).toBe(twice.length);
  const unfiltered = await world.ask({ "owner.id": all[0] }, ["owner.big"], { plannerOptions: { disable_pushdown: "true" } });
  expect(given(unfiltered, "owner.big")).toEqual(keys[0]?.expected.big as FeatureValue);

  const groups = Array.from({ length: GROUPS }, (_, group) => group);
  const totals = groups.map((group) => groupTotal(one, tables, group, kind));
  for (const group of groups)
    expect(given(await world.ask({ "team.id": group }, ["team.total"]), "team.total")).toEqual(totals[group] as FeatureValue);
  expect(await askMany(world, "team", groups, { total: "team.total" })).toEqual(totals.map((total) => ({ total })));

  await cachedAnswers(one, prefix, keys, sources.get("db"));
}

/** Asks twice: the second time a database that is away shows that the answers are stored ones. */
async function cachedAnswers(
  one: KeyCase,
  prefix: string,
  keys: readonly { readonly asked: FeatureValue; readonly expected: Expected }[],
  source: SqlSource,
): Promise<void> {
  const online = openSqliteOnlineStore(":memory:");
  const first = worldOf(one, prefix, [source], online);
  for (const { asked, expected } of keys) {
    expect({ asked, ...(await askOne(first, asked)) }).toEqual({ asked, ...expected });
    expect({ asked, ...(await askOne(first, asked)) }).toEqual({ asked, ...expected });
  }
  const away: SqlSource = new Proxy(source, {
    get: (target, name) =>
      name === "query"
        ? () => Promise.reject(new SqlError("the database is away"))
        : typeof target[name as keyof SqlSource] === "function"
          ? (target[name as keyof SqlSource] as (...args: never[]) => unknown).bind(target)
          : target[name as keyof SqlSource],
  });
  const later = worldOf(one, prefix, [away], online);
  for (const { asked, expected } of keys) {
    const answer = await later.ask({ "owner.id": asked }, [OUTPUTS.total, OUTPUTS.ids]);
    expect({ asked, total: given(answer, OUTPUTS.total), ids: sorted(given(answer, OUTPUTS.ids)) }).toEqual({
      asked,
      total: expected.total as FeatureValue,
      ids: expected.ids as FeatureValue,
    });
    const row = given(await later.ask({ "row.id": asked }, ["row.num"]), "row.num");
    if (typeof expected.row === "number") expect({ asked, row }).toEqual({ asked, row: expected.row });
  }
  await online.close();
}

/** Types that not every PostgreSQL has, with what makes them. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  citext: "create extension citext",
  "text collate without_case": "create collation without_case (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
};

for (const { kind, isAbsent, start } of databasePrograms)
  describe.skipIf(isAbsent)(`rows by key in ${kind}`, () => {
    let database: TestDatabase;

    beforeAll(async () => {
      database = await start();
      if (kind === "postgres") await database.run("create type mood as enum ('sad', 'glad')");
    }, 300_000);

    afterAll(() => database?.stop(), 60_000);

    test("a class joined by a column of another type has the same rows alone, among others, and nested", async () => {
      const code = { sqlite: "text", postgres: "char(5)", mariadb: "char(5)" }[kind];
      await database.run(`create table pay (id int primary key, cc ${code}, amt int)`);
      await database.run("insert into pay values (1, 'us', 10), (2, 'us', 20), (3, 'de', 40), (9, 'us2', 7)");
      await database.run("create table cty (id varchar(5), g_id int)");
      await database.run("insert into cty values ('us', 1), ('de', 1), ('us2', 2)");
      const made = graph(
        [
          featureClass("pay", { id: "int", cc: "str", amt: "int", cty: { to: "c", on: [["cc", "id"]] } }),
          featureClass("c", {
            id: "str",
            g_id: "int",
            pays: { many: "pay", on: [["id", "cc"]] },
            total: { type: "int", expression: agg("sum", "pays", "amt") },
          }),
          featureClass("g", {
            id: "int",
            cs: { many: "c", on: [["id", "g_id"]] },
            total: { type: "int", expression: agg("sum", "cs", "total") },
          }),
        ],
        [
          sql("pays", "select id, cc, amt from pay", { "pay.id": "id", "pay.cc": "cc", "pay.amt": "amt" }),
          sql("ctys", "select id, g_id from cty", { "c.id": "id", "c.g_id": "g_id" }),
        ],
      );
      const world = new World(made, { sources: [database.sources.get("db")] });
      expect(await world.values({ "g.id": 1 }, ["g.total"])).toEqual({ "g.total": 70 });
      expect(await world.values({ "g.id": 2 }, ["g.total"])).toEqual({ "g.total": 7 });
      expect(await askMany(world, "g", [1, 2, 3], { total: "g.total" })).toEqual([{ total: 70 }, { total: 7 }, { total: 0 }]);
      expect(await world.values({ "pay.id": 1 }, ["pay.cc", "pay.cty.g_id", "pay.cty.total"])).toEqual({
        "pay.cc": "us",
        "pay.cty.g_id": 1,
        "pay.cty.total": 30,
      });
    });

    test("a key of several columns is compared by each of them", async () => {
      const text = { sqlite: "text collate nocase", postgres: "char(4)", mariadb: "varchar(4)" }[kind];
      await database.run(`create table visits (org ${text}, n numeric(6, 2), amount int)`);
      await database.run("insert into visits values ('a', 1, 1), ('A', 1, 10), ('a', 2, 100), ('b', 1, 1000), ('a', 1, 10000)");
      const made = graph(
        [
          featureClass("visit", { id: "int", org: "str", n: "int", amount: "int" }),
          featureClass("place", {
            id: "int",
            org: "str",
            n: "int",
            visits: {
              many: "visit",
              on: [
                ["org", "org"],
                ["n", "n"],
              ],
            },
            total: { type: "int", expression: agg("sum", "visits", "amount") },
          }),
        ],
        [
          sql("visits", "select amount as id, org, n, amount from visits", {
            "visit.id": "id",
            "visit.org": "org",
            "visit.n": "n",
            "visit.amount": "amount",
          }),
        ],
      );
      const world = new World(made, { sources: [database.sources.get("db")] });
      const asked = [
        ["a", 1, 10001],
        ["A", 1, 10],
        ["a", 2, 100],
        ["A", 2, 0],
        ["b", 1, 1000],
        ["a ", 1, 0],
      ] as const;
      for (const [org, n, total] of asked)
        expect(await world.values({ "place.org": org, "place.n": n }, ["place.total"])).toEqual({ "place.total": total });
      const columns = [
        bulkColumn(
          "place.org",
          asked.map(([org]) => org),
        ),
        bulkColumn(
          "place.n",
          asked.map(([, n]) => n),
        ),
      ];
      const bulk = await world.engine.answerBulk(world.deployment, { request: ask({}, ["place.total"]), columns }, world.now);
      expect(bulk.failures).toEqual([]);
      expect(bulk.columns[0]?.values).toEqual(asked.map(([, , total]) => total));
    });

    test("arguments that a database refuses fail alone, and are named", async () => {
      const one = featureClass("u", { id: "int", ratio: "float", text: "str", half: "float?", found: "str?" });
      const uuid = "cast(${u.text} as uuid)";
      const made = graph(
        [one],
        [
          sql("halve", "select ${u.ratio} / 2 as half", { "u.half": "half" }),
          sql(
            "find",
            kind === "postgres" ? `select 'yes' as found where ${uuid} is not null` : "select 'yes' as found where ${u.ratio} > 0",
            { "u.found": "found" },
          ),
        ],
      );
      const world = new World(made, { sources: [database.sources.get("db")] });
      const ratios = [1, Number.NaN, 3, Number.POSITIVE_INFINITY];
      const halves = await world.engine.answerBulk(
        world.deployment,
        { request: ask({}, ["u.half"]), columns: [bulkColumn("u.ratio", ratios)] },
        world.now,
      );
      const messages = halves.failures.map(({ row, message }) => `${row}: ${message}`);
      expect(halves.columns[0]?.values.filter((_, at) => at % 2 === 0)).toEqual([0.5, 1.5]);
      expect(messages).toEqual(
        {
          sqlite: ["1: halve: u.ratio is NaN, which SQLite would take for null"],
          postgres: [],
          mariadb: [
            "1: halve: u.ratio is NaN, and MySQL has no such number",
            "3: halve: u.ratio is Infinity, and MySQL has no such number",
          ],
        }[kind],
      );
      if (kind !== "postgres") return;
      const texts = [ID, "zz", OTHER_ID];
      const found = await world.engine.answerBulk(
        world.deployment,
        { request: ask({}, ["u.found"]), columns: [bulkColumn("u.text", texts)] },
        world.now,
      );
      expect(found.columns[0]?.values).toEqual(["yes", null, "yes"]);
      expect(found.failures.map(({ row, message }) => [row, message])).toEqual([[1, 'find: invalid input syntax for type uuid: "zz"']]);
    });

    for (const [at, one] of CASES.entries()) {
      const column = one.columns[kind];
      if (column === undefined) continue;
      const extension = kind === "postgres" ? EXTENSIONS[column] : undefined;
      test(`${one.name}: ${column}`, async () => {
        const missing = extension && (await database.run(extension).then(() => undefined, String));
        if (missing) console.log(`PostgreSQL has no ${column} here, so its keys are not tested: ${missing}`);
        else await compare(database, one, at);
      }, 300_000);
    }
  });

describe("rows that a database takes for equal to a key that they do not have", () => {
  const usr = featureClass("u", {
    id: "str",
    name: "str?",
    es: { many: "ev", on: [["id", "k"]] },
    total: { type: "float", expression: agg("sum", "es", "amt") },
  });
  const ev = featureClass("ev", { id: "int", k: "str", amt: "float" });
  const resolvers = [
    sql("evs", "select id, k, amt from ev", { "ev.id": "id", "ev.k": "k", "ev.amt": "amt" }),
    sql("usrs", "select id, name from usr", { "u.id": "id", "u.name": "name" }),
  ];

  test("are not theirs, with one key as with two", async () => {
    const source = new MemorySource(
      "db",
      `create table ev (id integer primary key, k text collate nocase, amt real);
       insert into ev values (1, 'a', 10), (2, 'A', 100);
       create table usr (id text primary key collate nocase, name text);
       insert into usr values ('a', 'lower')`,
    );
    const world = new World(graph([usr, ev], resolvers), { sources: [source] });
    expect(await world.values({ "u.id": "a" }, ["u.total", "u.name"])).toEqual({ "u.total": 10, "u.name": "lower" });
    expect(await world.values({ "u.id": "A" }, ["u.total", "u.name"])).toEqual({ "u.total": 100, "u.name": null });
    expect(await askMany(world, "u", ["a", "A"], { total: "u.total", name: "u.name" })).toEqual([
      { total: 10, name: "lower" },
      { total: 100, name: null },
    ]);
  });

  test("of a body that gives all rows, one row is not taken for the one with the key", async () => {
    const source = new MemorySource(
      "db",
      "create table usr (id text, org text, name text); insert into usr values ('a', 'x', 'Ann'), ('b', 'y', 'Ben')",
    );
    const made = graph(
      [featureClass("u", { id: "str", org: "str", name: "str?" })],
      [sql("usrs", "select id, name from usr where org = ${u.org}", { "u.id": "id", "u.name": "name" }, { count: RowCount.ALL })],
    );
    const world = new World(made, { sources: [source] });
    expect(await world.values({ "u.id": "a", "u.org": "x" }, ["u.name"])).toEqual({ "u.name": "Ann" });
    expect(await world.values({ "u.id": "a", "u.org": "y" }, ["u.name"])).toEqual({ "u.name": null });
  });

  /**
   * A source that gives rows for keys as MySQL does: what begins with digits is a number, and
   * everything else is 0.
   */
  class ConvertingSource extends MemorySource {
    override async query(statement: string, parameters: readonly FeatureValue[]) {
      const [, rest = ""] = statement.split(" where ");
      const { columns, rows } = await super.query(statement.replace(` where ${rest}`, ""), []);
      return { columns, rows: rows.filter(([k]) => parameters.includes(Number.parseInt(String(k), 10) || 0)) };
    }
  }

  function converting(rows: string): World & { source: MemorySource } {
    const source = new ConvertingSource("db", `create table ev (id integer primary key, k text, amt real); insert into ev values ${rows}`);
    const made = graph(
      [
        featureClass("u", {
          id: "int",
          es: { many: "ev", on: [["id", "k"]] },
          total: { type: "float", expression: agg("sum", "es", "amt") },
        }),
        featureClass("ev", { id: "int", k: "int", amt: "float" }),
      ],
      resolvers.slice(0, 1),
    );
    return Object.assign(new World(made, { sources: [source] }), { source });
  }

  test("a refusal that is not about a key is not asked for again", async () => {
    for (const fault of ["statement", "data"] as const) {
      const source = new MemorySource("db", "create table usr (id text, name text)");
      let asked = 0;
      source.query = async () => {
        asked++;
        throw new SqlError("no", undefined, fault);
      };
      const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
      const world = new World(graph([usr, ev], resolvers), { sources: [source] });
      const bulk = { request: ask({}, ["u.name"]), columns: [bulkColumn("u.id", keys)] };
      const { failures } = await world.engine.answerBulk(world.deployment, bulk, world.now);
      expect([asked, failures.length, failures[0]?.message]).toEqual([1, 100, "usrs: no"]);
    }
  });

  test("are theirs when the number is the same, however it is written", async () => {
    const world = converting("(1, '0', 10), (2, '7', 1000), (3, ' 7', 10000), (4, '7.00', 100000)");
    expect(await world.values({ "u.id": 0 }, ["u.total"])).toEqual({ "u.total": 10 });
    expect(await world.values({ "u.id": 7 }, ["u.total"])).toEqual({ "u.total": 111000 });
    expect(await askMany(world, "u", [0, 7, 8], { total: "u.total" })).toEqual([{ total: 10 }, { total: 111000 }, { total: 0 }]);
  });

  test("are a failure of that key when they are no value of its type, whoever else asks", async () => {
    const world = converting("(1, 'abc', 1), (2, '0', 10), (3, '7x', 100), (4, '7', 1000), (5, '8', 10000)");
    const keys = Array.from({ length: 40 }, (_, key) => key);
    const bulk = { request: ask({}, ["u.total"]), columns: [bulkColumn("u.id", keys)] };
    const answer = await world.engine.answerBulk(world.deployment, bulk, world.now);
    expect(answer.columns[0]?.values.filter((value) => value !== 0)).toEqual([null, null, 10000]);
    const message = (key: number, text: string) =>
      `evs: looking for ev.k = ${key}, the database also gave a row whose ev.k is str "${text}", which is not of type int: ` +
      "cast the column in the query, or leave such rows out";
    const own = answer.failures.filter(({ code }) => code === ErrorCode.VALIDATION_FAILED);
    expect(own.map((failure) => [failure.row, failure.message])).toEqual([
      [0, message(0, "abc")],
      [7, message(7, "7x")],
    ]);
    expect(world.source.statements.length).toBeLessThan(40);
    const alone = await world.ask({ "u.id": 7 }, ["u.total"]);
    expect(alone.fields[0]?.failure?.message).toContain(message(7, "7x"));
    expect(await world.values({ "u.id": 8 }, ["u.total"])).toEqual({ "u.total": 10000 });
  });
});
