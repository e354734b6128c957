import { expect, test } from "bun:test";
import { LINE_FIELDS } from "../../../../src/domain/logs.ts";
import { matches } from "../../../../src/domain/search/matches.ts";
import { parseSearch } from "../../../../src/domain/search/tree.ts";
import { fieldsOf, jsonLines } from "../../../../src/ui/pages/observe/line-fields.ts";
import { LineStore } from "../../../../src/ui/pages/observe/line-store.ts";
import { lineTime } from "../../../../src/ui/pages/observe/line-time.ts";
import { LEVEL_GROUPS, levelBars, levelTone } from "../../../../src/ui/pages/observe/log-levels.ts";
import { searchProblem, withTerm } from "../../../../src/ui/pages/observe/search-terms.ts";

test("a search that is wrong is told with its place", () => {
  expect(searchProblem("", LINE_FIELDS)).toBeUndefined();
  expect(searchProblem("level:error -a", LINE_FIELDS)).toBeUndefined();
  expect(searchProblem("a level:nothing", LINE_FIELDS)?.at).toBe(8);
  expect(searchProblem("(a", LINE_FIELDS)?.message).toMatch(/^[A-Z].*\.$/);
});

test("a term is added so that the search means what was shown, and this value", () => {
  const values = ["x", "a b", 'quo"te', "back\\slash", "OR", "*", "(", "-x", "", "a:b", "\u00e9"];
  for (const search of ["", "a OR b", "a b", '"x OR y"'])
    for (const value of values) {
      const only = parseSearch(withTerm(search, "resolver", value), LINE_FIELDS);
      const without = parseSearch(withTerm(search, "resolver", value, true), LINE_FIELDS);
      for (const message of ["a", "b", "x or y", "none"])
        for (const resolver of values) {
          const record = (field: string) => ({ message, resolver })[field];
          const isFound = matches(parseSearch(search, LINE_FIELDS), record);
          expect(matches(only, record)).toBe(isFound && resolver === value);
          expect(matches(without, record)).toBe(isFound && resolver !== value);
        }
    }
});

test("lines are counted by windows, those without lines too", () => {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const counts = [
    { startTime: at(60), level: "error", count: "2" },
    { startTime: at(60), level: "fatal", count: "1" },
    { startTime: at(180), level: "debug", count: "5" },
    { startTime: at(9_000), level: "info", count: "7" },
  ];
  const bars = levelBars(counts, 90_000, 240_000, 60_000);
  expect(bars.map(({ from }) => from)).toEqual([60_000, 120_000, 180_000]);
  expect(bars.map((bar) => bar.counts)).toEqual([
    [3, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 5],
  ]);
  expect(levelBars(counts, 0, 1e15, 1000).length).toBeLessThanOrEqual(1_001);
  expect(levelBars(counts, 0, 100, 0)).toEqual([]);
  expect(LEVEL_GROUPS.flatMap(({ levels }) => levels.map(levelTone))).not.toContain(undefined);
});

test("of lines that come the newest are kept, newest first", () => {
  const store = new LineStore(5);
  const line = (message: string) => ({ message });
  expect(store.lines()).toEqual([]);
  store.add(["a", "b", "c"].map(line));
  const first = store.lines();
  expect(first.map((one) => one.line.message)).toEqual(["c", "b", "a"]);
  expect(store.lines()).toBe(first);
  store.add(["d", "e"].map(line));
  store.add(["f"].map(line));
  expect(store.lines().map((one) => one.line.message)).toEqual(["f", "e", "d", "c", "b"]);
  store.add([..."ghijklmn"].map(line));
  expect(store.lines().map((one) => one.line.message)).toEqual(["n", "m", "l", "k", "j"]);
  expect(store.count).toBe(14);
  expect(new Set(store.lines().map(({ key }) => key)).size).toBe(5);
  expect(first.map((one) => one.line.message)).toEqual(["c", "b", "a"]);
});

test("fields of a line have the names that searches have", () => {
  const fields = fieldsOf({ level: "info", deploymentId: "dpl_1", resolver: "", attributes: { "http.path": "/x" }, message: "m" });
  expect(fields).toEqual([
    ["level", "info"],
    ["deployment", "dpl_1"],
    ["attributes.http.path", "/x"],
  ]);
  for (const [name, value] of fields) expect(searchProblem(withTerm("", name, value), LINE_FIELDS)).toBeUndefined();
  expect(jsonLines([{ message: "new\n" }, { message: "old" }])).toBe('{"message":"old"}\n{"message":"new\\n"}\n');
});

test("the time of a line is that of its zone, to the millisecond", () => {
  expect(lineTime(new Date(2024, 0, 5, 6, 7, 8, 9).getTime())).toBe("01-05 06:07:08.009");
});
