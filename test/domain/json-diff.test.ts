import { expect, test } from "bun:test";
import { changesText, jsonChanges } from "../../src/domain/json-diff.ts";
import type { Json } from "../../src/domain/json-value.ts";

const text = (before: Json, after: Json) => changesText(jsonChanges(before, after));

test("each changed value is shown with its path, before and after", () => {
  expect(
    text(
      { same: 1, gone: "x", services: { engine: { replicas: 1, tags: ["a", "b"] } } },
      { same: 1, services: { engine: { replicas: 2, tags: ["a", "c"] } }, "a.b": { new: true } },
    ),
  ).toBe(
    [
      ["@ [gone]", '- "x"'],
      ["@ [services.engine.replicas]", "- 1", "+ 2"],
      ["@ [services.engine.tags.1]", '- "b"', '+ "c"'],
      ['@ ["a.b"]', '+ {"new":true}'],
    ]
      .flat()
      .join("\n"),
  );
});

test("lists of other lengths, and other types, are shown whole", () => {
  expect(text({ a: [1, 2], b: {}, c: null }, { a: [1], b: [], c: 0 })).toBe("@ [a]\n- [1,2]\n+ [1]\n@ [b]\n- {}\n+ []\n@ [c]\n- null\n+ 0");
});

test("nothing differs where only the order of members does", () => {
  expect(jsonChanges({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toEqual([]);
});
