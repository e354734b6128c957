import { expect, test } from "bun:test";
import { MOST_KEPT, type Output, withOutput } from "../../../../src/ui/pages/compute/command-output.ts";

const NOTHING: Output = { pieces: [], cut: 0 };

test("output stands in the order in which it came, pieces of one stream joined", () => {
  const all = [["stdout", "a"] as const, ["stdout", "b\n"] as const, ["stderr", "wrong"] as const, ["stdout", "c"] as const];
  expect(all.reduce((output, [stream, text]) => withOutput(output, stream, text), NOTHING)).toEqual({
    pieces: [
      { stream: "stdout", text: "ab\n" },
      { stream: "stderr", text: "wrong" },
      { stream: "stdout", text: "c" },
    ],
    cut: 0,
  });
});

test("of a long output the end is kept, and what was cut is counted", () => {
  const first = withOutput(withOutput(NOTHING, "stderr", "x".repeat(10)), "stdout", "y".repeat(MOST_KEPT - 5));
  expect(first.cut).toBe(5);
  expect(first.pieces.map(({ stream, text }) => [stream, text.length])).toEqual([
    ["stderr", 5],
    ["stdout", MOST_KEPT - 5],
  ]);
  const second = withOutput(first, "stdout", "z".repeat(7));
  expect([second.cut, second.pieces.length, second.pieces[0]?.text.endsWith("yzzzzzzz")]).toEqual([12, 1, true]);
});
