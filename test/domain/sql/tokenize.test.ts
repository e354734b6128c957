import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { identifierName, type SqlDialect, tokenize } from "../../../src/domain/sql/tokenize.ts";
import { seeded } from "../../harness/seed.ts";

const kinds = (text: string, dialect?: SqlDialect) =>
  tokenize(text, dialect).map(({ kind, start, end }) => `${kind}:${text.slice(start, end)}`);

describe("tokenize", () => {
  test("words, numbers, punctuation", () => {
    expect(kinds("select a.b::int, 1.5e3 from t2")).toEqual([
      "word:select",
      "word:a",
      "punctuation:.",
      "word:b",
      "punctuation:::",
      "word:int",
      "punctuation:,",
      "number:1.5e3",
      "word:from",
      "word:t2",
    ]);
  });

  test("strings: doubled quotes, prefixes, escapes of PostgreSQL and MySQL", () => {
    expect(kinds("'it''s' N'x' e'a\\'b' 'c\\'")).toEqual(["string:'it''s'", "string:N'x'", "string:e'a\\'b'", "string:'c\\'"]);
    expect(kinds("'a\\'b' 1", "mysql")).toEqual(["string:'a\\'b'", "number:1"]);
  });

  test("dollar quotes, where the dialect has them", () => {
    expect(kinds("$$ ' $$ $tag$ $$ $tag$ $1")).toEqual(["string:$$ ' $$", "string:$tag$ $$ $tag$", "punctuation:$", "number:1"]);
    expect(kinds("$$", "sqlite")).toEqual(["punctuation:$", "punctuation:$"]);
  });

  test("quoted identifiers by dialect", () => {
    expect(kinds('"a ""b""" `c` [d]', "sqlite")).toEqual(['quoted:"a ""b"""', "quoted:`c`", "quoted:[d]"]);
    expect(kinds("a[1]", "postgresql")).toEqual(["word:a", "punctuation:[", "number:1", "punctuation:]"]);
  });

  test("comments: lines, blocks that nest only in PostgreSQL, `#` of MySQL", () => {
    expect(kinds("a -- b\nc /* d /* e */ f */ g")).toEqual(["word:a", "comment:-- b", "word:c", "comment:/* d /* e */ f */", "word:g"]);
    expect(kinds("/* d /* e */ f", "sqlite")).toEqual(["comment:/* d /* e */", "word:f"]);
    expect(kinds("a # b\nc", "mysql")).toEqual(["word:a", "comment:# b", "word:c"]);
  });

  test("placeholders end on their line", () => {
    expect(kinds("${user.id} = ${now}")).toEqual(["placeholder:${user.id}", "punctuation:=", "placeholder:${now}"]);
    expect(tokenize("${a\nb}")[0]).toEqual({ kind: "placeholder", start: 0, end: 3, open: true });
  });

  test("what is not closed reaches to the end and says so", () => {
    for (const text of ["'a", '"a', "`a", "$$a", "/* a", "e'a\\'"])
      expect(tokenize(text)).toEqual([expect.objectContaining({ start: 0, end: text.length, open: true })]);
  });

  test("names of identifiers", () => {
    expect(['"a ""b"""', "`c``d`", "[e]", "f", "'g'"].map(identifierName)).toEqual(['a "b"', "c`d", "e", "f", "g"]);
  });

  test("never throws, on any text: tokens are in order, inside of the text, and hold everything but blanks", () => {
    const pieces = fc.constantFrom(
      "'",
      '"',
      "`",
      "$$",
      "$a$",
      "${",
      "}",
      "/*",
      "*/",
      "--",
      "\n",
      "#",
      "\\",
      "select",
      "é",
      "😀",
      "1.",
      ".",
      "::",
      "[",
      "]",
      " ",
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((parts) => parts.join("")),
    );
    const dialects = fc.constantFrom<SqlDialect | undefined>(undefined, "postgresql", "mysql", "sqlite");
    fc.assert(
      fc.property(texts, dialects, (text, dialect) => {
        let at = 0;
        let gaps = "";
        for (const token of tokenize(text, dialect)) {
          expect(token.start).toBeGreaterThanOrEqual(at);
          expect(token.end).toBeGreaterThan(token.start);
          gaps += text.slice(at, token.start);
          at = token.end;
        }
        expect(at).toBeLessThanOrEqual(text.length);
        expect((gaps + text.slice(at)).trim()).toBe("");
      }),
      seeded(2000),
    );
  });
});
