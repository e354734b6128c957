/** How many rows are evaluated at once and kept together, by what they take. */

import { describe, expect, test } from "bun:test";
import { MOST_ROWS, PART_ROWS, paceOf } from "../../../src/server/evaluations/pace.ts";

describe("a batch", () => {
  test("has as many rows as take a second, from one to the most", () => {
    const pace = paceOf(1, 0);
    const after = (rows: number, ms: number) => {
      pace.took(rows, ms);
      return pace.batchRows(0);
    };
    expect(pace.batchRows(0)).toBe(1);
    expect([after(1, 60_000), after(1, 250), after(4, 500), after(8, 1_000), after(8, 0)]).toEqual([1, 4, 8, 8, MOST_ROWS]);
  });

  test("has no less than are computed at once", () => {
    const pace = paceOf(8, 0);
    pace.took(8, 60_000);
    expect(pace.batchRows(0)).toBe(8);
  });

  test("ends where the part does", () => {
    const pace = paceOf(1, 0);
    pace.took(1, 0);
    expect([pace.batchRows(PART_ROWS - 7), pace.batchRows(PART_ROWS - MOST_ROWS - 1)]).toEqual([7, MOST_ROWS]);
  });
});

describe("a part", () => {
  test("ends with its rows, or with its time", () => {
    const pace = paceOf(1, 0);
    expect([pace.isDue(PART_ROWS, 0, 1), pace.isDue(PART_ROWS - 1, 0, 4_999), pace.isDue(1, 0, 5_000)]).toEqual([true, false, true]);
    expect([pace.isDue(1, 10_000, 14_999), pace.isDue(1, 10_000, 15_000)]).toEqual([false, true]);
  });

  test("takes longer as its run does: a day has some hundred", () => {
    const pace = paceOf(1, 0);
    let [parts, since] = [0, 0];
    for (let now = 0; now <= 24 * 3_600_000; now += 1_000)
      if (pace.isDue(1, since, now)) {
        parts += 1;
        since = now;
      }
    expect(parts).toBeGreaterThan(100);
    expect(parts).toBeLessThan(200);
  });
});
