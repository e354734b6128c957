import { expect, test } from "bun:test";
import { rangeFlags, rangeTimes } from "../../../src/ui/parts/range-times.ts";

const HOUR = 3_600_000;

test("the times of a range that moves on are the same for a while, and never end before now", () => {
  const at = (now: number) => rangeTimes({ from: now - HOUR, to: now, lastMs: HOUR });
  expect(at(10 * HOUR + 1)).toEqual(at(10 * HOUR + 29_000));
  expect(at(10 * HOUR + 31_000)).not.toEqual(at(10 * HOUR + 1));
  for (const now of [5, 1_700_000_000_123]) {
    const { endTime, startTime } = at(now);
    expect(Date.parse(endTime)).toBeGreaterThanOrEqual(now);
    expect(Date.parse(endTime) - Date.parse(startTime)).toBe(HOUR);
  }
});

test("two times stay as they are", () => {
  const range = { from: 1_000, to: 5_000 };
  const [startTime, endTime] = ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:05.000Z"];
  expect(rangeTimes(range)).toEqual({ startTime, endTime });
  expect(rangeFlags(range, "x")).toEqual(["--start", startTime, "--end", endTime]);
  expect(rangeFlags({ ...range, lastMs: 4_000 }, "4s")).toEqual(["--start", "4s"]);
});
