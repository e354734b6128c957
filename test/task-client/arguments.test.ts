import { expect, test } from "bun:test";
import { argumentsOfLines, argumentsOfTexts } from "../../src/task-client/arguments.ts";

test("texts are positional, or have a name; their values stay texts", () => {
  expect(argumentsOfTexts(["a", "n=3", "x=a=b", "=c", "2=d", "é=", "m=l1\nl2"])).toEqual({
    argsJson: '["a","=c","2=d"]',
    kwargsJson: JSON.stringify({ n: "3", x: "a=b", é: "", m: "l1\nl2" }),
  });
});

test("a name that all objects have is a name as any other", () => {
  expect(JSON.parse(argumentsOfTexts(["__proto__=1", "toString=2"]).kwargsJson).toString).toBe("2");
  expect(argumentsOfTexts(["__proto__=1"]).kwargsJson).toBe('{"__proto__":"1"}');
});

test("each line of a file is a task: positional arguments, arguments by name, or both kinds", () => {
  const lines = '{"n": 1}\r\n\n{"args": [1, "a"], "kwargs": {"k": null}}\n{"args": [2]}\n{}\n[3, "b"]\n[]\n';
  expect(argumentsOfLines(lines, "a.jsonl")).toEqual([
    { argsJson: "[]", kwargsJson: '{"n":1}' },
    { argsJson: '[1,"a"]', kwargsJson: '{"k":null}' },
    { argsJson: "[2]", kwargsJson: "{}" },
    { argsJson: "[]", kwargsJson: "{}" },
    { argsJson: '[3,"b"]', kwargsJson: "{}" },
    { argsJson: "[]", kwargsJson: "{}" },
  ]);
});

test.each([
  ["[1]\n1", "a.jsonl, line 2: neither a list nor an object"],
  ['{"n": 1}\n{', "a.jsonl, line 2: no JSON: "],
  ['{"args": 1}', "a.jsonl, line 1: `args` is no list"],
  ['{"kwargs": []}', "a.jsonl, line 1: `kwargs` is no object"],
  ["\n\n", "a.jsonl has no line, and each line is a task"],
])("%j is refused with its line", (text, message) => {
  expect(() => argumentsOfLines(text, "a.jsonl")).toThrow(message);
});
