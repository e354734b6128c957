import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatDuration, parseDuration } from "../../src/domain/duration.ts";
import { seeded } from "../harness/seed.ts";

describe("parseDuration", () => {
  const right: Record<string, number> = {
    "90s": 90_000,
    "1h30m": 5_400_000,
    "29d 11h": 2_545_200_000,
    "1m 30s": 90_000,
    "2w": 1_209_600_000,
    "1.5h": 5_400_000,
    "250ms": 250,
    "3us": 0.003,
    "1.0005s": 1000.5,
    " 7D ": 604_800_000,
    "0": 0,
    "0s": 0,
    infinity: Number.POSITIVE_INFINITY,
    INF: Number.POSITIVE_INFINITY,
  };
  for (const [text, ms] of Object.entries(right)) test(`'${text}'`, () => expect(parseDuration(text)).toBe(ms));
  for (const text of ["", " ", "5", "5 parsecs", "-5s", "1h-30m", "s", "1.s", "1..5s", "1e3s", "1h,30m", `${"9".repeat(400)}d`])
    test(`no duration: '${text.slice(0, 20)}'`, () => expect(parseDuration(text)).toBeUndefined());
});

describe("formatDuration", () => {
  test("greedy, largest unit first", () => {
    expect([0, 1, 1.5, 1000, 59_999, 90_000, 5_400_000, 604_800_000, 86_400_001, Number.POSITIVE_INFINITY].map(formatDuration)).toEqual([
      "0s",
      "1ms",
      "1.5ms",
      "1s",
      "59s999ms",
      "1m30s",
      "1h30m",
      "7d",
      "1d1ms",
      "infinity",
    ]);
  });

  test("what is below a microsecond is rounded, into the next unit too", () => {
    expect([0.0001, 999.9999, 59_999.99999, 0.0006].map(formatDuration)).toEqual(["0s", "1s", "1m", "0.001ms"]);
  });

  test("negative lengths have a sign", () => expect(formatDuration(-5_400_000)).toBe("-1h30m"));

  test("parseDuration reads whole microseconds back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 15 }), (micros) => {
        expect(parseDuration(formatDuration(micros / 1000))).toBe(micros / 1000);
      }),
      seeded(2000),
    );
  });

  test("order of units and blanks do not matter, and parts add up", () => {
    const part = fc.tuple(fc.nat(1000), fc.constantFrom("w", "d", "h", "m", "s", "ms"));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), fc.constantFrom("", " ", "  "), (parts, gap) => {
        const text = parts.map(([count, unit]) => `${count}${unit}`).join(gap);
        const sum = parts.reduce((total, [count, unit]) => total + (parseDuration(`${count}${unit}`) ?? Number.NaN), 0);
        expect(parseDuration(text)).toBe(sum);
      }),
      seeded(500),
    );
  });
});
