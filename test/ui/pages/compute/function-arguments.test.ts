import { expect, test } from "bun:test";
import { argumentsProblem, exampleArguments, resultLines } from "../../../../src/ui/pages/compute/function-arguments.ts";

test("an example has one row of what has to be given, and is no problem", () => {
  const example = exampleArguments([
    { name: "amount", dtype: { primitive: "PRIMITIVE_TYPE_FLOAT64" } },
    { name: "name", dtype: { primitive: "PRIMITIVE_TYPE_STRING" } },
    { name: "tags", dtype: { list: {} } },
    { name: "rate", dtype: { primitive: "PRIMITIVE_TYPE_FLOAT64" }, hasDefault: true },
  ]);
  expect(JSON.parse(example)).toEqual({ amount: [1.5], name: [""], tags: [[]] });
  expect([argumentsProblem(example), argumentsProblem("{}")]).toEqual([undefined, undefined]);
});

test.each([
  ["{", /^This is no JSON: /],
  ["[1]", /^Arguments are a JSON object/],
  ["null", /^Arguments are a JSON object/],
  ['{"a": 1}', /^'a' is no list/],
])("%s is told", (text, said) => {
  expect(argumentsProblem(text)).toMatch(said);
});

test("results are lines", () => {
  expect(resultLines('{"result": ["a\\nb", null, 1.5]}')).toBe('"a\\nb"\nnull\n1.5');
  expect(resultLines("{}")).toBe("");
});
