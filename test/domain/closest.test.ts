import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { closestNames, didYouMean, editDistance } from "../../src/domain/closest.ts";
import { seeded } from "../harness/seed.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "_"), maxLength: 8 });

describe("editDistance", () => {
  test("one edit of each kind", () => {
    expect([
      editDistance("name", "nam"),
      editDistance("name", "names"),
      editDistance("name", "nime"),
      editDistance("name", "nmae"),
    ]).toEqual([1, 1, 1, 1]);
    expect(editDistance("kitten", "sitting")).toBe(3);
  });

  test("zero for equals only, symmetric, between the difference and the longer length", () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
      seeded(1000),
    );
  });
});

describe("closestNames", () => {
  test("best first, at most three, case ignored", () => {
    expect(closestNames("EMIAL", ["name", "email", "mail", "emails", "e_mail", "age"])).toEqual(["email", "e_mail", "emails"]);
  });

  test("then names that begin with it, then those that hold it", () => {
    expect(closestNames("score", ["credit_score_2020", "score_of_everything", "unrelated"])).toEqual([
      "score_of_everything",
      "credit_score_2020",
    ]);
  });

  test("a name is its own closest", () => {
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, selector: (name) => name.toLowerCase() }), fc.nat(), (names, pick) => {
        const wanted = names[pick % names.length] as string;
        expect(closestNames(wanted, names)[0]).toBe(wanted);
      }),
      seeded(500),
    );
  });
});

test("didYouMean spells them out", () => {
  expect(didYouMean("nmae", ["name"])).toBe("did you mean 'name'?");
  expect(didYouMean("nmae", ["name", "names", "named"])).toBe("did you mean 'name', 'named' or 'names'?");
  expect(didYouMean("nmae", ["quantity"])).toBe("");
  expect(didYouMean("", ["a", "quantity"])).toBe("");
});
