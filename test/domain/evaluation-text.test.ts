/** Evaluations in words. */

import { expect, test } from "bun:test";
import { datasetText, inputsText, rowFailureText } from "../../src/domain/evaluation-text.ts";

test("definitions are told as code writes them", () => {
  expect([datasetText({ dataset: "a" }), datasetText({ dataset: "a", revision: "rev_1" }), datasetText({ revision: "rev_1" })]).toEqual([
    ...["a", "a@rev_1", "rev_1"],
  ]);
  const inputs = [
    { parameter: "text", column: "text" },
    { parameter: "name", column: "user.name" },
  ];
  expect([inputsText(inputs), inputsText()]).toEqual(["text, name=user.name", ""]);
});

test("a row that failed is told with its key and the scorer, where there are such", () => {
  expect(rowFailureText({ row: 2n, key: "abc", scorer: "length", message: "KeyError: 'odd'" })).toBe(
    "row 2 (abc), scorer length: KeyError: 'odd'",
  );
  expect(rowFailureText({ row: "0", message: "it" })).toBe("row 0: it");
});
