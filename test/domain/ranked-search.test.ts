import { expect, test } from "bun:test";
import { rankedSearch } from "../../src/domain/ranked-search.ts";

const entry = (value: string, ...fields: (readonly [string, number])[]) => ({
  value,
  fields: fields.map(([text, weight]) => ({ text, weight })),
});
const ENTRIES = [
  entry("query", ["Query features online", 6], ["query", 10], ["--staleness: greatest age of a cached value", 3]),
  entry("offline", ["Query features for many rows", 6], ["offline-query", 10]),
  entry("upload", ["Upload values of features from a file", 6], ["upload", 10]),
  entry("empty"),
];
const found = (query: string) => rankedSearch(ENTRIES, query).map(({ value }) => value);

test("the best comes first, and of its texts the one that fits", () => {
  expect(found("query")).toEqual(["query", "offline"]);
  expect(found("UPLOADS of file")).toEqual(["upload"]);
  expect(rankedSearch(ENTRIES, "cached")[0]).toMatchObject({ value: "query", best: "--staleness: greatest age of a cached value" });
});

test("a beginning counts, a part does not; one of two words is enough, one of three is not", () => {
  expect(found("stale")).toEqual(["query"]);
  expect(found("le")).toEqual([]);
  expect(found("loading")).toEqual([]);
  expect(found("upload nonsense")).toEqual(["upload"]);
  expect(found("upload nonsense rubbish")).toEqual([]);
});

test("of nothing there is nothing", () => {
  for (const query of ["", " ", "?!", "\u0000"]) expect(found(query)).toEqual([]);
  expect(rankedSearch([], "query")).toEqual([]);
});
