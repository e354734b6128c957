import { expect, test } from "bun:test";
import { EscapeKeys } from "../../src/shell-client/escape-keys.ts";

const take = (...typed: readonly string[]): readonly [string, boolean] => {
  const keys = new EscapeKeys();
  let [passed, isEnd] = ["", false];
  for (const text of typed) {
    const taken = keys.take(new TextEncoder().encode(text));
    passed += new TextDecoder().decode(taken.bytes);
    isEnd ||= taken.isEnd;
  }
  return [passed, isEnd];
};

test.each([
  ["~. at the beginning ends it", ["~."], "", true],
  ["~. after Enter ends it", ["ls\r~.rest"], "ls\r", true],
  ["key by key too", ["a", "\r", "~", "."], "a\r", true],
  ["~~ is one ~", ["~~."], "~.", false],
  ["~ within a line is a ~", ["echo ~.\r"], "echo ~.\r", false],
  ["~ and another key are both passed on", ["~/bin\r~a"], "~/bin\r~a", false],
  ["~~ at the beginning does not end a line", ["~~~."], "~~.", false],
])("%s", (_name, typed, passed, isEnd) => {
  expect(take(...typed)).toEqual([passed, isEnd]);
});
