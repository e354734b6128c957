import { expect, test } from "bun:test";
import { shownRows } from "../../../src/ui/parts/window.ts";

const HEIGHT = 30;

test("of a short list all rows are drawn", () => {
  expect(shownRows(100, HEIGHT, { first: 40, rows: 10 })).toEqual({ isWindowed: false, from: 0, to: 100, before: 0, after: 0 });
});

test("the rows in sight are drawn, a bounded number around them, and room for all others", () => {
  for (const count of [101, 500, 10_000]) {
    for (const rows of [1, 20, 60, 400]) {
      for (const first of [0, 1, 50, count - rows, count - 1, count, 2 * count]) {
        const { after, before, from, isWindowed, to } = shownRows(count, HEIGHT, { first, rows });
        expect(isWindowed).toBe(true);
        expect(before + (to - from) * HEIGHT + after).toBe(count * HEIGHT);
        expect(to).toBeGreaterThan(from);
        expect(to - from).toBeLessThanOrEqual(rows + 24);
        expect(from).toBeLessThanOrEqual(Math.max(0, Math.min(first, count - 1)));
        expect(to).toBeGreaterThanOrEqual(Math.min(count, first + rows));
      }
    }
  }
});
