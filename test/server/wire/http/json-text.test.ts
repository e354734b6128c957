import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { JsonRefused, jsonText, quoted, repeatedName } from "../../../../src/server/wire/http/json-text.ts";
import { seeded } from "../../../harness/seed.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const INPUTS = quoted("inputs");

function refusalOf(body: Uint8Array, maxValues?: number): string {
  try {
    jsonText(body, maxValues);
    return "taken";
  } catch (error) {
    if (error instanceof JsonRefused) return error.message;
    throw error;
  }
}

describe("what is not UTF-8 is refused with its first wrong byte", () => {
  test.each([
    ["a byte that begins nothing", [0x22, 0x61, 0xff, 0x22], 2],
    ["a character that is cut", [0x22, 0xc3, 0xa4, 0xe2, 0x82], 3],
    ["a character written too long", [0x7b, 0xc0, 0xaf], 1],
    ["half of a surrogate pair", [0xed, 0xa0, 0x80], 0],
    ["a character beyond the last", [0x31, 0xf4, 0x90, 0x80, 0x80], 1],
    ["a byte that only goes on", [0x20, 0x80], 1],
  ])("%s", (_, body, at) => {
    expect(refusalOf(new Uint8Array(body))).toBe(`the body is not UTF-8: byte ${at} begins no character`);
  });

  test("and the rest is the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(jsonText(bytes(JSON.stringify(text))).text).toBe(JSON.stringify(text));
      }),
      seeded(100),
    );
  });
});

test("depth and number of values are bounded, and what stands in strings does not count", () => {
  expect(refusalOf(bytes("[".repeat(200) + "]".repeat(200)))).toBe("taken");
  expect(refusalOf(bytes("[".repeat(201)))).toBe("lists and objects lie in one another more than 200 deep (byte 200)");
  expect(refusalOf(bytes(JSON.stringify("[{,".repeat(1_000) + '\\"')), 1)).toBe("taken");
  expect(refusalOf(bytes("[1,2,3]"), 3)).toBe("taken");
  expect(refusalOf(bytes("[1,2,3,4]"), 3)).toBe("the body has more than 3 values; send it in parts");
  expect(refusalOf(bytes('"'))).toBe("taken");
  expect(refusalOf(bytes('"\\'))).toBe("taken");
});

test("members that come twice are found, in any JSON", () => {
  expect(repeatedName(bytes('{"a":1,"b":{"a":2,"a":3},"a":4}'))).toBe("a");
  expect(repeatedName(bytes('{"a":1,"b":{"a":2,"a":3}}'))).toBeUndefined();
  expect(repeatedName(bytes('{"inputs":{"x\\u0041":1,"y":{"y":1,"y":2},"xA":2}}'), INPUTS)).toBe("xA");
  const key = fc.constantFrom("a", "b", '"', "\\", "inputs", "__proto__", "1");
  const members = (value: fc.Arbitrary<string>) => fc.array(fc.tuple(key, value), { maxLength: 4 });
  const object = (entries: readonly (readonly [string, string])[]) =>
    `{${entries.map(([name, value]) => ` ${JSON.stringify(name)} : ${value}`).join(" ,")}}`;
  const leaf = fc.constantFrom("1", "[]", '{"a":1,"a":2}', '"},{"', "null");
  fc.assert(
    fc.property(members(fc.oneof(leaf, members(leaf).map(object))), (entries) => {
      const body = bytes(object(entries));
      const parsed = JSON.parse(object(entries)) as Record<string, unknown>;
      const counted = jsonText(body, undefined, INPUTS);
      const isTwice = new Set(entries.map(([name]) => name)).size < entries.length;
      expect(counted.members > Object.keys(parsed).length).toBe(isTwice);
      expect(repeatedName(body) !== undefined).toBe(isTwice);
    }),
    seeded(100),
  );
});
