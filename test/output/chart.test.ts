import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { caretText } from "../../src/output/caret.ts";
import { chartText, MAX_LINES } from "../../src/output/chart.ts";
import { compressed, sparkline } from "../../src/output/sparkline.ts";
import { createStyle, plainStyle } from "../../src/output/style.ts";
import { seeded } from "../harness/seed.ts";

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 5, 11);
const timesOf = (count: number) => Array.from({ length: count }, (_, at) => T0 + at * MINUTE);
const ascii = (width: number) => plainStyle({ width, isTTY: true });
const format = (value: number) => String(Number(value.toPrecision(3)));
const plain = (text: string) => Bun.stripANSI(text);

/** The rows of a chart between its axis and the marks at the right end. */
const plotOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => /[|+┤│]/.test(line) && !/[-─]{5}/.test(line))
    .map((line) => plain(line).replace(/^.*?[|+┤│]/, ""));

describe("a chart", () => {
  test("draws a value at its height and its time", () => {
    const drawn = chartText({ series: [{ name: "n", values: [0, 50, 100] }], times: timesOf(3), shape: "lines", format }, ascii(40));
    const rows = plotOf(drawn);
    expect(rows.length).toBe(10);
    expect([rows[0]?.trimEnd().length, rows[9]?.[0]]).toEqual([32, "a"]);
    expect(drawn).toContain("\n  0 +a");
    expect(drawn).toStartWith("100 +");
    expect(drawn.split("\n").at(-1)).toMatch(/^ +11:00 +11:01 +11:02 UTC$/);
  });

  test("has braille dots, 2 by 4 in a cell, with colours", async () => {
    const style = await createStyle({ isTTY: true, color: "always", width: 40 });
    const dots = (text: string) => {
      const found: [number, number][] = [];
      // Unicode's numbers of the dots, 1 to 8, by column and row.
      const places = [
        ...[[0, 0] as const, [0, 1] as const, [0, 2] as const, [1, 0] as const],
        ...[[1, 1] as const, [1, 2] as const, [0, 3] as const, [1, 3] as const],
      ];
      for (const [y, row] of plotOf(text).entries())
        for (const [x, sign] of [...row].entries()) {
          const bits = (sign.codePointAt(0) ?? 0) - 0x2800;
          if (bits > 0 && bits < 256)
            for (const [dot, [dx, dy]] of places.entries()) if ((bits >> dot) & 1) found.push([x * 2 + dx, y * 4 + dy]);
        }
      return found;
    };
    const of = (values: (number | undefined)[]) =>
      dots(chartText({ series: [{ name: "n", values }], times: timesOf(values.length), shape: "lines", format }, style));
    expect(of([undefined, 0, undefined, 1, undefined])).toEqual([
      [Math.round(0.75 * 63), 0],
      [Math.round(0.25 * 63), 39],
    ]);
    expect(of([0, undefined]).length).toBe(1);
    expect(new Set(of([0, 1]).map(([x]) => x)).size).toBe(64);
  });

  test("has bars that stand on zero for whole periods", () => {
    const drawn = chartText({ series: [{ name: "n", values: [1, undefined, 0, 2] }], times: timesOf(4), shape: "bars", format }, ascii(40));
    const rows = plotOf(drawn);
    expect(rows[0]?.trim()).toMatch(/^#+$/);
    expect(rows[9]).toMatch(/^#{8} {16}#{8}$/);
    expect(drawn).not.toContain("last");
  });

  test("of several series has a letter for each, at its end and in the legend", () => {
    const series = ["fraud", "score\u001b[31m\u202e", "x".repeat(100)].map((name, at) => ({ name, values: [at, at] }));
    const drawn = chartText({ series, times: timesOf(2), shape: "lines", format }, ascii(60));
    const lines = drawn.split("\n");
    expect(lines.slice(-3).map((line) => line[0])).toEqual(["a", "b", "c"]);
    expect(lines.at(-2)).toStartWith("b score\\x1b[31m\\u202e");
    expect(lines.at(-1)).toMatch(/^c x+… +last 2 {2}min 2 {2}max 2$/);
    const ends = lines.slice(0, 10).map((line) => line.at(-1));
    expect(["a", "b", "c"].map((letter) => ends.indexOf(letter))).toEqual([9, expect.any(Number), 0]);
    expect(new Set(ends.filter((sign) => /[abc]/.test(sign ?? ""))).size).toBe(3);
  });

  test("of any values fits its terminal, and tells no lie about where they are", () => {
    const value = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 }),
      fc.constant(undefined),
      fc.constant(0),
    );
    const shapes = fc.record({
      series: fc.array(fc.array(value, { minLength: 1, maxLength: 400 }), { minLength: 1, maxLength: 12 }),
      width: fc.integer({ min: 40, max: 250 }),
      shape: fc.constantFrom("lines", "bars"),
    });
    fc.assert(
      fc.property(shapes, ({ series, shape, width }) => {
        const count = Math.max(...series.map((values) => values.length));
        const text = chartText(
          {
            series: series.map((values, at) => ({ name: `s${at}`, values })),
            times: timesOf(count),
            shape: shape as "lines" | "bars",
            format,
          },
          ascii(width),
        );
        const lines = text.split("\n");
        for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
        const drawn = shape === "bars" ? 1 : Math.min(series.length, MAX_LINES);
        expect(lines.length).toBe(12 + (drawn > 1 ? drawn : 0));
      }),
      seeded(200),
    );
  });
});

describe("a sparkline", () => {
  test("has a block for each value by its share, and a blank where there is none", () => {
    expect(sparkline([0, 1, 2, 4, 8, undefined, 8])).toBe("▁▁▂▄█ █");
    expect(sparkline([0, 0])).toBe("▁▁");
    expect(sparkline([])).toBe("");
    expect(sparkline([0, 7, undefined], { ascii: true })).toBe("_# ");
  });

  test("in fewer places has the largest of several", () => {
    expect(compressed([1, 2, undefined, undefined, 5, 3], 3)).toEqual([2, undefined, 5]);
    expect(compressed([1, 2, 3], 3)).toEqual([1, 2, 3]);
    expect(sparkline([1, 8, 1, 1], { width: 2 })).toBe("█▁");
  });
});

describe("a caret", () => {
  test("stands below the part, whatever stands before it", () => {
    expect(caretText("p99:latancy{}", 4, 11)).toBe("p99:latancy{}\n    ^^^^^^^");
    expect(caretText("日本 x", 3, 4)).toBe("日本 x\n     ^");
    expect(caretText("a\u001bb c", 4, 4)).toBe("a\\x1bb c\n       ^");
    expect(caretText("", 0, 0)).toBe("\n^");
  });

  test("has a long line cut around it", () => {
    const [line = "", mark = ""] = caretText(`${"a".repeat(200)}XY${"b".repeat(200)}`, 200, 202).split("\n");
    expect([line.length, line.indexOf("XY"), mark]).toEqual([102, 51, `${" ".repeat(51)}^^`]);
  });
});
