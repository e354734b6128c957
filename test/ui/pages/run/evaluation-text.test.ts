/** Evaluations in words, and the lines of their scores. */

import { expect, test } from "bun:test";
import { differenceText, scorerText, scoresOverRuns, scoreText } from "../../../../src/ui/pages/run/evaluation-text.ts";

test("scores have four digits, differences a sign", () => {
  expect([scoreText(2 / 3), scoreText(1), scoreText("NaN"), scoreText(undefined)]).toEqual(["0.6667", "1", "NaN", "-"]);
  expect([differenceText(0.5), differenceText(-0.25), differenceText(0), differenceText(undefined)]).toEqual(["+0.5", "-0.25", "0", "-"]);
});

test.each([
  [{ exactMatch: { column: "a" } }, "equals a"],
  [{ contains: { column: "a", ignoreCase: true } }, "contains a, in any case"],
  [{ numeric: { column: "a" } }, "is the number a"],
  [{ numeric: { column: "a", tolerance: 0.5, relative: 0.1 } }, "is at most 0.5 or 10% from a"],
  [{ judge: { model: "m", integration: "chat" } }, "asks m of chat"],
  [{ judge: { model: "m" } }, "asks m"],
  [{ function: "evals.length" }, "evals.length"],
])("the scorer %j", (scorer, text) => {
  expect(scorerText(scorer)).toBe(text);
});

test("runs with scores are lines by scorer, the oldest first, with gaps", () => {
  const runs = [
    { createdAt: "2026-01-03T00:00:00Z", averageScore: 0.5, scores: [{ scorer: "b", mean: 0.5 }] },
    { createdAt: "2026-01-02T00:00:00Z" },
    { createdAt: "2026-01-01T00:00:00Z", averageScore: 1, scores: [{ scorer: "a", mean: 1 }, { scorer: "b" }] },
  ];
  expect(scoresOverRuns(runs)).toEqual({
    times: [Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-01-03T00:00:00Z")],
    series: [
      { name: "a", values: [1, null] },
      { name: "b", values: [null, 0.5] },
    ],
  });
});
