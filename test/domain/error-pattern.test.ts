import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { errorPattern } from "../../src/domain/error-pattern.ts";
import { seeded } from "../harness/seed.ts";

describe("the pattern of an error", () => {
  test.each([
    ["user 13 has no score", "user <n> has no score"],
    ["took -1.5e3 of 2_000 ms", "took <n> of <n> ms"],
    ["at 2024-05-01 12:00", "at <n>-<n>-<n> <n>:<n>"],
    ["KeyError: 'zoe@example.com'", "KeyError: '<text>'"],
    ["no \"a 'b' c\" and `d`", 'no "<text>" and `<text>`'],
    ["it can't, and doesn't", "it can't, and doesn't"],
    ["row 0198c0de-7a4b-7f1e-9c52-d8e3b6a1f047 is gone", "row <id> is gone"],
    ["deployment dpl_0198c0de7a4b ended", "deployment <id> ended"],
    ["object at 0x7f3A", "object at <hex>"],
    ["digest 9f86d081884c7d65 differs", "digest <hex> differs"],
    ["feature user.name_2 of resolver get_v3", "feature user.name_2 of resolver get_v3"],
    ["defaced and deadbeefs", "defaced and deadbeefs"],
    ["first\n  second\t3", "first second <n>"],
    ["raised at 7 (resolvers.py:12)", "raised at <n> (resolvers.py:12)"],
    ["", ""],
  ])("of %j is %j", (message, pattern) => expect(errorPattern(message)).toBe(pattern));

  test("is the same whatever number and text it names", () => {
    const named = fc.tuple(fc.integer(), fc.stringMatching(/^[a-z @.]{0,40}$/));
    const property = fc.property(named, ([number, text]) => {
      expect(errorPattern(`no row ${number} of '${text}' here`)).toBe("no row <n> of '<text>' here");
    });
    fc.assert(property, seeded(200));
  });
});
