import { expect, test } from "bun:test";
import { matchesPattern } from "../../../src/server/catalog/environment-tables.ts";
import { isNearLinear } from "../../harness/growth.ts";

test("in a pattern * and % are any text and ? is one character, and everything else is itself, whatever the case", () => {
  const matching = [
    ["score", ""],
    ["Score", "sCORE"],
    ["score", "*"],
    ["score", "%co*e"],
    ["score", "sc?re"],
    ["sc_re", "sc_re"],
    ["a\\b", "a\\*"],
    ["a.b+(c)", "a.b+(?)"],
    ["größe\nx", "GRÖ?E*"],
  ];
  for (const [name, pattern] of matching as [string, string][])
    expect([name, pattern, matchesPattern(name, pattern)]).toEqual([name, pattern, true]);
  const others = [
    ["score", "core"],
    ["score", "sc_re"],
    ["score", "sco?"],
    ["score", "sc??re"],
    ["score", "s.*e"],
    ["ab", "a\\*"],
    ["score", "*x*"],
  ];
  for (const [name, pattern] of others as [string, string][])
    expect([name, pattern, matchesPattern(name, pattern)]).toEqual([name, pattern, false]);
});

test("a pattern of many stars takes as long as the name is, not as there are ways to match", () => {
  expect(isNearLinear(20_000, (length) => void matchesPattern("a".repeat(length), `${"*a".repeat(20)}*b`))).toBe(true);
});
