import { expect, test } from "bun:test";
import type { Json } from "../../src/domain/json-value.ts";
import { applyMergePatch } from "../../src/domain/merge-patch.ts";

/** RFC 7396, appendix A: original, patch, result. */
const VECTORS: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', "null", "null"],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

const parse = (text: string) => JSON.parse(text) as Json;

test.each(VECTORS)("RFC 7396: %s with %s is %s", (original, patch, result) => {
  const target = parse(original);
  expect(JSON.stringify(applyMergePatch(target, parse(patch)))).toBe(result);
  expect(JSON.stringify(target)).toBe(original);
});

test("members of every name are members like any other", () => {
  const target = parse('{"__proto__":{"a":1},"constructor":2}');
  expect(JSON.stringify(applyMergePatch(target, parse('{"__proto__":{"b":2},"toString":{"c":null}}')))).toBe(
    '{"__proto__":{"a":1,"b":2},"constructor":2,"toString":{}}',
  );
  expect(({} as Record<string, unknown>).b).toBeUndefined();
});
