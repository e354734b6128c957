/**
 * What the columns of databases become as features of a type, and what is said where they cannot.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { type DatabaseKind, databasePrograms, type TestDatabase } from "../databases.ts";
import { featureClass, graph, primitive, sql, type TypeSpec } from "../graphs.ts";
import { World } from "../worlds.ts";

/**
 * A column's type and what it holds, as SQL; the feature's type; its value, or the end of the
 * message.
 */
type Row = readonly [column: string, literal: string, feature: TypeSpec, expected: FeatureValue | { readonly message: string }];

const listOf = (element: DataType): DataType => create(DataTypeSchema, { kind: { case: "list", value: { element } } });
const bytes = (text: string) => new TextEncoder().encode(text);
const BIG = 9007199254740993n;
const HUGE = 12345678901234567890n;
const JSON_TEXT = `'{"big": ${BIG}, "list": [${HUGE}, 1.5, -${BIG}], "text": "${BIG}"}'`;
const JSON_VALUE = { big: BIG, list: [HUGE, 1.5, -BIG], text: String(BIG) };
const ID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

const ROWS: Readonly<Record<DatabaseKind, readonly Row[]>> = {
  sqlite: [
    ["text", "'{\"a\": 1}'", "json", '{"a": 1}'],
    ["json", "'[1]'", "json", "[1]"],
    ["text", `'[${BIG}]'`, listOf(primitive("int")), [BIG]],
    ["text", "'text'", "bytes", bytes("text")],
    ["text", "'aGk='", "bytes", bytes("aGk=")],
    ["text", "'é'", "bytes", bytes("é")],
    ["blob", "x'00ff'", "bytes", new Uint8Array([0, 255])],
    ["text", `'["aGk="]'`, listOf(primitive("bytes")), [bytes("hi")]],
    ["", "1.0", "int", 1],
    ["text", "'1.00'", "int", 1],
    ["text", "'1.50'", "int", { message: 'expected int, got str "1.50"' }],
    ["integer", "1", "bytes", { message: "expected bytes, got int 1" }],
    ["text", "'12:34:56'", "str", "12:34:56"],
  ],
  postgres: [
    ["json", JSON_TEXT, "json", JSON_VALUE],
    ["jsonb", JSON_TEXT, "json", JSON_VALUE],
    ["jsonb", `'${BIG}'`, "json", BIG],
    ["jsonb", `'${BIG}'`, "int", BIG],
    ["jsonb", `'[${BIG}]'`, listOf(primitive("int")), [BIG]],
    ["jsonb[]", `array['{"a": ${BIG}}'::jsonb]`, "json", [{ a: BIG }]],
    ["jsonb", `'["aGk="]'`, listOf(primitive("bytes")), [bytes("hi")]],
    ["jsonb", "'{}'", "int", { message: "expected int, got jsonb, struct" }],
    ["interval", "'1 day 02:00:00.5'", "str", "1 day 02:00:00.5"],
    ["interval", "'26:03:04'", "str", "26:03:04"],
    ["interval", "'-1 mons'", "str", "-1 mons"],
    ["interval", "'1 year 2 mons 3 days'", "str", "1 year 2 mons 3 days"],
    ["interval", "'1 day 02:00:00.5'", "timedelta", 93_600_500_000],
    ["interval", "'-1 day +02:00:00'", "timedelta", -79_200_000_000],
    ["interval", "'1 day -02:00:00'", "timedelta", 79_200_000_000],
    ["interval", "'1 day 02:00:00.5'", "float", 93_600.5],
    ["interval", "'1 day'", "json", 86_400],
    ["interval", "'2 mons'", "timedelta", { message: "expected timedelta, got interval 2 mons" }],
    ["interval[]", "array[interval '1 mon', interval '00:00:01']", listOf(primitive("str")), ["1 mon", "00:00:01"]],
    ["interval[]", "array[interval '1 day', interval '00:00:01']", listOf(primitive("timedelta")), [86_400_000_000, 1_000_000]],
    ["time", "'12:34:56'", "str", "12:34:56"],
    ["text", "'text'", "bytes", bytes("text")],
    ["varchar", "'aGk='", "bytes", bytes("aGk=")],
    ["bytea", "'\\x00ff'", "bytes", new Uint8Array([0, 255])],
    ["numeric(12, 2)", "1", "int", 1],
    ["numeric(22, 2)", "9007199254740993", "int", BIG],
    ["numeric(12, 2)", "1.5", "int", { message: "expected int, got numeric 1.50" }],
    ["numeric(12, 2)", "1.5", "float", 1.5],
    ["numeric(12, 2)", "1.5", "decimal", "1.50"],
    ["numeric", "'NaN'", "int", { message: "expected int, got numeric NaN" }],
    ["timestamptz", "'infinity'", "datetime", { message: "expected datetime, got timestamptz infinity" }],
    ["timestamp", "'2024-01-01'", "float", { message: "expected float, got timestamp 2024-01-01T00:00:00.000000Z" }],
    ["date", "'2024-01-01'", "int", { message: "expected int, got date 2024-01-01" }],
    ["int4", "5", "datetime", { message: "expected datetime, got int4 5" }],
    ["text", "'abc'", "int", { message: 'expected int, got text "abc"' }],
    ["uuid", `'${ID}'`, "str", ID],
    ["uuid", `'${ID}'`, "int", { message: `expected int, got uuid ${ID}` }],
    ["bytea", "'\\x00ff'", "str", { message: "expected str, got bytea of length 2" }],
    ["char(5)", "'ab'", "str", "ab"],
    ["char(5)[]", "array['ab'::char(5)]", listOf(primitive("str")), ["ab"]],
  ],
  mariadb: [
    ["json", JSON_TEXT, "json", JSON_VALUE],
    ["json", `'${BIG}'`, "json", BIG],
    ["json", `'[${BIG}]'`, listOf(primitive("int")), [BIG]],
    ["time", "'12:34:56'", "str", "12:34:56"],
    ["time(1)", "'-101:02:03.5'", "str", "-101:02:03.5"],
    ["time", "'12:34:56'", "timedelta", 45_296_000_000],
    ["time(1)", "'-101:02:03.5'", "timedelta", -363_723_500_000],
    ["time", "'12:34:56'", "float", 45_296],
    ["time", "'12:34:56'", "json", 45_296],
    ["time", "'12:34:56'", "bool", { message: "expected bool, got time 12:34:56" }],
    ["text", "'text'", "bytes", bytes("text")],
    ["varchar(10)", "'aGk='", "bytes", bytes("aGk=")],
    ["blob", "x'00ff'", "bytes", new Uint8Array([0, 255])],
    ["decimal(12, 2)", "1", "int", 1],
    ["decimal(22, 2)", "9007199254740993", "int", BIG],
    ["decimal(12, 2)", "1.5", "int", { message: "expected int, got decimal 1.50" }],
    ["decimal(12, 2)", "1.5", "float", 1.5],
    ["datetime", "'2024-01-01'", "float", { message: "expected float, got datetime 2024-01-01T00:00:00.000000Z" }],
    ["date", "'2024-01-01'", "int", { message: "expected int, got date 2024-01-01" }],
    ["varchar(10)", "'abc'", "int", { message: 'expected int, got str "abc"' }],
    ["uuid", `'${ID}'`, "str", ID],
    ["uuid", `'${ID}'`, "int", { message: `expected int, got uuid ${ID}` }],
    ["char(5)", "'ab'", "str", "ab"],
  ],
};

