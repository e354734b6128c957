/** How many parameters a statement has, and where it ends. */

import { describe, expect, test } from "bun:test";
import { countParameters, withoutTerminator } from "../../../src/domain/sql/statement.ts";

describe("parameters", () => {
  test.each([
    ["select * from t where a = ?", 1],
    ["select 'is it?' as q from t where a = ? and b = ?", 2],
    ["select 'it\\'s ?' as note from t where a = ?", 1],
    ['select "a?" from t where a = ? -- ?', 1],
    ["select `a?`, /* ? */ a from t # ?\nwhere a = ?", 1],
  ])("mysql: %s", (statement, count) => {
    expect(countParameters(statement, "mysql")).toBe(count);
  });

  test.each([
    ["select $1::int, $2, $1", 2],
    ["select '$9', \"$8\", $$ $7 $$, $q$ $6 $q$ /* $5 /* $4 */ */ where a = $3", 3],
    ["select e'it\\'s $9' where a = $1", 1],
    ["select 'it\\' where a = $1", 1],
    ["select a$7 from t where b = $12", 12],
    ["select 1", 0],
  ])("postgresql: %s", (statement, count) => {
    expect(countParameters(statement, "postgresql")).toBe(count);
  });

  test.each([
    ["select [a?], 'b?' from t where a = ? or b = ?", 2],
    ["select ?", 1],
  ])("sqlite: %s", (statement, count) => {
    expect(countParameters(statement, "sqlite")).toBe(count);
  });
});

describe("the end of a statement", () => {
  test.each([
    ["select 1", "select 1"],
    ["select 1 ;\n", "select 1"],
    ["select 1;;  ; ", "select 1"],
    ["select 1; -- the end\n/* really */", "select 1"],
    ["select 1 -- a comment stays\n", "select 1 -- a comment stays"],
    ["select ';' ;", "select ';'"],
    ["select 1; select 2", "select 1; select 2"],
    ["select 1; select 2;", "select 1; select 2"],
    ["select $x$ ; $x$ -- ;", "select $x$ ; $x$ -- ;"],
    ["select /* ; */ 1", "select /* ; */ 1"],
    ['select ";" as a;-- done\n/* really */ ;', 'select ";" as a'],
    ["", ""],
    [";", ""],
  ])("%j", (statement, expected) => {
    expect(withoutTerminator(statement, undefined)).toBe(expected);
  });

  test("is found as the dialect quotes", () => {
    const statement = "select 'it\\'s; ' from t; # done";
    expect(withoutTerminator(statement, "mysql")).toBe("select 'it\\'s; ' from t");
  });
});
