import { expect, test } from "bun:test";
import fc from "fast-check";
import { CsvError, csvText, parseCsv } from "../../src/domain/csv.ts";
import { seeded } from "../harness/seed.ts";

test("rows are read as spreadsheets write them", () => {
  const cases: readonly [string, string[][]][] = [
    ["", []],
    [
      "a,b\n1,2",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    ["\ufeffa\r\n\r\n1\r\n", [["a"], ["1"]]],
    [
      'a,"b ""c"", d\ne"\n1,',
      [
        ["a", 'b "c", d\ne'],
        ["1", ""],
      ],
    ],
    [",\n", [["", ""]]],
    ["a,", [["a", ""]]],
    ['a b"c', [['a b"c']]],
  ];
  for (const [text, rows] of cases) expect([text, parseCsv(text)]).toEqual([text, rows]);
});

test("a text that is none is refused with its line, and so is one with too many rows", () => {
  const messageOf = (text: string, most?: number) => {
    try {
      return parseCsv(text, most);
    } catch (error) {
      return error instanceof CsvError ? error.message : error;
    }
  };
  expect(messageOf('a\n"b\nc')).toBe("Line 2: a quote begins here and does not end.");
  expect(messageOf('a\n"b\nc"d')).toBe("Line 3: something follows the end of a quote.");
  expect(messageOf("a\nb\nc", 2)).toBe("Line 3: there are more than 2 rows.");
});

test("what is written reads back, but for what a spreadsheet would compute", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", " ", "ä") });
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 5 }), (rows) => {
      const safe = rows.map((row) => row.map((one) => (one.startsWith("\r") ? `x${one}` : one)));
      expect(parseCsv(csvText(safe))).toEqual(safe);
    }),
    seeded(500),
  );
  expect(csvText([["=1+1", "-2.5", "@x"]])).toBe("'=1+1,-2.5,'@x\r\n");
});
