import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toCondition } from "../../../src/domain/search/condition.ts";
import type { FieldSet } from "../../../src/domain/search/fields.ts";
import { matches } from "../../../src/domain/search/matches.ts";
import { SearchError } from "../../../src/domain/search/search-error.ts";
import { tokenize } from "../../../src/domain/search/tokens.ts";
import { parseSearch } from "../../../src/domain/search/tree.ts";
import { seeded } from "../../harness/seed.ts";

const FIELDS: FieldSet = {
  fields: {
    message: { kind: "text", meaning: "the message" },
    resolver: { kind: "name", meaning: "the resolver" },
    level: {
      kind: "enum",
      meaning: "the level",
      values: ["debug", "info", "warning", "error"],
      synonyms: { warn: "warning" },
      aliases: ["severity"],
    },
    response_code: { kind: "number", meaning: "the code", aliases: ["code"] },
    duration: { kind: "duration", meaning: "how long it took" },
    bytes: { kind: "size", meaning: "how much was sent" },
    all_filter: { kind: "text", meaning: "any text", of: ["message", "resolver"] },
  },
  words: ["message"],
  attributes: "attributes.",
};

type Row = Readonly<Record<string, string | number | null>>;

const ROWS = {
  slow: {
    message: "Timed out after 3 tries",
    resolver: "shop.get_user",
    level: "error",
    response_code: 504,
    duration: 1500,
    bytes: 12_000,
  },
  quick: { message: "answered 100% of [it]", resolver: "shop.get_order", level: "info", response_code: 200, duration: 2.5, bytes: 900 },
  bare: { message: "started École", level: "warning", "attributes.k8s.Pod": "a b" },
} satisfies Readonly<Record<string, Row>>;

function found(search: string): string[] {
  const tree = parseSearch(search, FIELDS);
  return Object.entries(ROWS).flatMap(([name, row]) => (matches(tree, (field) => (row as Row)[field] ?? undefined) ? name : []));
}

describe("a search finds", () => {
  const cases: readonly [search: string, names: string][] = [
    ["", "slow quick bare"],
    ["timed", "slow"],
    ["TIMED OUT", "slow"],
    ["out timed", "slow"],
    ['"out timed"', ""],
    ["out quick OR started", "bare"],
    ["(out OR 100) 3", "slow"],
    ["t*tries", "slow"],
    ["100%", "quick"],
    ["1__", ""],
    ["[it]", "quick"],
    ["éCOLE", "bare"],
    ["-timed", "quick bare"],
    ["-(timed OR answered)", "bare"],
    ["NOT timed AND started", "bare"],
    ["resolver:shop.get_user", "slow"],
    ["resolver:shop.GET_user", ""],
    ["resolver:shop.*", "slow quick"],
    ["-resolver:shop.get_user", "quick bare"],
    ["resolver:*", "slow quick"],
    ['resolver:""', "bare"],
    ['resolver:"shop.*"', ""],
    ["message:answered", "quick"],
    ["message:started*", "bare"],
    ["message:*tries", "slow"],
    ["message:tries*", ""],
    ["level:ERROR", "slow"],
    ["level:warn", "bare"],
    ["level>=warning", "slow bare"],
    ["severity<info", ""],
    ["level:w*", "bare"],
    ["response_code>=500", "slow"],
    ["code:200", "quick"],
    ["-code:200", "slow bare"],
    ["duration>1s", "slow"],
    ["duration<=2.5ms", "quick"],
    ["bytes>=12kB", "slow"],
    ["bytes<1KiB", "quick"],
    ["all_filter:GET", "slow quick"],
    ["attributes.k8s.Pod:a*", "bare"],
    ["- ", ""],
    ["a-b", ""],
    ["\\-timed", ""],
  ];
  for (const [search, names] of cases) test(`${search}: ${names}`, () => expect(found(search).join(" ")).toBe(names));
});

describe("a search is refused", () => {
  const cases: readonly [search: string, column: number, said: string][] = [
    ["levl:error", 1, "there is no field 'levl'; did you mean 'level'?"],
    ["ok éé zz:1", 7, "there is no field 'zz'; the fields are message, resolver"],
    ["level:eror", 7, "'eror' is no level; did you mean 'error'?"],
    ["level:", 1, "a value has to follow 'level:'"],
    ["duration>10", 10, "'10' is not a duration such as"],
    ["bytes>much", 7, "'much' is not a size such as"],
    ["code:4*", 6, "'4*' is not a number such as 404"],
    ["resolver>a", 9, "'resolver' holds text, which > does not compare"],
    ["level=error", 6, "a field and its value are written level:value"],
    ['a "b', 3, "the quote is not closed"],
    ['"a"b', 4, "a blank has to follow the closing quote"],
    ['a"b', 2, "a quote stands within a word"],
    ["(a", 1, "the parenthesis is not closed"],
    ["a)", 2, "no parenthesis is open"],
    ["()", 1, "nothing to search for follows '('"],
    ["a OR", 3, "nothing to search for follows 'OR'"],
    ["OR a", 1, "nothing to search for stands before 'OR'"],
    ["(a) OR", 5, "nothing to search for follows 'OR'"],
    ["http://x", 1, "there is no field 'http'"],
    ["a\0", 2, "a NUL character"],
    ["x ".repeat(101), 201, "at most 100 words"],
    ["(".repeat(40), 33, "at most 32 parentheses"],
    ["-".repeat(40) + "a", 33, "at most 32 parentheses"],
    ["a".repeat(2_001), 2_001, "the search has 2001 characters"],
  ];
  for (const [search, column, said] of cases)
    test(`${JSON.stringify(search.slice(0, 20))}: ${said}`, () => {
      const error = refusal(search);
      expect(error.message).toContain(said);
      expect(error.columnIn(search)).toBe(column);
    });
});