for (const { kind, isAbsent, start } of databasePrograms)
  describe.skipIf(isAbsent)(`values of ${kind}`, () => {
    let database: TestDatabase;

    beforeAll(async () => {
      database = await start();
    }, 300_000);

    afterAll(() => database?.stop(), 60_000);

    test("are read by the type of the feature, alone and as rows of a relation", async () => {
      const rows = ROWS[kind];
      for (const [at, [column, literal]] of rows.entries()) {
        await database.run(`create table t${at} (id int, v ${column})`);
        await database.run(`insert into t${at} values (1, ${literal})`);
      }
      const made = graph(
        [
          ...rows.map(([, , feature], at) => featureClass(`c${at}`, { id: "int", v: feature })),
          featureClass("all", {
            id: "int",
            ...Object.fromEntries(rows.map((_, at) => [`m${at}`, { many: `c${at}`, on: [["id", "id"]] as const }])),
          }),
        ],
        rows.map((_, at) => sql(`r${at}`, `select id, v from t${at}`, { [`c${at}.id`]: "id", [`c${at}.v`]: "v" })),
      );
      const world = new World(made, { sources: [database.sources.get("db")] });
      for (const [at, [column, literal, , expected]] of rows.entries()) {
        const name = `${column} ${literal}`;
        const [alone] = (await world.ask({ [`c${at}.id`]: 1 }, [`c${at}.v`])).fields;
        const [related] = (await world.ask({ "all.id": 1 }, [`all.m${at}.v`])).fields;
        if (expected !== null && typeof expected === "object" && "message" in expected) {
          const messages = [alone?.failure?.message, related?.inner?.[0]?.message];
          expect([name, ...messages]).toEqual([
            name,
            expect.stringContaining(`: ${expected.message} from `),
            expect.stringContaining(`: ${expected.message} from `),
          ]);
        } else expect([name, alone?.value, alone?.failure?.message, related?.value]).toEqual([name, expected, undefined, [expected]]);
      }
    }, 300_000);
  });
