import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readHeader } from "../../../src/domain/sql/header.ts";
import { seeded } from "../../harness/seed.ts";

/** Entries as key and the text of the value in the file. */
function entries(file: string) {
  const header = readHeader(file);
  return {
    ...header,
    shown: header.entries.map((entry) => [file.slice(entry.keyStart, entry.keyEnd), file.slice(entry.value.start, entry.value.end)]),
    body: file.slice(header.bodyStart),
  };
}

describe("header", () => {
  test("entries, docstring and body", () => {
    const { shown, docstring, body, problems } = entries(
      "-- Users.\n-- resolves: User\n\n--source: pg\n-- Note: of the app\nselect 1 -- no header: here\n",
    );
    expect(shown).toEqual([
      ["resolves", "User"],
      ["source", "pg"],
    ]);
    expect(docstring).toBe("Users.\nNote: of the app");
    expect(body).toBe("select 1 -- no header: here\n");
    expect(problems).toEqual([]);
  });

  test("values over several lines", () => {
    const { shown, body } = entries(
      "-- tags:\n--   - team:risk\n--   - pii\n-- fields: {\n--   uid: id\n-- }\n-- environment: [a,\n--   b]\nselect 1",
    );
    expect(shown).toEqual([
      ["tags", "- team:risk\n--   - pii"],
      ["fields", "{\n--   uid: id\n-- }"],
      ["environment", "[a,\n--   b]"],
    ]);
    expect(body).toBe("select 1");
  });

  test("a list at the indentation of its key", () => {
    expect(entries("-- tags:\n-- - a\n-- - b\n-- owner: x\nselect 1").shown.map(([key]) => key)).toEqual(["tags", "owner"]);
  });

  test("keys in any case, with `-` for `_`", () => {
    expect(readHeader("-- RESOLVES: a\n-- Cron: 1d\n").entries.map((entry) => entry.known)).toEqual(["resolves", "cron"]);
  });

  test("prose is no entry, an unknown lower-case key is one", () => {
    const { entries: found, docstring } = readHeader(
      "-- Example: x\n-- todo: mend\n-- see https://example.com\n-- ratio 1:2\n-- cache: 1d\n-- Ownr: x\n",
    );
    expect(found.map((entry) => [entry.key, entry.known])).toEqual([
      ["cache", undefined],
      ["Ownr", undefined],
    ]);
    expect(docstring).toBe("Example: x\ntodo: mend\nsee https://example.com\nratio 1:2");
  });

  test("a key given twice", () => {
    const file = "-- owner: a\n-- Owner: b\nselect 1";
    expect(readHeader(file).problems.map(({ message, start, end }) => [message, file.slice(start, end)])).toEqual([
      ["'Owner' is given twice", "Owner"],
    ]);
  });

  test("YAML errors are where they are in the file", () => {
    const file = "-- Users.\n--   resolves: User\n-- tags: [a, b\n-- owner: x\nselect 1";
    const [problem] = readHeader(file).problems;
    expect(file.slice(0, problem?.start).split("\n")).toHaveLength(4);
  });

  test("hostile headers: nesting, references, size", () => {
    expect(readHeader(`-- tags: ${"[".repeat(100_000)}\nselect 1`).problems.length).toBeGreaterThan(0);
    expect(readHeader("-- tags: &a [*a]\nselect 1").problems.length).toBeGreaterThan(0);
    const bomb = [
      "a: &a [x, x, x, x, x, x, x, x, x, x]",
      ..."bcdefg".split("").map((name, i) => `${name}: &${name} [${Array(10).fill(`*${"abcdef"[i]}`).join(", ")}]`),
    ];
    expect(readHeader(`${bomb.map((line) => `-- ${line}`).join("\n")}\nselect 1`).problems).toMatchObject([
      { message: "it has more than 20000 values" },
    ]);
    expect(readHeader(`-- owner: ${"x".repeat(10_000_000)}\nselect 1`).problems).toMatchObject([
      { message: "it is longer than 65536 characters" },
    ]);
  });

  test("never throws; places are inside of the text", () => {
    const lines = fc.constantFrom(
      "-- a: b",
      "-- resolves: x",
      "--   - y",
      "-- ]",
      "-- tags: [",
      "--",
      "-- &a *a",
      "-- : :",
      "--\t? x",
      "-- 'x",
      '-- "',
      "-- !!x y",
      "-- | ",
      "text",
      "",
      "\r",
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(lines).map((parts) => parts.join("\n")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const header = readHeader(text);
        expect(header.bodyStart).toBeLessThanOrEqual(text.length);
        for (const { keyStart, keyEnd, value } of header.entries)
          for (const offset of [keyStart, keyEnd, value.start, value.end]) {
            expect(offset).toBeGreaterThanOrEqual(0);
            expect(offset).toBeLessThanOrEqual(text.length);
          }
      }),
      seeded(1500),
    );
  });
});
