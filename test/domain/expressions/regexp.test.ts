import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { EvaluationError } from "../../../src/domain/expressions/evaluation-error.ts";
import { compileLinear } from "../../../src/domain/expressions/regexp.ts";
import { isLike } from "../../../src/domain/expressions/text.ts";
import { seeded } from "../../harness/seed.ts";

setDefaultTimeout(300_000);

const { pattern } = fc.letrec<{ pattern: string; sequence: string; item: string; atom: string }>((tie) => ({
  pattern: fc.array(tie("sequence"), { minLength: 1, maxLength: 2 }).map((options) => options.join("|")),
  sequence: fc.array(tie("item"), { maxLength: 3 }).map((items) => items.join("")),
  item: fc.tuple(tie("atom"), fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?")).map((parts) => parts.join("")),
  atom: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom("a", "b", "😀", ".", "[ab]", "[^a]", "[a-c😀]", "\\w", "\\d", "\\W"),
    tie("pattern").map((inner) => `(${inner})`),
    tie("pattern").map((inner) => `(?:${inner})`),
  ),
}));
const text = fc.array(fc.constantFrom("a", "b", "c", "1", "😀", " "), { maxLength: 8 }).map((signs) => signs.join(""));

test("finds what a backtracking engine finds", () => {
  let found = 0;
  fc.assert(
    fc.property(pattern, text, fc.constantFrom("", "^", "$", "^$"), (inner, given, anchors) => {
      const source = `${anchors.includes("^") ? "^" : ""}(?:${inner})${anchors.includes("$") ? "$" : ""}`;
      const wanted = new RegExp(source, "u").test(given);
      if (wanted) found++;
      expect(compileLinear(source).isIn(given)).toBe(wanted);
    }),
    seeded(1000),
  );
  expect(found).toBeGreaterThan(50);
});

test("matches that take too many steps are an error, and those of long texts are found", () => {
  expect(() => [...compileLinear("(a+)+b|a").matches("a".repeat(5000))]).toThrow(EvaluationError);
  expect(() => [...compileLinear(`(?:${"(x?)".repeat(300)}y)|x`).matches("x".repeat(20_000))]).toThrow(EvaluationError);
  const found = [...compileLinear("\\w+@(\\w+)").matches("to ann@example and ".repeat(2000))];
  expect([found.length, found[1999]]).toEqual([2000, { from: 1999 * 19 + 3, to: 1999 * 19 + 14, texts: ["ann@example", "example"] }]);
});

test("endless repetitions of what may be empty are no searches", () => {
  for (const source of ["(a*)*", "(?:a|b?)+", "(^)*x", "(a{0,2}){2,}"])
    expect(() => compileLinear(source).matches("a")).toThrow("repeats what may be empty");
  expect(compileLinear("(a*)*").isIn("a")).toBe(true);
});

test("patterns of `like` are the regular expressions that they stand for", () => {
  const like = fc.array(fc.constantFrom("a", "b", "%", "_", "😀"), { maxLength: 6 });
  fc.assert(
    fc.property(like, text, (signs, given) => {
      const source = signs.map((sign) => (sign === "%" ? ".*" : sign === "_" ? "." : sign)).join("");
      expect(isLike(given, signs.join(""))).toBe(new RegExp(`^${source}$`, "su").test(given));
    }),
    seeded(2000),
  );
});
