/** Whatever stands in a file and wherever the cursor is, asking gives an answer, soon. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { headerKeyAt, meaningAt, suggestionsAt } from "../../../src/project/editor/name-lookup.ts";
import { Vocabulary } from "../../../src/project/editor/vocabulary.ts";
import { readProjectText } from "../../../src/project/lint/lint.ts";
import { isNearLinear } from "../../harness/growth.ts";
import { seeded } from "../../harness/seed.ts";

const MODELS = `from svc.features import features


@features
class User:
    id: int
    name: str
`;
const words = fc.constantFrom(
  ..."User user id name . : ( ) [ ] { } ${ } -- # ' \" \\ \n import from as select where resolves: source: @online def f -> = , | 😀 é __600__ \t".split(
    " ",
  ),
  " ",
);
const anyText = fc.array(words, { maxLength: 60 }).map((parts) => parts.join(""));

test("no text and no cursor is too much", () => {
  fc.assert(
    fc.property(anyText, fc.nat(), fc.constantFrom("a.py", "a.svc.sql", "a.txt"), (text, seed, path) => {
      const files = [
        { path: "models.py", text: MODELS },
        { path, text },
      ];
      const { graph } = readProjectText({ files });
      const vocabulary = new Vocabulary(graph, undefined, (wanted) => files.find((file) => file.path === wanted)?.text);
      const offset = seed % (text.length + 1);
      for (const { label } of suggestionsAt(vocabulary, path, text, offset)) expect(label).not.toBe("");
      meaningAt(vocabulary, path, text, offset);
      headerKeyAt(path, text, offset);
    }),
    seeded(500),
  );
});

test("a key of a header is said what it means, where it stands and where it is suggested", () => {
  const { graph } = readProjectText({ files: [{ path: "models.py", text: MODELS }] });
  const vocabulary = new Vocabulary(graph, undefined, () => MODELS);
  const text = "-- resolves: User\n-- Unique-On: [id]\nselect id from unique_on\n";
  const at = (word: string) => headerKeyAt("a.svc.sql", text, text.indexOf(word) + 2);
  const says = "Columns of which no two rows have the same values, or the resolver fails: `[id, day]`.";
  expect(at("Unique-On")).toBe(`\`unique_on\`: ${says}`);
  expect([at("[id]"), at("unique_on"), at("select"), headerKeyAt("a.py", text, text.indexOf("Unique") + 2)]).toEqual([
    ...[undefined, undefined, undefined, undefined],
  ]);
  const suggested = suggestionsAt(vocabulary, "a.svc.sql", "-- resolves: User\n-- uni", 24);
  expect(suggested.find(({ label }) => label === "unique_on")?.about).toBe(says);
});

test("the cost of a long line grows as the line does", () => {
  const { graph } = readProjectText({ files: [{ path: "models.py", text: MODELS }] });
  const vocabulary = new Vocabulary(graph, undefined, () => MODELS);
  const lines: readonly (readonly [size: number, line: (size: number) => string])[] = [
    [50_000, (size) => "'".repeat(size)],
    [10_000, (size) => "User.".repeat(size)],
    [20_000, (size) => `x = ${'"a" '.repeat(size)}#`],
    [20_000, (size) => "a b ".repeat(size)],
    [30_000, (size) => "--".repeat(size)],
    [30_000, (size) => "${".repeat(size)],
  ];
  for (const [size, line] of lines)
    for (const path of ["a.py", "a.svc.sql"]) {
      const isCheap = isNearLinear(size, (length) => {
        const text = line(length);
        suggestionsAt(vocabulary, path, text, text.length);
        meaningAt(vocabulary, path, text, text.length);
      });
      expect([path, line(3), isCheap]).toEqual([path, line(3), true]);
    }
});