test("tokens say where everything stands, for a highlighter", () => {
  const search = 'level:error -("a b" OR x)';
  expect(tokenize(search).map(({ is, start, end }) => [is, search.slice(start, end)])).toEqual([
    ["term", "level:error"],
    ["not", "-"],
    ["(", "("],
    ["word", '"a b"'],
    ["or", "OR"],
    ["word", "x"],
    [")", ")"],
  ]);
});

const LETTERS = [
  "a",
  "A",
  "k",
  "K",
  "s",
  "ſ",
  "é",
  "É",
  "ß",
  "İ",
  "ı",
  "Σ",
  "ς",
  "日",
  "😀",
  " ",
  "%",
  "_",
  "\\",
  "*",
  "?",
  "[",
  "]",
  "^",
  "'",
];
const texts = fc.array(fc.constantFrom(...LETTERS), { maxLength: 6 }).map((letters) => letters.join(""));
const numbers = fc.oneof(fc.constant(null), fc.constantFrom(0, 1, 2.5, 10, 1000, 1500));
const rows = fc.record({
  message: texts,
  resolver: texts,
  level: fc.constantFrom("", "debug", "info", "warning", "error"),
  response_code: numbers,
  duration: numbers,
  bytes: numbers,
  "attributes.x": texts,
});
const values = fc.oneof(
  texts.map((text) => `"${text.replace(/[\\"]/g, "\\$&")}"`),
  fc
    .array(
      fc.oneof(
        fc.constant("*"),
        texts.map((text) => text.replace(/[\\"\s()*]/g, "\\$&")),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => parts.join("")),
);
const operators = fc.constantFrom(":", ">", ">=", "<", "<=");
const leaves = fc.oneof(
  values.filter((value) => value !== ""),
  fc
    .tuple(fc.constantFrom("message", "resolver", "all_filter", "attributes.x"), values)
    .map(([field, value]) => `${field}:${value || '""'}`),
  fc.tuple(operators, fc.constantFrom("debug", "info", "warning", "error")).map((parts) => `level${parts.join("")}`),
  fc.constantFrom("level:*", "level:*r*", "level:z*"),
  fc.tuple(operators, fc.constantFrom("0", "1", "2.5", "10")).map((parts) => `code${parts.join("")}`),
  fc.tuple(operators, fc.constantFrom("1s", "2.5ms", "10ms")).map((parts) => `duration${parts.join("")}`),
  fc.tuple(operators, fc.constantFrom("1", "1kB", "1.5kB")).map((parts) => `bytes${parts.join("")}`),
);
const { search: searches } = fc.letrec<{ search: string; item: string }>((tie) => ({
  item: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaves,
    tie("item").map((item) => `-${item}`),
    tie("search").map((search) => `(${search})`),
  ),
  search: fc
    .array(fc.tuple(tie("item"), fc.constantFrom(" ", " OR ", " AND ")), { minLength: 1, maxLength: 3 })
    .map((items) => items.map(([item, word], nth) => (nth === items.length - 1 ? item : item + word)).join("")),
}));

test("SQLite finds what `matches` finds", () => {
  using database = new Database(":memory:");
  database.run(
    "create table row (message text not null, resolver text not null, level text not null, response_code real, duration real, bytes real, x text not null)",
  );
  let seen = 0;
  fc.assert(
    fc.property(searches, fc.array(rows, { minLength: 1, maxLength: 8 }), (search, records) => {
      const tree = attempt(() => parseSearch(search, FIELDS));
      if (!tree) return;
      database.run("delete from row");
      const insert = database.query("insert into row values (?, ?, ?, ?, ?, ?, ?)");
      for (const row of records) insert.run(...Object.values(row));
      const { sql, parameters } = toCondition(tree, (field) =>
        field === "attributes.x" ? { sql: "coalesce(x, ?)", parameters: [""] } : field,
      );
      const rowids = database
        .query<{ rowid: number }, (string | number)[]>(`select rowid from row where ${sql} order by rowid`)
        .all(...parameters);
      const first = database.query<{ first: number }, []>("select min(rowid) as first from row").get()?.first ?? 0;
      const expected = records.flatMap((row, nth) => (matches(tree, (field) => row[field as keyof typeof row] ?? undefined) ? nth : []));
      if (expected.length > 0 && expected.length < records.length) seen++;
      expect(rowids.map(({ rowid }) => rowid - first)).toEqual(expected);
    }),
    seeded(3_000),
  );
  expect(seen).toBeGreaterThan(300);
});

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof SearchError) return undefined;
    throw error;
  }
}

function refusal(search: string): SearchError {
  try {
    parseSearch(search, FIELDS);
  } catch (error) {
    if (error instanceof SearchError) return error;
  }
  throw new Error(`${search} is not refused`);
}
