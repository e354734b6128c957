import { expect, test } from "bun:test";
import fc from "fast-check";
import { LineMap } from "../../src/domain/line-map.ts";
import { seeded } from "../harness/seed.ts";

test("lines and columns count from 1, columns in code points", () => {
  const lines = new LineMap("f", "ab\n😀é😀x\n");
  expect(lines.position(0)).toEqual({ line: 1, column: 1 });
  expect(lines.position(2)).toEqual({ line: 1, column: 3 });
  expect(lines.position(3)).toEqual({ line: 2, column: 1 });
  expect(lines.position(8)).toEqual({ line: 2, column: 4 });
  expect(lines.position(10)).toEqual({ line: 3, column: 1 });
  expect(lines.position(-5)).toEqual({ line: 1, column: 1 });
  expect(lines.position(99)).toEqual({ line: 3, column: 1 });
  expect(lines.span(3, 8)).toMatchObject({ file: "f", line: 2, column: 1, endLine: 2, endColumn: 4 });
  expect([0, 1, 2, 3, 9].map((line) => lines.lineStart(line))).toEqual([0, 0, 3, 10, 10]);
});

test("every position is what counting by hand gives", () => {
  const units = fc.array(fc.constantFrom("a", "\n", "é", "😀", "\r")).map((parts) => parts.join(""));
  fc.assert(
    fc.property(units, fc.nat(50), (text, raw) => {
      const offset = Math.min(raw, text.length);
      if (/[\ud800-\udbff]$/.test(text.slice(0, offset))) return;
      const before = text.slice(0, offset).split("\n");
      expect(new LineMap("f", text).position(offset)).toEqual({ line: before.length, column: [...(before.at(-1) as string)].length + 1 });
    }),
    seeded(500),
  );
});
