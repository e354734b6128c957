import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type SelectList, selectList } from "../../../src/domain/sql/select-list.ts";
import type { SqlDialect } from "../../../src/domain/sql/tokenize.ts";
import { seeded } from "../../harness/seed.ts";

/** Names of the columns: `~` behind a derived one, `*` for a star, `?` for none. */
const names = (text: string, dialect?: SqlDialect) =>
  selectList(text, dialect).items.map((item) => (item.star ? "*" : `${item.name ?? "?"}${item.derived && item.name ? "~" : ""}`));

describe("columns", () => {
  const cases: readonly [what: string, text: string, expected: readonly string[]][] = [
    ["columns and paths", 'select a, t.b, s.t.c, "D e", t."F" from t', ["a", "b", "c", "D e", "F"]],
    ["`as`, implicit and quoted aliases", "select a as b, c d, e \"f g\", 'x' as 'h', 1 as `i` from t", ["b", "d", "f g", "h", "i"]],
    [
      "expressions with an alias",
      "select a + b as c, count(*) d, sum(x) over (order by y) e, (a) f, x[1] g from t",
      ["c", "d", "e", "f", "g"],
    ],
    ["expressions without one", "select a + b, 'x', 1, null, (a), -a, not a, x -> 'y' from t", ["?", "?", "?", "?", "?", "?", "?", "?"]],
    ["functions", "select count(*), lower(a), now() from t", ["count~", "lower~", "now~"]],
    [
      "casts keep the column's name",
      "select a::int, t.b::double precision, cast(c as text), cast(t.d as int) from t",
      ["a", "b", "c~", "d~"],
    ],
    ["casts with an alias", "select a::timestamp with time zone ts, b::double precision dp, cast(c as int) e from t", ["ts", "dp", "e"]],
    ["case", "select case when a then b else c end, case a when 1 then 2 end as d, case when a then 1 end e from t", ["?", "d", "e"]],
    [
      "words that look like aliases",
      "select a is null, b at time zone 'utc', interval '1' day, sum(x) over w, c collate nocase from t",
      ["?", "?", "?", "?", "?"],
    ],
    [
      "`from` that does not end the list",
      "select a is distinct from b as c, extract(year from d) y, t.from, e as order from t",
      ["c", "y", "from", "order"],
    ],
    ["distinct, distinct on, all", "select distinct a, b from t", ["a", "b"]],
    ["distinct on", "select distinct on (a, b) c, d from t", ["c", "d"]],
    ["star", "select *, t.*, a from t", ["*", "*", "a"]],
    ["CTEs", "with x as (select 1 as q), y(a, b) as materialized (select 2) select id, r from x", ["id", "r"]],
    ["recursive CTE and a parenthesized query behind it", "with recursive x as (select 1) (select id from x)", ["id"]],
    ["the first member of a union", "(select a as b from t union select c from u) order by 1", ["b"]],
    ["nested parentheses", "((select a from b) union select c)", ["a"]],
    ["subqueries in the list", "select (select x, y from z) as a, exists(select 1) b from t", ["a", "b"]],
    ["commas in brackets", "select coalesce(a, b, c) d, array[1, 2] e, (1, 2) f from t", ["d", "e", "f"]],
    ["a trailing comma", "select a, b, from t", ["a", "b"]],
    ["no from", "select 1 as one", ["one"]],
    ["comments everywhere", "select /* x, */ a -- b,\n , c from t", ["a", "c"]],
    ["placeholders", "select ${user.id} as id, ${now} n from t", ["id", "n"]],
    ["keywords in any case", "SELECT A AS B FROM T", ["B"]],
    [
      "filter and within group",
      "select count(*) filter (where a) as n, percentile_cont(0.5) within group (order by x) p from t",
      ["n", "p"],
    ],
    ["text that holds SQL", "select 'select x, y from z' as a, $$, from$$ b from t", ["a", "b"]],
  ];
  for (const [what, text, expected] of cases) test(what, () => expect(names(text)).toEqual([...expected]));

  test("a cast's name is PostgreSQL's habit", () => {
    expect(names("select a::int from t", "postgresql")).toEqual(["a"]);
    expect(names("select cast(a as int) from t", "sqlite")).toEqual(["a~"]);
  });

  test("statements", () => {
    const read = (text: string) => {
      const { verb, star, secondStatement, end }: SelectList = selectList(text);
      return { verb, star, second: secondStatement === undefined ? "" : text.slice(secondStatement), body: text.slice(0, end) };
    };
    expect(read("select a from t; -- bye")).toEqual({ verb: "select", star: false, second: "", body: "select a from t" });
    expect(read("select a; select b")).toEqual({ verb: "select", star: false, second: "select b", body: "select a" });
    expect(read("values (1, 2)")).toEqual({ verb: "select", star: true, second: "", body: "values (1, 2)" });
    expect(read("update t set a = 1")).toMatchObject({ verb: "update", star: true });
    expect(read(" -- nothing\n")).toEqual({ verb: "", star: true, second: "", body: "" });
    expect(read("with x as (select 1) delete from y")).toMatchObject({ verb: "delete" });
  });

  test("the places of names", () => {
    const text = "select a + 1 as total, t.b from t";
    const [first, second] = selectList(text).items;
    expect(text.slice(first?.start, first?.end)).toBe("a + 1 as total");
    expect(text.slice(first?.nameStart, first?.nameEnd)).toBe("total");
    expect(text.slice(second?.nameStart, second?.nameEnd)).toBe("b");
  });

  test("never throws; every span is inside of the text", () => {
    const words =
      "select with as ( ) , . * from a b \"c\" 'd' union distinct on case end :: ; -- \n /* */ ${x} cast over is not 1 [ ]".split(" ");
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom<SqlDialect | undefined>(undefined, "mysql", "sqlite"), (text, dialect) => {
        const list = selectList(text, dialect);
        expect(list.end).toBeLessThanOrEqual(text.length);
        for (const item of list.items) {
          expect(item.start).toBeGreaterThanOrEqual(0);
          expect(item.nameStart).toBeGreaterThanOrEqual(item.start);
          expect(item.nameEnd).toBeLessThanOrEqual(item.end);
          expect(item.end).toBeLessThanOrEqual(list.end);
        }
      }),
      seeded(2000),
    );
  });

  test("a list that was made is read back", () => {
    const name = fc.stringMatching(/^[a-z_]{1,8}$/).map((text) => `x_${text}`);
    const value = fc.constantFrom(
      "a",
      "t.a",
      "count(*)",
      "(select 1, 2)",
      "'x, y'",
      "case when a then b end",
      "a::int",
      "$$,$$",
      "f(a, (b))",
    );
    const item = fc.tuple(value, name, fc.constantFrom(" as ", " ", " AS\n", " /* , */ as "));
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), (items) => {
        const text = `select ${items.map(([expression, alias, as]) => expression + as + alias).join(", ")} from t`;
        expect(names(text)).toEqual(items.map(([, alias]) => alias));
      }),
      seeded(500),
    );
  });

  test("deep nesting and long lines come to an end", () => {
    const deep = 100_000;
    expect(names(`select ${"(".repeat(deep)}1${")".repeat(deep)} as a from t`)).toEqual(["a"]);
    expect(selectList(`${"(".repeat(deep)}select a`).items).toHaveLength(1);
    expect(selectList(`select ${"a, ".repeat(3_500_000)}b`).star).toBe(true);
    expect(names(`select '${"x, ".repeat(3_500_000)}' as z`)).toEqual(["z"]);
    expect(names(`select ${"a+".repeat(5_000_000)}1 as z`)).toEqual(["z"]);
    expect(names(`select ${"'a'||".repeat(2_000_000)}'b' as z`, "mysql")).toEqual(["z"]);
  });
});
