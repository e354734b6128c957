import { expect, test } from "bun:test";
import { formatPointer, listIndex, PointerInvalid, parsePointer } from "../../src/domain/json-pointer.ts";

/** RFC 6901, section 5: pointers into its document, and the tokens that they name. */
const VECTORS: readonly (readonly [string, readonly string[]])[] = [
  ["", []],
  ["/foo", ["foo"]],
  ["/foo/0", ["foo", "0"]],
  ["/", [""]],
  ["/a~1b", ["a/b"]],
  ["/c%d", ["c%d"]],
  ["/e^f", ["e^f"]],
  ["/g|h", ["g|h"]],
  ["/i\\j", ["i\\j"]],
  ['/k"l', ['k"l']],
  ["/ ", [" "]],
  ["/m~0n", ["m~n"]],
  ["/~01", ["~1"]],
];

test.each(VECTORS)("RFC 6901: '%s'", (pointer, tokens) => {
  expect(parsePointer(pointer)).toEqual([...tokens]);
  expect(formatPointer(tokens)).toBe(pointer);
});

test.each(["foo", "#/foo", "/a~", "/a~2b", "/~"])("'%s' is no pointer", (pointer) => {
  expect(() => parsePointer(pointer)).toThrow(PointerInvalid);
});

test("an index has digits alone, and no leading zeros", () => {
  expect(["0", "7", "10"].map(listIndex)).toEqual([0, 7, 10]);
  expect(["", "01", "-1", "1e1", "1.0", " 1", "-", "99999999999"].map(listIndex)).toEqual(new Array(8).fill(undefined));
});
