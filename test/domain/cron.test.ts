import { describe, expect, test } from "bun:test";
import { scheduleProblem } from "../../src/domain/cron.ts";

describe("scheduleProblem", () => {
  const right = ["* * * * *", "30 2 * * *", "*/15 0-6,22 1,15 jan-mar mon-fri", "0 0 31 12 7", "@daily", "15m", "1d", " 0 0 * * SUN "];
  for (const text of right) test(`takes '${text}'`, () => expect(scheduleProblem(text)).toBeUndefined());

  const wrong: Record<string, string> = {
    "": "it is empty",
    "* * * *": "it has 4 fields",
    hourly: "it has 1 field",
    "60 * * * *": "minute '60' is outside of 0-59",
    "* 24 * * *": "hour '24' is outside of 0-23",
    "* * 0 * *": "day of month '0' is outside of 1-31",
    "* * * 13 *": "month '13' is outside of 1-12",
    "* * * * 8": "day of week '8' is outside of 0-7",
    "5-1 * * * *": "minute '5-1' runs backwards",
    "*/0 * * * *": "minute '*/0' has a step that is no number above zero",
    "1;2 * * * *": "minute '1;2' is not understood",
    "* * * jam *": "month 'jam' is outside of 1-12",
    "0s": "the time between runs must be longer than zero",
    infinity: "the time between runs must be longer than zero",
  };
  for (const [text, problem] of Object.entries(wrong)) test(`refuses '${text}'`, () => expect(scheduleProblem(text)).toBe(problem));
});
