import { expect, test } from "bun:test";
import { applyJsonPatch, PatchRefused, readJsonPatch } from "../../src/domain/json-patch.ts";
import type { Json } from "../../src/domain/json-value.ts";

/** RFC 6902, appendix A: number and title, document, patch, result; an empty result is an error. */
const VECTORS: readonly (readonly [title: string, document: string, patch: string, result: string])[] = [
  ["A.1 adding an object member", '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]', '{"foo":"bar","baz":"qux"}'],
  ["A.2 adding an array element", '{"foo":["bar","baz"]}', '[{"op":"add","path":"/foo/1","value":"qux"}]', '{"foo":["bar","qux","baz"]}'],
  ["A.3 removing an object member", '{"baz":"qux","foo":"bar"}', '[{"op":"remove","path":"/baz"}]', '{"foo":"bar"}'],
  ["A.4 removing an array element", '{"foo":["bar","qux","baz"]}', '[{"op":"remove","path":"/foo/1"}]', '{"foo":["bar","baz"]}'],
  ["A.5 replacing a value", '{"baz":"qux","foo":"bar"}', '[{"op":"replace","path":"/baz","value":"boo"}]', '{"baz":"boo","foo":"bar"}'],
  [
    "A.6 moving a value",
    '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
    '[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]',
    '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}',
  ],
  [
    "A.7 moving an array element",
    '{"foo":["all","grass","cows","eat"]}',
    '[{"op":"move","from":"/foo/1","path":"/foo/3"}]',
    '{"foo":["all","cows","eat","grass"]}',
  ],
  [
    "A.8 testing a value: success",
    '{"baz":"qux","foo":["a",2,"c"]}',
    '[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]',
    '{"baz":"qux","foo":["a",2,"c"]}',
  ],
  ["A.9 testing a value: error", '{"baz":"qux"}', '[{"op":"test","path":"/baz","value":"bar"}]', ""],
  [
    "A.10 adding a nested member object",
    '{"foo":"bar"}',
    '[{"op":"add","path":"/child","value":{"grandchild":{}}}]',
    '{"foo":"bar","child":{"grandchild":{}}}',
  ],
  [
    "A.11 ignoring unrecognized elements",
    '{"foo":"bar"}',
    '[{"op":"add","path":"/baz","value":"qux","xyz":123}]',
    '{"foo":"bar","baz":"qux"}',
  ],
  ["A.12 adding to a nonexistent target", '{"foo":"bar"}', '[{"op":"add","path":"/baz/bat","value":"qux"}]', ""],
  ["A.14 ~ escape ordering", '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":10}]', '{"/":9,"~1":10}'],
  ["A.15 comparing strings and numbers", '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":"10"}]', ""],
  [
    "A.16 adding an array value",
    '{"foo":["bar"]}',
    '[{"op":"add","path":"/foo/-","value":["abc","def"]}]',
    '{"foo":["bar",["abc","def"]]}',
  ],
];

const parse = (text: string) => JSON.parse(text) as Json;
const apply = (document: string, patch: string) => JSON.stringify(applyJsonPatch(parse(document), readJsonPatch(parse(patch))));

test.each(VECTORS)("RFC 6902, %s", (_title, document, patch, result) => {
  if (result === "") expect(() => apply(document, patch)).toThrow(PatchRefused);
  else expect(apply(document, patch)).toBe(result);
});

/** A.13 is an invalid document: `op` stands twice, of which JSON.parse keeps the last. */
test("RFC 6902, A.13 a patch whose operation does not fit", () => {
  expect(() => apply('{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux","op":"remove"}]')).toThrow(PatchRefused);
});

test.each([
  ["no list", "{}"],
  ["an operation that is none", '[{"op":"spoil","path":"/a"}]'],
  ["no path", '[{"op":"remove"}]'],
  ["no pointer", '[{"op":"remove","path":"a"}]'],
  ["no value", '[{"op":"add","path":"/a"}]'],
  ["no from", '[{"op":"copy","path":"/a"}]'],
  ["a value into itself", '[{"op":"move","from":"/foo","path":"/foo/bar"}]'],
  ["a place behind the end", '[{"op":"add","path":"/list/3","value":1}]'],
  ["an index with a leading zero", '[{"op":"replace","path":"/list/00","value":1}]'],
  ["the place behind the end, removed", '[{"op":"remove","path":"/list/-"}]'],
  ["a member that only every object inherits", '[{"op":"remove","path":"/toString"}]'],
  ["below a text", '[{"op":"add","path":"/text/a","value":1}]'],
])("%s is refused, and nothing is changed", (_what, patch) => {
  const document = parse('{"foo":{"bar":1},"list":[1,2],"text":"x"}');
  const before = JSON.stringify(document);
  expect(() => applyJsonPatch(document, readJsonPatch(parse(patch)))).toThrow(PatchRefused);
  expect(JSON.stringify(document)).toBe(before);
});

test("objects are equal whatever the order of their members, and a whole can be replaced", () => {
  expect(apply('{"a":{"x":1,"y":[{}]}}', '[{"op":"test","path":"/a","value":{"y":[{}],"x":1}}]')).toBe('{"a":{"x":1,"y":[{}]}}');
  expect(apply('{"a":1}', '[{"op":"replace","path":"","value":[1]},{"op":"copy","from":"/0","path":"/-"}]')).toBe("[1,1]");
  expect(apply('{"a":1,"b":2}', '[{"op":"move","from":"/a","path":"/a"}]')).toBe('{"a":1,"b":2}');
  expect(apply('{"a":{"b":{}}}', '[{"op":"add","path":"/a/b/__proto__","value":{"c":1}}]')).toBe('{"a":{"b":{"__proto__":{"c":1}}}}');
});
